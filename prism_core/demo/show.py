"""The demo's pages: tables that are readable in 100 columns, on a terminal and in a pipe."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from prism_core.demo.compare import Comparison, Handed
from prism_core.demo.story import Question
from prism_core.results import Chain, Retrieval
from prism_core.types import MemoryUnit, Status

MOST_ENTRIES = 8
SHORT, LONG = 50, 150


def show_question(console: Console, number: int, comparison: Comparison) -> None:
    """One question with what every system hands over, side by side; entries with a needed fact carry a `+`."""
    question = comparison.question
    console.print()
    console.rule(f"[bold]Question {number}: {question.kind}", align="left")
    console.print(Text(question.text, style="bold cyan"))
    needs = "; ".join(need[0] for need in question.needs) or "nothing that was ever remembered"
    console.print(f"An answer needs: {needs}", style="dim", highlight=False)
    table = Table(expand=True, padding=(0, 1))
    for handed in comparison.handed:
        table.add_column(_title(handed, question), ratio=1, overflow="fold")
    table.add_row(*(_entries(handed, question) for handed in comparison.handed))
    console.print(table)


def show_summary(console: Console, comparisons: Sequence[Comparison]) -> None:
    """One line per question: facts found of facts needed, and tokens spent."""
    console.print()
    console.rule("[bold]In short: needed facts found, tokens spent", align="left")
    table = Table("question", expand=True)
    for handed in comparisons[0].handed:
        table.add_column(handed.system, justify="right")
    for comparison in comparisons:
        question = comparison.question
        table.add_row(question.kind, *(_score(handed, question) for handed in comparison.handed))
    console.print(table)


def show_reasons(console: Console, question: Question, retrieval: Retrieval) -> None:
    """Why the first memory was returned, and why the best of the others was not."""
    console.print()
    console.rule("[bold]Why these memories?", align="left")
    console.print(f"{question.text} ({len(retrieval.candidates)} memories considered, {len(retrieval)} returned)")
    if retrieval.hits:
        _reason(console, "First of those returned", retrieval, retrieval.hits[0].unit.id)
    left_out = next((candidate for candidate in retrieval.candidates if not candidate.kept), None)
    if left_out:
        _reason(console, "First of those left out", retrieval, left_out.unit_id)


def show_chain(console: Console, question: Question, chain: Chain) -> None:
    """What led to a decision, earliest first, each with the link to what came of it."""
    console.print()
    console.rule("[bold]How did it come about?", align="left")
    console.print(f"{question.text} What led to the last step, by the links of the memory's graph:")
    table = Table("when", "step", "led on by", expand=True)
    for step in chain:
        link = f"{step.link.relation}: {step.link.reason}" if step.link else "(the decision)"
        table.add_row(f"{step.unit.event_time:%a %H:%M}", _cut(_gist(step.unit), LONG), Text(link, style="cyan"))
    console.print(table)


def _reason(console: Console, title: str, retrieval: Retrieval, unit_id: str) -> None:
    console.print(Panel(Text(retrieval.explain(unit_id)), title=title, title_align="left"))


def _title(handed: Handed, question: Question) -> Text:
    return Text.assemble((handed.system, "bold"), "\n", _score(handed, question))


def _score(handed: Handed, question: Question) -> Text:
    found, needed = len(handed.found), len(question.needs)
    if not needed:
        return Text(f"{handed.tokens} tokens", style="red" if handed.tokens else "green")
    style = "green" if found == needed else "yellow" if found else "red"
    return Text(f"{found} of {needed}, {handed.tokens} tokens", style=style)


def _entries(handed: Handed, question: Question) -> Text:
    if not handed.units:
        return Text("(nothing)", style="dim")
    shown = _worth_showing(handed.units, question)
    lines = [_entry(unit, question) for unit in handed.units if unit in shown]
    if len(shown) < len(handed.units):
        lines.append(Text(f"... {len(handed.units) - len(shown)} more", style="dim"))
    return Text("\n").join(lines)


def _worth_showing(units: Sequence[MemoryUnit], question: Question) -> list[MemoryUnit]:
    by_use = sorted(units, key=lambda unit: not question.found(unit.text))
    return by_use[:MOST_ENTRIES]


def _entry(unit: MemoryUnit, question: Question) -> Text:
    found = question.found(unit.text)
    gist = _gist(unit)
    if not all(way in gist for way in found):
        gist = unit.text
    text = _around(gist, found[0], LONG) if found else _cut(gist, SHORT)
    mark = "" if unit.status is Status.CURRENT else f" ({unit.status})"
    entry = Text(f"{'+' if found else '-'} {unit.event_time:%a} {text}{mark}", style="" if found else "dim")
    entry.highlight_words(found, "bold green")
    return entry


def _gist(unit: MemoryUnit) -> str:
    """A step without its arguments; everything else as it is."""
    return f"{unit.action_type} -> {unit.observation}" if unit.action else unit.text


def _cut(text: str, size: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= size else f"{line[: size - 3]}..."


def _around(text: str, fact: str, size: int) -> str:
    """An excerpt that holds a fact, from the beginning of a word."""
    line = " ".join(text.split())
    if len(line) <= size:
        return line
    at = line.find(fact)
    start = max(0, min(at - (size - len(fact)) // 2, len(line) - size))
    start = 0 if start == 0 else line.find(" ", start, at) + 1 or start
    return f"{'...' if start else ''}{line[start : start + size]}{'...' if start + size < len(line) else ''}"
