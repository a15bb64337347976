"""Causes that a text states: cue words, and what their clause names among the units before.

A cue alone says that there is a cause, not which unit it is. A link is made only where the clause names a step, an
action, an entity or a failure that is found in the same task or session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from prism_core.encode.entities import entities
from prism_core.encode.values import holds
from prism_core.protocols import WriteView
from prism_core.text import identifiers
from prism_core.types import Kind, Link, MemoryUnit, Relation, Source

LOOKED_AT = 4000
"""Characters of a text that are searched for cues."""
MOST_CAUSES = 3
MOST_HOLDERS = 3
"""An entity that more units of the chain hold does not tell which of them is meant."""
LONGEST_CLAUSE = 300
SHOWN = 60

_FAILURE = re.compile(
    r"\b(?:fail(?:ed|s|ure|ing)?|errors?|declined|rejected|refused|timed out|crashed)\b"
    r"|失败|报错|出错|错误|被拒|超时",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"\b(?P<after>because(?:\s+of)?|due\s+to|since)\b|(?P<after_zh>因为|由于)"
    r"|\b(?P<before>therefore|as\s+a\s+result)\b|(?P<before_zh>所以|因此)",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|[;\n。！？；]")
_CLAUSE_END = re.compile(r"[.!?](?=\s|$)|[;\n。！？；，]|,\s")
_STEP = re.compile(r"\bstep\s+#?([\w-]+)|步骤\s*([\w-]+)|第\s*(\d+)\s*步", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][\w:-]*(?:\.[\w:-]+)*")


@dataclass(frozen=True, slots=True)
class _Found:
    unit_id: str
    named: str
    confidence: float


def stated_causes(unit: MemoryUnit, view: WriteView) -> Iterator[Link]:
    """CAUSES links for the causes that a message, or the thought of a step, states.

    Args:
        unit: the new unit.
        view: what was stored before it; only units of its task, else of its session, can be causes.
    """
    if unit.task_id is None and unit.session_id is None:
        return
    causes: dict[str, Link] = {}
    for cue, clause in _clauses(_said(unit)[:LOOKED_AT]):
        found = _named(clause, unit, view)
        if found is not None and found.unit_id not in causes:
            shown = clause if len(clause) <= SHOWN else f"{clause[:SHOWN]}..."
            causes[found.unit_id] = Link(
                source=found.unit_id,
                target=unit.id,
                relation=Relation.CAUSES,
                confidence=found.confidence,
                reason=f'says "{cue}: {shown}", which names {found.named}',
            )
    yield from list(causes.values())[:MOST_CAUSES]


def _said(unit: MemoryUnit) -> str:
    """The words of whoever acted or spoke; what tools returned and documents say states causes of its own world."""
    if unit.action is not None:
        return unit.thought or ""
    spoken = unit.kind is Kind.MESSAGE and unit.source in (Source.USER, Source.ASSISTANT)
    return unit.observation if spoken else ""


def _clauses(text: str) -> Iterator[tuple[str, str]]:
    """The cues of a text, each with the clause that tells the cause."""
    for match in _CUE.finditer(text):
        if match["after"] or match["after_zh"]:
            clause = _following(text, match.end())
            if match[0].lower() == "since" and not _FAILURE.search(clause):
                continue
        else:
            clause = _preceding(text, match.start())
        if clause:
            yield match[0].lower(), clause


def _following(text: str, place: int) -> str:
    end = _CLAUSE_END.search(text, place)
    return text[place : end.start() if end else None][:LONGEST_CLAUSE].strip()


def _preceding(text: str, place: int) -> str:
    """What the sentence says before the cue; the sentence before where the cue opens its own."""
    before = text[:place].rstrip(" ,，;；")
    own = _SENTENCE_END.split(before)[-1].strip()
    if own in ("", "and", "And"):
        ended = [part.strip() for part in _SENTENCE_END.split(before) if part.strip() not in ("", "and", "And")]
        own = ended[-1] if ended else ""
    return own[-LONGEST_CLAUSE:]


def _named(clause: str, unit: MemoryUnit, view: WriteView) -> _Found | None:
    return _named_step(clause, unit, view) or _named_action(clause, unit, view) or _named_entity(clause, unit, view)


def _named_step(clause: str, unit: MemoryUnit, view: WriteView) -> _Found | None:
    for match in _STEP.finditer(clause):
        name = next(group for group in match.groups() if group)
        found = view.step(unit.task_id, name)
        if found is not None:
            return _Found(found, f"step {name}", 0.8)
    return None


def _named_action(clause: str, unit: MemoryUnit, view: WriteView) -> _Found | None:
    """The latest step of an action that is named; a plain word is a name only where the clause tells of a failure."""
    failed = _FAILURE.search(clause) is not None
    for name in dict.fromkeys(_NAME.findall(clause)):
        if failed or "_" in name or f"{name}(" in clause or f"`{name}`" in clause:
            found = view.last_taken(name, unit.task_id, unit.session_id)
            if found is not None:
                return _Found(found, f"the action {name}", 0.7)
    last = view.last_failure(unit.task_id, unit.session_id) if failed else None
    return None if last is None else _Found(last, "the last failure", 0.6)


def _named_entity(clause: str, unit: MemoryUnit, view: WriteView) -> _Found | None:
    """The latest unit that holds a rare entity of the clause to the letter."""
    for name in dict.fromkeys((*identifiers(clause), *entities(clause))):
        holders = view.holders(name, unit.task_id, unit.session_id)
        if 0 < len(holders) <= MOST_HOLDERS and holds(view.unit(holders[-1]).text, name):
            return _Found(holders[-1], name, 0.5)
    return None
