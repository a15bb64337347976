"""What tests of agents share: a memory, agents by script, and looks into what was stored and shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

from prism_core import Event, MemoryUnit, PrismMemory, Source
from prism_core.testing import CountingIds, ScriptedClock
from tests.langchain.scripted import Responder, tool_call

ALICE = ("acme", "alice")
BOB = ("acme", "bob")
OPENING = "<past_experience>"


@dataclass
class User:
    """The runtime context of a run."""

    user_id: str


@contextmanager
def plain_memory(folder: Path) -> Iterator[PrismMemory]:
    """A memory on disk that searches by words alone, with a scripted clock and counted ids."""
    with PrismMemory.open(folder / "memory", embedder=None, clock=ScriptedClock(), new_id=CountingIds()) as memory:
        yield memory


def on(thread: str) -> RunnableConfig:
    """The config of a run on a thread."""
    return {"configurable": {"thread_id": thread}}


def says(text: str) -> Any:
    """The input of a run in which the user says something."""
    return {"messages": [HumanMessage(text)]}


def answers(text: str) -> Responder:
    """A script that always says the same."""
    return lambda messages: AIMessage(text)


def calls_once(name: str, **arguments: Any) -> Responder:
    """A script that calls a tool on what a user says, and ends the turn with what the tool answered."""

    def respond(messages: list[BaseMessage]) -> AIMessage:
        last = messages[-1]
        return AIMessage(f"It says: {last.text}") if isinstance(last, ToolMessage) else tool_call(name, **arguments)

    return respond


def texts(memory: PrismMemory, scope: Sequence[str] = ALICE) -> list[str]:
    """The texts of all units of a scope but facts that others state, oldest first."""
    return [unit.text for unit in memory.units(scope=scope) if unit.fact is None]


def steps(memory: PrismMemory, scope: Sequence[str] = ALICE) -> list[MemoryUnit]:
    """The units of a scope that are actions, oldest first."""
    return [unit for unit in memory.units(scope=scope) if unit.action is not None]


def know(memory: PrismMemory, *facts: str, scope: Sequence[str] = ALICE, source: Source = Source.USER) -> None:
    """Write what was said in an earlier session."""
    events = [Event(observation=fact, session_id="earlier", source=source) for fact in facts]
    memory.write_many(events, scope=scope)


def blocks(messages: Sequence[BaseMessage]) -> list[str]:
    """The blocks of memories in messages, as text."""
    return [message.text[message.text.index(OPENING) :] for message in messages if OPENING in message.text]
