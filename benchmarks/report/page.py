"""`docs/evaluation.md` from the suites' results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.report import prose
from benchmarks.report.results import Result
from benchmarks.report.tables import ahead_of_own, categories, differences, figure, merged, signed, systems, table
from prism_core.evaluation import qa, traces
from prism_core.evaluation.bootstrap import RESAMPLES, SEED

Results = Mapping[str, Result]
"""By the suite's name."""
_CUTOFFS = {f"R@{k}": f"R@{k}" for k in qa.CUTOFFS}
_BUDGETS = {f"{budget:,}t": f"recall@{budget}t" for budget in qa.BUDGETS}
_QA = {**_CUTOFFS, "all@10": "all@10", "MRR": "MRR", **_BUDGETS, "tokens": "mean_tokens"}
_QA_KEY = {"R@5": "R@5", "R@10": "R@10", "500t": "recall@500t", "1,000t": "recall@1000t"}
QA_NAMES = tuple(prose.QUESTIONS)
"""Evidence-QA files, by the names of their suites."""
VARIANTS = {"plain": "", "told": "_told", "own": "_own", "blind": "_blind"}
"""Suffixes of keys, by variant."""
_WRONG = {"questions": ("R@5", "R@10", "recall@500t"), "runs": ("arg_coverage@300t", "arg_coverage@600t")}


def page(results: Results, missing: Mapping[str, str], pictures: str | None) -> str:
    """The whole page.

    Args:
        results: what was measured.
        missing: why a suite was not, by its name.
        pictures: folder of the pictures as the page names it; None for a page without.
    """
    show = _Page(results, pictures)
    parts = [
        prose.HEAD,
        show.limits(),
        prose.METHOD.format(resamples=f"{RESAMPLES:,}", seed=SEED),
        *(show.questions(name) for name in QA_NAMES),
        show.runs(),
        show.abstention(),
        show.robustness(),
        show.weights(),
        show.example(),
        show.times(),
        prose.NOT_MEASURED,
        show.missing(missing),
        show.provenance(),
    ]
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def lines(report: Mapping[str, Any], keys: Sequence[str], names: Sequence[str] | None = None) -> dict[str, list[float]]:
    """Figures at every key by system; systems that have none of them are left out."""
    found = {name: scores["overall"] for name, scores in report["systems"].items() if names is None or name in names}
    return {name: [values.get(key, 0.0) for key in keys] for name, values in found.items() if keys[-1] in values}


