"""`prism ask` and `prism why`: what the memory answers, and how it came to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from prism_core.cli.options import Place
from prism_core.cli.output import as_json, counted, cut, note, say, unit_fields, width
from prism_core.cli.store import open_store, warn_if_empty
from prism_core.memory import PrismMemory
from prism_core.results import Candidate, Chain, Hit, Retrieval, two_digits

DEFAULT_BUDGET = 1000
LEFT_OUT = 3
"""Candidates explained beside those that were returned."""
_HEADINGS = f"{'#':>3}  {'score':>5}  {'front':>5}  {'confidence':<10}  {'time (UTC)':<16}  {'unit':<16}  text"


class Direction(StrEnum):
    """Which chain of links is followed."""

    WHY = "why"
    IMPACT = "impact"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked and how much may come back.

    Attributes:
        text: the question.
        k: exactly so many hits; None for a context block.
        budget: tokens; None for no limit with `k`, and for the default without.
        task_id: only units of this task.
        session_id: only units of this session.
        active: ids of the units that are being worked on.
    """

    text: str
    k: int | None = None
    budget: int | None = None
    task_id: str | None = None
    session_id: str | None = None
    active: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        retrieval: the hits and all that was considered.
        tokens: of the block; of the hits' texts together where there is no block.
        text: the block for the prompt; None where hits were asked for.
    """

    retrieval: Retrieval
    tokens: int
    text: str | None = None


def ask(question: Question, place: Place, *, explain: bool, json: bool) -> None:
    """Ask the store and print the block for the prompt, or a table of hits."""
    with open_store(place) as memory:
        answer = _answer(memory, question, place)
        if json:
            say(as_json(_answer_fields(answer, explain)))
            return
        for degraded in answer.retrieval.degraded:
            note(degraded)
        if not answer.retrieval.candidates:
            warn_if_empty(memory, place)
        _show(answer, question)
        if explain:
            _explain(answer.retrieval)


def why(unit_id: str, place: Place, direction: Direction, *, depth: int | None, json: bool) -> None:
    """Print the chain of links that leads to a unit or away from it."""
    with open_store(place) as memory:
        follow = {
            Direction.WHY: memory.why,
            Direction.IMPACT: memory.impact,
            Direction.FAILURE: memory.failure_path,
        }[direction]
        chain = follow(unit_id, scope=place.scope) if depth is None else follow(unit_id, scope=place.scope, depth=depth)
    if json:
        say(as_json(_chain_fields(chain)))
        return
    for step, line in zip(chain, chain.render().splitlines(), strict=True):
        say(f"{step.unit.id}  {line}")
    if chain.truncated:
        kept = "most suspicious" if direction is Direction.FAILURE else "nearest"
        note(f"more units are connected; the {kept} {len(chain)} are shown")


def _answer(memory: PrismMemory, question: Question, place: Place) -> Answer:
    if question.k is None:
        context = memory.context(
            question.text,
            scope=place.scope,
            budget=question.budget or DEFAULT_BUDGET,
            active=question.active,
            task_id=question.task_id,
            session_id=question.session_id,
        )
        return Answer(context.retrieval, context.tokens, context.text)
    found = memory.search(
        question.text,
        scope=place.scope,
        k=question.k,
        budget=question.budget,
        active=question.active,
        task_id=question.task_id,
        session_id=question.session_id,
    )
    return Answer(found, sum(hit.candidate.tokens for hit in found))


def _show(answer: Answer, question: Question) -> None:
    memories = counted(len(answer.retrieval), "memory").replace("memorys", "memories")
    sure = f"answerability {two_digits(answer.retrieval.answerability)}"
    if answer.text is not None:
        say(f"{answer.text}\n" if answer.text else "(nothing fits and is worth its tokens)\n")
        say(f"{memories}, {answer.tokens:,} of {question.budget or DEFAULT_BUDGET:,} tokens, {sure}")
        return
    say(_HEADINGS)
    for place, hit in enumerate(answer.retrieval, start=1):
        say(_row(place, hit))
    say(f"\n{memories}, {counted(answer.tokens, 'token')} of text, {sure}")


def _row(place: int, hit: Hit) -> str:
    front = "-" if hit.candidate.front is None else hit.candidate.front
    row = f"{place:>3}  {hit.score:5.2f}  {front:>5}  {hit.confidence:<10}  {hit.unit.event_time:%Y-%m-%d %H:%M}"
    row = f"{row}  {hit.unit.id:<16}  "
    return row + cut(hit.unit.text, max(20, width() - len(row)))


def _explain(retrieval: Retrieval) -> None:
    say(f"\nobjectives: {', '.join(retrieval.objectives)}")
    say(f"facets: {', '.join(sorted(retrieval.query.facets))}")
    for candidate in [hit.candidate for hit in retrieval] + _left_out(retrieval):
        say(f"\n{retrieval.explain(candidate.unit_id)}")


def _left_out(retrieval: Retrieval) -> list[Candidate]:
    """The best of those that were not returned."""
    return list(islice((candidate for candidate in retrieval.candidates if not candidate.kept), LEFT_OUT))


def _answer_fields(answer: Answer, explain: bool) -> dict[str, object]:
    retrieval = answer.retrieval
    fields: dict[str, object] = {
        "query": retrieval.query.model_dump(mode="json"),
        "objectives": retrieval.objectives,
        "answerability": retrieval.answerability,
        "tokens": answer.tokens,
        "degraded": retrieval.degraded,
        "hits": [
            {**_candidate_fields(hit.candidate), "confidence": hit.confidence, "unit": unit_fields(hit.unit)}
            for hit in retrieval
        ],
    }
    if answer.text is not None:
        fields["text"] = answer.text
    if explain:
        fields["left_out"] = [_candidate_fields(candidate) for candidate in _left_out(retrieval)]
    return fields


def _candidate_fields(candidate: Candidate) -> dict[str, object]:
    return {
        "unit_id": candidate.unit_id,
        "score": candidate.score,
        "front": candidate.front,
        "answerability": candidate.answerability,
        "tokens": candidate.tokens,
        "channels": candidate.channels,
        "objectives": dict(candidate.objectives),
        "signals": dict(candidate.signals),
        "reason": candidate.reason,
    }


def _chain_fields(chain: Chain) -> dict[str, object]:
    steps: Sequence[dict[str, object]] = [
        {
            "depth": step.depth,
            "link": step.link.model_dump(mode="json") if step.link else None,
            "suspicion": step.suspicion,
            "unit": unit_fields(step.unit),
        }
        for step in chain
    ]
    return {"root": chain.root, "truncated": chain.truncated, "steps": steps}


def tasks(place: Place) -> None:
    """Print the goals of every task."""
    with open_store(place) as memory:
        warn_if_empty(memory, place)
        found = memory.goals(scope=place.scope)
    for each in found:
        say(f"task {each.task_id}" if each.task_id is not None else f"session {each.session_id}")
        for goal in each.stack:
            say(f"  {'  ' * goal.level.depth}{goal.level}: {goal.text}")
        earlier = [goal for goal in each.stated if goal not in each.stack]
        for goal in earlier:
            say(f"  before, from {goal.since:%Y-%m-%d %H:%M}: {goal.text}")
