"""The story the demo tells: `story.toml` as events and questions."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from prism_core.types import Event, Kind, Outcome, Source

USER = "Ines"
AGENT = "Scout"


@dataclass(frozen=True, slots=True)
class Question:
    """Something the model is asked after the week.

    Attributes:
        kind: what kind of question it is, in words.
        text: the question.
        needs: the facts an answer rests on, each as the ways in which the story puts it; none for a question the
            story cannot answer.
        chain_from: step id of the decision the question is about, for questions about reasons.
    """

    kind: str
    text: str
    needs: tuple[tuple[str, ...], ...]
    chain_from: str | None = None

    def found(self, text: str) -> tuple[str, ...]:
        """The needed facts that stand in a text, as they are put there."""
        ways = (next((way for way in need if way in text), None) for need in self.needs)
        return tuple(way for way in ways if way)


@dataclass(frozen=True, slots=True)
class Story:
    """What happened, and what is asked about it.

    Attributes:
        events: in the order of time; a tool call is followed by its reply.
        steps: number of steps, a call and its reply counted once.
        questions: in the order in which they are asked.
    """

    events: tuple[Event, ...]
    steps: int
    questions: tuple[Question, ...]


@cache
def load_story() -> Story:
    """Read the story that comes with the package."""
    data = tomllib.loads(files(__package__).joinpath("story.toml").read_text(encoding="utf-8"))
    events = [event for number, step in enumerate(data["step"]) for event in _events(number, step)]
    return Story(tuple(events), len(data["step"]), tuple(map(_question, data["question"])))


def _question(item: Mapping[str, Any]) -> Question:
    return Question(item["kind"], item["asks"], tuple(map(tuple, item["needs"])), item.get("chain_from"))


def _events(number: int, step: Mapping[str, Any]) -> Iterator[Event]:
    key = f"story-{number:03}"
    shared = {
        "session_id": f"{step['at']:%A}".lower(),
        "task_id": step["task"],
        "step_id": step.get("id", key),
        "parent": step.get("for"),
        "event_time": step["at"],
    }
    if "says" in step:
        source = Source.USER if step["who"] == USER else Source.ASSISTANT
        yield Event(**shared, observation=step["says"], speaker=step["who"], source=source, idempotency_key=key)
        return
    yield Event(
        **shared,
        kind=Kind.STEP,
        thought=step.get("thought"),
        action=f"{step['call']}({json.dumps(step['args'])})",
        action_type=step["call"],
        tool_call_id=f"call-{number:03}",
        source=Source.ASSISTANT,
        idempotency_key=key,
    )
    yield Event(
        **shared,
        kind=Kind.STEP,
        observation=step["reply"],
        tool_call_id=f"call-{number:03}",
        source=Source.TOOL,
        outcome=Outcome.FAILURE if step.get("failed") else Outcome.SUCCESS,
        idempotency_key=f"{key}-reply",
    )
