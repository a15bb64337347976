"""Rendering and packing: which units a block holds, and at which level each is quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import groupby
from types import MappingProxyType
from typing import Literal

from prism_core.context.compact import compact
from prism_core.context.excerpts import handle
from prism_core.context.fields import is_structured
from prism_core.context.quoting import MARKER, quoted, without_elisions
from prism_core.context.sizes import SizeCache
from prism_core.context.templates import TEMPLATES, Language
from prism_core.errors import BudgetError
from prism_core.protocols import TokenCounter
from prism_core.types import MemoryUnit

Detail = Literal["auto", "full"]

SHARE = 1 / 8
"""Share of a budget one unit may take while not everything fits; a larger one is quoted by an excerpt of that size."""
LEAST_SHARE, MOST_SHARE = 100, 400
"""Tokens between which that share lies."""
NEVER_CUT = 150
"""Tokens up to which a unit is never excerpted: trimming ordinary turns of a conversation loses answers."""
FIELDS_FROM = 40
"""Tokens from which a step with structured output may be quoted by its identifiers."""
LEAST_EXCERPT = 30
"""Tokens below which an excerpt is not tried."""
LEAST_GROWTH = 10
"""Tokens below which an excerpt is not tried again for more of its text."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A block that fits a budget.

    Attributes:
        text: the block, wrapper included; empty when nothing fitted.
        tokens: exact size of `text` in tokens.
        units: the units in the block, in the order they were given in (best first).
        excerpts: what the block quotes of those units that it does not hold whole, by unit id.
    """

    text: str
    tokens: int
    units: tuple[MemoryUnit, ...]
    excerpts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One unit as a block quotes it; `excerpt` is None where it stands whole."""

    unit: MemoryUnit
    text: str
    excerpt: str | None = None