class _Page:
    """The parts of the page; each is empty where its suite was not measured."""

    def __init__(self, results: Results, pictures: str | None) -> None:
        self._results = results
        self._pictures = pictures

    def limits(self) -> str:
        limited = [name for name, result in self._results.items() if "--limit" in result["command"]]
        return f"**Only a part of the questions was asked in: {', '.join(limited)}.**" if limited else ""

    def questions(self, name: str) -> str:
        own, other = self._results.get(f"qa-{name}"), self._results.get(f"peers-{name}")
        if own is None:
            return ""
        report = merged(own["report"], other["report"] if other is not None else None)
        asked = report["systems"]["prism"]["overall"]["n"]
        body = [
            prose.QUESTIONS[name],
            f"{asked} questions. {ahead_of_own(report, _QA_KEY)}",
            self._disagreement(own, other),
        ]
        body += [self._picture(f"recall-{name}", "recall against tokens"), *systems(report, _QA)]
        body += differences(report, _QA_KEY) + categories(report, {**_QA_KEY, "n": "n"}, "prism")
        return self._section(body, own, other)

    def runs(self) -> str:
        result = self._results.get("traces-airline")
        if result is None:
            return ""
        report = result["report"]
        body = [prose.RUNS, self._picture("coverage-airline", "values present against tokens")]
        for title, suffix in VARIANTS.items():
            shares = {f"{budget:,}t": f"arg_coverage{suffix}@{budget}t" for budget in traces.BUDGETS}
            old = {f"old {budget:,}t": f"old_arg_coverage{suffix}@{budget}t" for budget in traces.BUDGETS[1:]}
            sources = {f"step {budget:,}t": f"source_recall{suffix}@{budget}t" for budget in traces.BUDGETS[1:]}
            body += [f"### Agent runs: {title}", prose.VARIANTS[title], ahead_of_own(report, shares), ""]
            body += systems(report, {**shares, **old, **sources}) + differences(report, shares)
        body += self._halves(report)
        body += categories(report, {f"{each}t": f"arg_coverage@{each}t" for each in traces.BUDGETS}, "prism")
        return self._section(body, result)

    def abstention(self) -> str:
        result = self._results.get("abstention-locomo")
        if result is None:
            return ""
        keys = [key for scores in result["report"]["systems"].values() for key in scores["overall"]]
        columns = {key: key for key in dict.fromkeys(keys)}
        kinds = {"p5": "p5", "p50": "p50", "p95": "p95", "n": "n"}
        trust = result["report"].get("intervals", {}).get("systems", {})
        spans = [
            [
                f"`{name}`",
                *(f"[{figure(keys[key][0])}, {figure(keys[key][1])}]" if key in keys else "-" for key in columns),
            ]
            for name, keys in trust.items()
        ]
        body = [prose.ABSTENTION, "", *systems(result["report"], columns), *table(["95 % intervals", *columns], spans)]
        return self._section([*body, *categories(result["report"], kinds, next(iter(trust), "prism"))], result)

    def robustness(self) -> str:
        found = [result for result in self._results.values() if result["kind"] == "robustness"]
        body = [prose.ROBUSTNESS] if found else []
        for result in found:
            overall = next(iter(result["report"]["systems"].values()))["overall"]
            keys = _WRONG["runs" if "arg_coverage@600t" in overall else "questions"]
            columns = {f"{key}{part}": f"{key}{part}" for key in keys for part in ("", " mean", " worst")}
            body += [f"`{result['report']['file']}`:", "", *systems(result["report"], columns)]
        return self._section(body, *found)

    def weights(self) -> str:
        found = [result for result in self._results.values() if result["kind"] == "weights"]
        body = [prose.WEIGHTS] if found else []
        for result in found:
            report = result["report"]
            columns = {"R@5": "R@5", "R@10": "R@10", "500t": "recall@500t"}
            body += [f"### Weights: `{report['file']}`", *report.get("notes", ())]
            rows = [
                [
                    f"{file}: {name}",
                    *(figure(report["systems"][name]["by_category"][file][key]) for key in columns.values()),
                ]
                for file in report["systems"]["shipped"]["by_category"]
                for name in ("shipped", "refitted")
            ]
            change = report["intervals"]["differences"]["refitted"] if "intervals" in report else {}
            rows.append(["all: shipped - refitted", *(signed(change.get(key)) for key in columns.values())])
            body += ["", *table(["weights fitted without the row that is asked", *columns], rows)]
            signals = [
                [
                    f"{each['signal']} ({each['objective']})",
                    f"{each['shipped']:g}",
                    f"{each['refitted']:.2f} ± {each['spread']:.2f}",
                    *(signed(each["removed"].get(key)) for key in columns.values()),
                ]
                for each in report["weights"]
            ]
            body += table(["signal", "weight", "refitted", *(f"{title} without" for title in columns)], signals)
        return self._section(body, *found)

    def example(self) -> str:
        result = self._results.get("example")
        picture = self._picture("objectives", "candidates of one question over two objectives")
        if result is None or not picture:
            return ""
        report = result["report"]
        text = prose.EXAMPLE.format(question=report["question"], budget=report["budget"], n=len(report["candidates"]))
        return self._section([text, picture], result)

    def times(self) -> str:
        rows = [
            [f"{name}: `{system}`", *(f"{scores['latency_ms'][part]:.1f}" for part in ("p50", "p95")), _load(result)]
            for name, result in self._results.items()
            if result["kind"] in ("qa", "peers", "traces")
            for system, scores in result["report"]["systems"].items()
        ]
        return "\n".join([prose.TIMES, "", *table(["ms a search", "p50", "p95", "load"], rows)]) if rows else ""

    def missing(self, missing: Mapping[str, str]) -> str:
        left_out = [note for result in self._results.values() for note in result["report"].get("notes", ())]
        reasons = [f"- `{name}`: {why}" for name, why in missing.items()]
        reasons += dict.fromkeys(f"- {note}" for note in left_out if "left out, not installed" in note)
        return (
            "\n".join(["Of the suites of this page, these or parts of them were not measured:", "", *reasons])
            if reasons
            else ""
        )

    def provenance(self) -> str:
        sums = {name: digest for result in self._results.values() for name, digest in result["data"].items()}
        body = [prose.PROVENANCE, "", *table(["file", "sha256"], [[f"`{name}`", f"`{sums[name]}`"] for name in sums])]
        groups: dict[str, list[str]] = {}
        for name, result in self._results.items():
            groups.setdefault(_environment(result), []).append(name)
        body += [f"- {', '.join(f'`{name}`' for name in names)}: {text}" for text, names in groups.items()]
        rows = [
            [f"`{name}`", result["date"], _seconds(result), _load(result)] for name, result in self._results.items()
        ]
        body += ["", *table(["suite", "date", "seconds", "load before and after"], rows)]
        return "\n".join(body)

    def _halves(self, report: Mapping[str, Any]) -> list[str]:
        parts = report.get("parts", {})
        columns = {
            f"{title} {budget}t": f"arg_coverage{suffix}@{budget}t"
            for title, suffix in VARIANTS.items()
            for budget in (300, 600)
        }
        body = ["### Agent runs: even and odd tasks", prose.HALVES, ""] if parts else []
        for name, part in parts.items():
            body += [f"{name.capitalize()} tasks:", "", *systems(part, columns)]
        return body

    def _disagreement(self, own: Result, other: Result | None) -> str:
        """The same memory on the same questions twice: worth a word where the figures are not the same."""
        if other is None or "prism" not in other["report"]["systems"]:
            return ""
        pairs = [each["report"]["systems"]["prism"]["overall"] for each in (own, other)]
        apart = [key for key in _QA_KEY.values() if pairs[0][key] != pairs[1][key]]
        return (
            f"The other tools were measured in a run in which `prism` has other figures ({', '.join(apart)})."
            if apart
            else ""
        )

    def _picture(self, name: str, title: str) -> str:
        return f"\n![{title}]({self._pictures}/{name}.svg)\n" if self._pictures is not None else ""

    def _section(self, body: Sequence[str], *results: Result | None) -> str:
        commands = [result["command"] for result in results if result is not None]
        return "\n".join([*body, "```", *commands, "```"]) if body else ""


def _environment(result: Result) -> str:
    found = result["environment"]
    packages = {
        **found["packages"],
        **{
            package: number
            for peer in result["report"].get("peers", {}).values()
            for package, number in peer["versions"].items()
        },
    }
    named = ", ".join(f"{package} {number}" for package, number in packages.items())
    revision = f"revision {found['revision']}, " if found["revision"] else ""
    return f"{revision}Python {found['python']}, {found['machine']}; {named}"


def _load(result: Result) -> str:
    return " to ".join(map(str, result["load"])) if "load" in result else "-"


def _seconds(result: Result) -> str:
    return f"{result['seconds']:.0f}" if "seconds" in result else "-"
