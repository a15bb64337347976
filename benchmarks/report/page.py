"""`docs/evaluation.md` from the suites' results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.report import prose
from benchmarks.report.provenance import Results, limits, provenance, times, unmeasured
from benchmarks.report.results import Result
from benchmarks.report.tables import ahead_of_own, categories, differences, figure, merged, signed, span, systems, table
from prism_core.evaluation import qa, traces
from prism_core.evaluation.bootstrap import RESAMPLES, SEED

Report = Mapping[str, Any]
"""What a `--json` file holds."""
QA_NAMES = tuple(prose.QUESTIONS)
"""Evidence-QA files, by the names of their suites."""
VARIANTS = {"plain": "", "told": "_told", "own": "_own", "blind": "_blind"}
"""Suffixes of keys, by variant."""
_CUTOFFS = {f"R@{k}": f"R@{k}" for k in qa.CUTOFFS}
_BUDGETS = {f"{budget:,}t": f"recall@{budget}t" for budget in qa.BUDGETS}
_QA = {**_CUTOFFS, "all@10": "all@10", "MRR": "MRR", **_BUDGETS, "tokens": "mean_tokens"}
_QA_KEY = {"R@5": "R@5", "R@10": "R@10", "500t": "recall@500t", "1,000t": "recall@1000t"}
_WEIGHED = {"R@5": "R@5", "R@10": "R@10", "500t": "recall@500t"}
_WRONG = {"questions": ("R@5", "R@10", "recall@500t"), "runs": ("arg_coverage@300t", "arg_coverage@600t")}


def page(results: Results, missing: Mapping[str, str], pictures: str | None) -> str:
    """The whole page.

    Args:
        results: what was measured.
        missing: why a suite was not, by its name.
        pictures: folder of the pictures as the page names it; None for a page without.
    """
    parts = [
        prose.HEAD,
        limits(results),
        prose.METHOD.format(resamples=f"{RESAMPLES:,}", seed=SEED),
        *(_questions(results, name, pictures) for name in QA_NAMES),
        _runs(results, pictures),
        _abstention(results),
        _robustness(results),
        _weights(results),
        _example(results, pictures),
        times(results),
        unmeasured(results, missing),
        provenance(results),
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def lines(report: Report, keys: Sequence[str]) -> dict[str, list[float]]:
    """Figures at every key by system; systems that have none of them are left out."""
    found = {name: scores["overall"] for name, scores in report["systems"].items()}
    return {name: [values[key] for key in keys] for name, values in found.items() if keys[-1] in values}


def _questions(results: Results, name: str, pictures: str | None) -> str:
    own, other = results.get(f"qa-{name}"), results.get(f"peers-{name}")
    if own is None:
        return ""
    report = merged(own["report"], other["report"] if other is not None else None)
    asked = report["systems"]["prism"]["overall"]["n"]
    remarks = [*report.get("notes", ())[:1], f"{asked} questions"]
    body = [prose.QUESTIONS[name], "", f"{', '.join(remarks)}. {ahead_of_own(report, _QA_KEY)}"]
    body += [_disagreement(own, other), _picture(pictures, f"recall-{name}", "recall against tokens")]
    body += systems(report, _QA) + differences(report, _QA_KEY)
    return _section([*body, *categories(report, {**_QA_KEY, "n": "n"}, "prism")], own, other)


def _disagreement(own: Result, other: Result | None) -> str:
    """The same memory on the same questions twice: worth a word where the figures are not the same."""
    if other is None or "prism" not in other["report"]["systems"]:
        return ""
    ours, theirs = (each["report"]["systems"]["prism"]["overall"] for each in (own, other))
    apart = ", ".join(key for key in _QA_KEY.values() if ours[key] != theirs[key])
    return f"The other tools were measured in a run in which `prism` has other figures ({apart})." if apart else ""


def _runs(results: Results, pictures: str | None) -> str:
    result = results.get("traces-airline")
    if result is None:
        return ""
    report = result["report"]
    body = [prose.RUNS, _picture(pictures, "coverage-airline", "values present against tokens")]
    for title, suffix in VARIANTS.items():
        shares = {f"{budget:,}t": f"arg_coverage{suffix}@{budget}t" for budget in traces.BUDGETS}
        old = {f"old {budget:,}t": f"old_arg_coverage{suffix}@{budget}t" for budget in traces.BUDGETS[1:]}
        sources = {f"step {budget:,}t": f"source_recall{suffix}@{budget}t" for budget in traces.BUDGETS[1:]}
        body += [f"### Agent runs: {title}", "", prose.VARIANTS[title], ahead_of_own(report, shares), ""]
        body += systems(report, {**shares, **old, **sources}) + differences(report, shares)
    body += ["### Agent runs: by tool, plain", ""]
    body += categories(report, {f"{each:,}t": f"arg_coverage@{each}t" for each in traces.BUDGETS}, "prism")
    return _section([*body, *_halves(report)], result)


def _halves(report: Report) -> list[str]:
    at = {f"{title} {budget}t": (suffix, budget) for title, suffix in VARIANTS.items() for budget in (300, 600)}
    columns = {title: f"arg_coverage{suffix}@{budget}t" for title, (suffix, budget) in at.items()}
    late = {title: key for title, key in columns.items() if key.endswith("@600t")}
    parts = report.get("parts", {})
    body = ["### Agent runs: even and odd tasks", "", prose.HALVES, ""] if parts else []
    for name, part in parts.items():
        body += [f"{name.capitalize()} tasks:", "", *systems(part, columns), *differences(part, late)]
    return body


def _abstention(results: Results) -> str:
    result = results.get("abstention-locomo")
    if result is None:
        return ""
    report = result["report"]
    columns = _same(key for scores in report["systems"].values() for key in scores["overall"])
    trust = report.get("intervals", {}).get("systems", {})
    spans = [[f"`{name}`", *(span(found.get(key)) for key in columns)] for name, found in trust.items()]
    body = [prose.ABSTENTION, "", *_notes(report), *systems(report, columns)]
    body += table(["95 % intervals", *columns], spans)
    for name in report["systems"]:
        body += categories(report, _same(("p5", "p50", "p95", "n")), name)
    return _section(body, result)


def _robustness(results: Results) -> str:
    found = [result for result in results.values() if result["kind"] == "robustness"]
    body = [prose.ROBUSTNESS, ""] if found else []
    for report in (result["report"] for result in found):
        overall = next(iter(report["systems"].values()))["overall"]
        keys = _WRONG["runs" if _WRONG["runs"][0] in overall else "questions"]
        columns = _same(f"{key}{part}" for key in keys for part in ("", " mean", " worst"))
        body += [f"### Wrong weights: `{report['file']}`", "", *_notes(report), *systems(report, columns)]
    return _section(body, *found)


def _weights(results: Results) -> str:
    found = [result for result in results.values() if result["kind"] == "weights"]
    body = [prose.WEIGHTS, ""] if found else []
    for report in (result["report"] for result in found):
        body += [f"### Weights: `{report['file']}`", "", *_notes(report), *_fits(report)]
        rows = [
            [
                f"{each['signal']} ({each['objective']})",
                f"{each['shipped']:g}",
                f"{each['refitted']:.2f} ± {each['spread']:.2f}",
                *(signed(each["removed"].get(key)) for key in _WEIGHED.values()),
            ]
            for each in report["weights"]
        ]
        body += table(["signal", "weight", "refitted", *(f"{title} without" for title in _WEIGHED)], rows)
    return _section(body, *found)


def _fits(report: Report) -> list[str]:
    by_file = {name: report["systems"][name]["by_category"] for name in ("shipped", "refitted")}
    rows = [
        [f"{file}: {name}", *(figure(files[file][key]) for key in _WEIGHED.values())]
        for file in by_file["shipped"]
        for name, files in by_file.items()
    ]
    change = report["intervals"]["differences"]["refitted"] if "intervals" in report else {}
    rows.append(["all: shipped - refitted", *(signed(change.get(key)) for key in _WEIGHED.values())])
    return table(["weights fitted without the row that is asked", *_WEIGHED], rows)


def _example(results: Results, pictures: str | None) -> str:
    result = results.get("example")
    if result is None or pictures is None:
        return ""
    report = result["report"]
    text = prose.EXAMPLE.format(question=report["question"], budget=report["budget"], n=len(report["candidates"]))
    return _section([text, _picture(pictures, "objectives", "one question's candidates over two objectives")], result)


def _section(body: Sequence[str], *results: Result | None) -> str:
    """Lines of a section and the commands that print its figures."""
    commands = [result["command"] for result in results if result is not None]
    return "\n".join([*body, "```", *commands, "```"]) if body else ""


def _picture(folder: str | None, name: str, title: str) -> str:
    return f"\n![{title}]({folder}/{name}.svg)\n" if folder is not None else ""


def _notes(report: Report) -> list[str]:
    notes = [f"{note[0].upper()}{note[1:]}." for note in report.get("notes", ())]
    return [" ".join(notes), ""] if notes else []


def _same(keys: Iterable[str]) -> dict[str, str]:
    """Columns that are called as their keys are."""
    return {key: key for key in keys}