@dataclass(frozen=True, slots=True)
class ContextBuilder:
    """Renders units as one fenced block and packs as many as a token budget holds.

    The bytes depend on the units (and, where not all fit whole, on the question and the budget) alone, not on when
    they are packed. What units say is untrusted: nothing in them can close the fence, open another one, look like an
    entry or a heading of its own, or forge the mark of an excerpt in a block that has excerpts.

    Attributes:
        counter: counts the tokens of the model that reads the block.
        marker: name of the tags around the block; word characters.
        language: language of the words around the quoted text.
        notice: the line under the opening tag; the template's when None.
        times: whether every entry also carries its time of day, UTC (about four tokens more).
        ids: whether every entry begins with its unit's id (about twelve tokens more), for a model that may ask for a
            memory by it.
        cache_size: number of entries whose token counts are remembered.
        detail: "auto" quotes long units by excerpts where not everything fits whole; "full" quotes whole or not at
            all.
    """

    counter: TokenCounter
    marker: str = MARKER
    language: Language = "en"
    notice: str | None = None
    times: bool = False
    ids: bool = False
    cache_size: int = 8192
    detail: Detail = "auto"
    _sizes: SizeCache = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"\w+", self.marker):
            raise ValueError(f"marker={self.marker!r} is not a tag name; pass word characters, such as {MARKER!r}")
        if self.detail not in ("auto", "full"):
            raise ValueError(f"detail={self.detail!r} is no level of detail; choose 'auto' or 'full'")
        object.__setattr__(self, "_sizes", SizeCache(self.counter, self.cache_size))

    def render(self, units: Iterable[MemoryUnit]) -> str:
        """The block that quotes `units` whole.

        Args:
            units: any number, in any order; entries stand by event time, then recording time, then id.

        Returns:
            The block, wrapper included, without a newline at the end; empty for no units.
        """
        return self._block([self._whole(unit) for unit in units])

    def pack(
        self,
        units: Sequence[MemoryUnit],
        budget: int,
        question: str = "",
        *,
        outdated: Mapping[str, str] = MappingProxyType({}),
    ) -> Packed:
        """The block that quotes as many units as fit, better ones first.

        While all units fit whole they are quoted whole. Otherwise, with detail "auto", none may take more than its
        share of the budget: a long one is quoted by the passages that bear on the question, a step by the
        identifiers of its structured output, both marked and with the id that gets the full text. Ordinary units
        (up to `NEVER_CUT` tokens) are never cut. A unit that does not fit is skipped and those after it are still
        tried; what is left in the end goes to the best excerpts, which grow, up to the whole unit.

        Fitting is judged by adding up remembered sizes of the parts, which is exact for o200k: every part ends in a
        newline and none begins with white space or a slash, and there its pre-tokenizer never joins across. A counter
        that does join could make the sum wrong, so the finished text is counted as a whole and the last additions are
        taken back while it is over: `tokens` never exceeds `budget`.

        Args:
            units: best first.
            budget: tokens, wrapper included; positive.
            question: what the block is for. Without one, texts are not excerpted, and only structured output is.
            outdated: by unit id, what holds now instead of what a unit states; put behind its text. Empty text says
                that nothing does.

        Raises:
            BudgetError: if the budget is not a positive whole number.
        """
        if type(budget) is not int or budget < 1:  # a bool is an int by type only
            raise BudgetError(budget)
        entries = [self._whole(self._dated(unit, outdated)) for unit in units]
        given = {unit.id: unit for unit in units}
        chosen = self._fill(entries, budget)
        if self.detail == "auto" and len(chosen) < len(entries):
            chosen = _Mixed(self, budget, question).fill(entries) or chosen
        while chosen:
            text = self._block(chosen)
            tokens = self.counter.count(text)
            if tokens <= budget:
                excerpts = {entry.unit.id: entry.excerpt for entry in chosen if entry.excerpt is not None}
                return Packed(text, tokens, tuple(given[entry.unit.id] for entry in chosen), excerpts)
            chosen.pop()
        return Packed("", 0, ())

    def quote(self, lines: Iterable[str], budget: int) -> str:
        """The block that quotes lines of text, one entry each, as many from the first on as fit.

        For what is no unit and yet made of what units say, such as a chain of causes.

        Args:
            lines: in the order they are to stand in.
            budget: tokens, wrapper included; positive.

        Returns:
            The block; empty where no line fits.

        Raises:
            BudgetError: if the budget is not a positive whole number.
        """
        if type(budget) is not int or budget < 1:
            raise BudgetError(budget)
        entries = [f"- {quoted(line, self.marker)}\n" for line in lines]
        while entries:
            text = "".join([self._head(), *entries, self._tail()])
            if self.counter.count(text) <= budget:
                return text
            entries.pop()
        return ""

    def _fill(self, entries: Iterable[_Entry], budget: int) -> list[_Entry]:
        left = budget - self._sizes(self._head()) - self._sizes(self._tail())
        chosen: list[_Entry] = []
        days: set[date] = set()
        for entry in entries:
            day = entry.unit.event_time.date()
            cost = self._sizes(entry.text) + (0 if day in days else self._sizes(self._heading(day)))
            if cost <= left:
                left -= cost
                days.add(day)
                chosen.append(entry)
        return chosen

    def _block(self, entries: Sequence[_Entry]) -> str:
        if not entries:
            return ""
        parts = [self._head(excerpts=any(entry.excerpt is not None for entry in entries))]
        for day, group in groupby(sorted(entries, key=_in_time), key=lambda entry: entry.unit.event_time.date()):
            parts.append(self._heading(day))
            parts.extend(entry.text for entry in group)
        parts.append(self._tail())
        return "".join(parts)

    def _head(self, *, excerpts: bool = False) -> str:
        template = TEMPLATES[self.language]
        lines = [template.notice if self.notice is None else self.notice, template.excerpts if excerpts else ""]
        return "".join([f"<{self.marker}>\n", *(f"{line}\n" for line in lines if line)])

    def _tail(self) -> str:
        return f"</{self.marker}>"

    def _heading(self, day: date) -> str:
        return f"{TEMPLATES[self.language].day(day)}\n"

    def _dated(self, unit: MemoryUnit, outdated: Mapping[str, str]) -> MemoryUnit:
        """The unit as it is quoted, with what holds now behind what it says."""
        if unit.id not in outdated:
            return unit
        mark = TEMPLATES[self.language].outdated(outdated[unit.id])
        return unit.model_copy(update={"observation": f"{unit.observation} {mark}"})

    def _whole(self, unit: MemoryUnit) -> _Entry:
        return _Entry(unit, self._line(unit, unit.text))

    def _beside_excerpts(self, entry: _Entry) -> _Entry:
        """A whole unit as it stands in a block that has excerpts."""
        text = without_elisions(entry.unit.text)
        return entry if text == entry.unit.text else _Entry(entry.unit, self._line(entry.unit, text))

    def _excerpt(self, unit: MemoryUnit, question: str, room: int) -> _Entry | None:
        """A unit in at most `room` tokens; None where nothing of it fits."""
        mark = f" [… {handle(unit.id)}]"
        within = room - self._sizes(self._line(unit, mark.strip()))
        while within > 0:
            shown = compact(unit, question, within, self._sizes)
            if not shown:
                return None
            entry = _Entry(unit, self._line(unit, shown + mark), shown + mark)
            over = self._sizes(entry.text) - room
            if over <= 0:
                return entry
            # Quoting may lengthen a text, by indents and replaced brackets.
            within -= over
        return None

    def _line(self, unit: MemoryUnit, text: str) -> str:
        time = f"{unit.event_time:%H:%M} " if self.times else ""
        named = f"[{unit.id}] " if self.ids else ""
        return f"- {named}{time}{quoted(text, self.marker)}{TEMPLATES[self.language].marks(unit)}\n"


