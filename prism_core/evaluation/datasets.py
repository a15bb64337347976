"""Benchmark files as rows of questions and runs of steps."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from pydantic import JsonValue

from prism_core.ingest import IngestRun, Record, read_records, read_traces
from prism_core.ingest.units import prefixed, read_units, unit_event
from prism_core.memory.arguments import LONGEST_QUESTION
from prism_core.text import normalize
from prism_core.types import Event, Kind

Answers = Mapping[tuple[str, str], Mapping[str, str]]
"""By store and question, the span that answers by unit."""
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Item:
    """What is added to a system in one piece.

    Attributes:
        key: its name in the file; unique among all that one system is given.
        events: as a log has it: a tool's call and its reply are two events.
        whole: all of it as one event.
    """

    key: str
    events: tuple[Event, ...]
    whole: Event


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the units that answer it.

    Attributes:
        id: unique in the file.
        text: the question.
        evidence: keys of the units that bear on it, each once.
        category: what kind of question it is.
        session: it is asked inside this session only; None for all of the store.
        row: id of the row it stands in, also where all rows are put into one scope.
        spans: by evidence key, the words in it that answer; empty where the file has no answers beside it.
        names_speaker: whether it names exactly one of those who speak in its row.
    """

    id: str
    text: str
    evidence: frozenset[str]
    category: str
    session: str | None = None
    row: str = ""
    spans: Mapping[str, str] = field(default_factory=dict)
    names_speaker: bool = False


@dataclass(frozen=True, slots=True)
class QARow:
    """One store and the questions that are asked of it.

    Attributes:
        id: unique in the file.
        items: one per unit, in the order of the file.
        questions: in the order of the file.
        unusable: number of questions left out because none of their evidence is in the store.
    """

    id: str
    items: tuple[Item, ...]
    questions: tuple[Question, ...]
    unusable: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """A message, or a tool call joined with the reply that directly follows it.

    Attributes:
        item: what is written for it; its key is run id and position.
        tool: name of the called function; None for a message.
        arguments: raw JSON of the call; empty for a message.
        text: content, function name, arguments and reply.
    """

    item: Item
    tool: str | None
    arguments: str
    text: str


@dataclass(frozen=True, slots=True)
class TraceRun:
    """One run of an agent.

    Attributes:
        id: unique in the file.
        task: what it was an attempt at; runs with an equal task are sibling trials. None where unknown.
        steps: in order.
    """

    id: str
    task: JsonValue
    steps: tuple[Step, ...]


def load_qa(path: str | Path, *, one_scope: bool = False) -> list[QARow]:
    """Read evidence-QA rows, and of `NAME.jsonl` the answer spans in `NAME-answers.jsonl` beside it, if it is there.

    Args:
        path: one row a line.
        one_scope: put all rows into one; units, questions and sessions are then named `row/name`.

    Raises:
        DatasetError: if a file cannot be read, a row does not have the format, or two have one id.
    """
    spans = _answers(Path(path))
    records = read_records(path)
    _check_ids(records)
    rows = [_qa_row(record, one_scope, spans) for record in records]
    if not one_scope:
        return rows
    items = tuple(item for row in rows for item in row.items)
    questions = tuple(question for row in rows for question in row.questions)
    return [QARow(Path(path).stem, items, questions, sum(row.unusable for row in rows))]


def load_traces(path: str | Path) -> list[TraceRun]:
    """Read runs as steps.

    Raises:
        DatasetError: if the file cannot be read, or a message does not have the chat format.
    """
    return [TraceRun(run.id, run.task, tuple(_steps(run))) for run in read_traces(path)]


def anonymous(step: Step) -> Item:
    """A step as one event that does not say which run, session or task it belongs to."""
    key = blake2b(step.item.key.encode(), digest_size=12).hexdigest()
    withheld = {"session_id": None, "task_id": None, "parent": None, "tool_call_id": None}
    event = step.item.whole.model_copy(update={**withheld, "idempotency_key": key, "metadata": {}})
    return Item(step.item.key, (event,), event)