class _Mixed:
    """Fills a budget with whole units and excerpts, best first.

    Args:
        builder: renders.
        budget: tokens, wrapper included.
        question: what the block is for.
    """

    def __init__(self, builder: ContextBuilder, budget: int, question: str) -> None:
        self._builder = builder
        self._sizes = builder._sizes
        self._question = question
        self._left = budget
        self._share = min(max(LEAST_SHARE, int(budget * SHARE)), MOST_SHARE)
        self._days: set[date] = set()

    def fill(self, wholes: Sequence[_Entry]) -> list[_Entry]:
        """The entries of the block, in the order of the whole ones given; none where no excerpt would be among them."""
        if not any(self._may_cut(whole) for whole in wholes):
            return []
        self._left -= self._sizes(self._builder._head(excerpts=True)) + self._sizes(self._builder._tail())
        chosen: list[_Entry] = []
        for whole in wholes:
            day = whole.unit.event_time.date()
            heading = 0 if day in self._days else self._sizes(self._builder._heading(day))
            entry = self._entry(self._builder._beside_excerpts(whole), self._left - heading)
            if entry is not None:
                self._left -= heading + self._sizes(entry.text)
                self._days.add(day)
                chosen.append(entry)
        grown = [self._grown(entry) if entry.excerpt is not None else entry for entry in chosen]
        return grown if any(entry.excerpt is not None for entry in grown) else []

    def _entry(self, whole: _Entry, left: int) -> _Entry | None:
        size = self._sizes(whole.text)
        if min(left, self._share) >= LEAST_EXCERPT and self._may_cut(whole):
            entry = self._builder._excerpt(whole.unit, self._question, min(left, self._share, size - 1))
            if entry is not None:
                return entry
        return whole if size <= left else None

    def _may_cut(self, whole: _Entry) -> bool:
        size = self._sizes(whole.text)
        if self._question and size > max(NEVER_CUT, self._share):
            return True
        return size > FIELDS_FROM and is_structured(whole.unit)

    def _grown(self, entry: _Entry) -> _Entry:
        """An excerpt with what is left of the budget put into it."""
        if self._left < LEAST_GROWTH:
            return entry
        size = self._sizes(entry.text)
        whole = self._builder._beside_excerpts(self._builder._whole(entry.unit))
        larger: _Entry | None = whole
        if self._sizes(whole.text) > size + self._left:
            larger = self._builder._excerpt(entry.unit, self._question, size + self._left)
        if larger is None or self._sizes(larger.text) <= size:
            return entry
        self._left += size - self._sizes(larger.text)
        return larger


def _in_time(entry: _Entry) -> tuple[object, ...]:
    unit = entry.unit
    return unit.event_time, unit.recorded_at, unit.id