def _answers(path: Path) -> Answers:
    beside = path.with_name(f"{path.stem}-answers{path.suffix}")
    if not beside.exists():
        return {}
    return {
        (record.text("store"), record.text("question")): {
            answer.text("unit"): answer.text("span") for answer in record.children("answers", "answer")
        }
        for record in read_records(beside)
    }


def _check_ids(records: Sequence[Record]) -> None:
    """Refuse a second record of one id: its figures would be taken for the first one's."""
    seen: set[str] = set()
    for record in records:
        name = record.text("id")
        if name in seen:
            record.fail(f"the id {name!r} occurs twice; give each one of its own")
        seen.add(name)


def _qa_row(record: Record, one_scope: bool, spans: Answers) -> QARow:
    row_id = record.text("id")
    prefix = row_id if one_scope else None
    items = []
    for unit in read_units(record):
        event = unit_event(unit, prefix)
        items.append(Item(prefixed(prefix, unit.id), (event,), event))
    speakers = {normalize(item.whole.speaker) for item in items if item.whole.speaker}
    questions = record.children("questions", "question")
    _check_ids(questions)
    asked = [_question(question, prefix, row_id, speakers, spans) for question in questions]
    known = {item.key for item in items}
    kept = [question for question in asked if question.evidence & known]
    return QARow(row_id, tuple(items), tuple(kept), len(asked) - len(kept))


def _question(record: Record, prefix: str | None, row_id: str, speakers: Collection[str], spans: Answers) -> Question:
    evidence = record.value.get("evidence")
    if not isinstance(evidence, list):
        record.fail(f"needs 'evidence' as a list of unit ids, has {evidence!r}")
    session, text = record.optional("session"), record.text("text")
    if not text.strip() or len(text) > LONGEST_QUESTION:
        record.fail(f"needs 'text' as a question of 1 to {LONGEST_QUESTION} characters; it has {len(text.strip())}")
    words = " ".join(["", *_WORD.findall(normalize(text)), ""])
    return Question(
        id=prefixed(prefix, record.text("id")),
        text=text,
        evidence=frozenset(prefixed(prefix, str(unit_id)) for unit_id in evidence),
        category=record.text("category", "all"),
        session=prefixed(prefix, session) if session else None,
        row=row_id,
        spans={prefixed(prefix, unit): span for unit, span in spans.get((row_id, record.text("id")), {}).items()},
        names_speaker=sum(f" {name} " in words for name in speakers) == 1,
    )


def _steps(run: IngestRun) -> list[Step]:
    drafts: list[list[Event]] = []
    unanswered: list[list[Event]] = []
    for item in run.items:
        # Call ids repeat within runs, so that only the position tells which call a reply answers.
        if not _is_reply(item.events):
            unanswered = []
        for event in item.events:
            if _is_reply((event,)) and unanswered:
                unanswered.pop(0).append(event)
                continue
            drafts.append([event])
            if event.action is not None:
                unanswered.append(drafts[-1])
    return [_step(f"{run.id}#{position}", events) for position, events in enumerate(drafts)]


def _is_reply(events: Sequence[Event]) -> bool:
    return len(events) == 1 and events[0].kind is Kind.STEP and events[0].action is None


def _step(key: str, events: Sequence[Event]) -> Step:
    first, *replies = events
    update: Mapping[str, object] = {
        "observation": "\n".join(event.observation for event in replies) if replies else first.observation,
        "attachments": tuple(attachment for event in events for attachment in event.attachments),
    }
    whole = first.model_copy(update=update)
    parts = (whole.thought, whole.action, whole.observation)
    tool = first.action_type if first.action is not None else None
    arguments = first.action[len(tool) + 1 : -1] if first.action is not None and tool is not None else ""
    return Step(Item(key, tuple(events), whole), tool, arguments, "\n".join(part for part in parts if part))
