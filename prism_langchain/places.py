"""Whose memory a run is about: scope, session and task, read from what the host knows of the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prism_core import Scope, scope_of
from prism_core.errors import ScopeError
from prism_langchain.convert import storable

ScopeSource = str | Sequence[str] | Callable[[Any], object]
"""A fixed scope, or what reads it from the run: `(runtime) -> scope`, for runnables `(config) -> scope`."""
NameSource = str | Callable[[Any], object] | None
"""A fixed name of a session or task, what reads it from the run, or none; numbers and UUIDs become text."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run's events belong.

    Attributes:
        scope: whose memory.
        session_id: the sitting; None outside of one.
        task_id: the unit of work; None outside of one.
    """

    scope: Scope
    session_id: str | None = None
    task_id: str | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """Finds the place of a run. There is no shared default: without a scope nothing is read or written.

    Attributes:
        scope: a fixed scope, or what reads it from the run.
        session_id: a fixed session, what reads it from the run, or none.
        task_id: a fixed task, what reads it from the run, or none.
    """

    scope: ScopeSource
    session_id: NameSource = None
    task_id: NameSource = None

    def __post_init__(self) -> None:
        if not callable(self.scope):
            scope_of(self.scope)

    def of(self, run: Any) -> Place:
        """The place of a run.

        Args:
            run: LangGraph's `Runtime` (or `ToolRuntime`), or the config of a runnable.

        Raises:
            ScopeError: if there is no scope, or a malformed one.
        """
        scope = self.scope(run) if callable(self.scope) else self.scope
        return Place(scope_of(scope), _name(self.session_id, run), _name(self.task_id, run))


def scope_from_context(*fields: str, prefix: Sequence[str] = ()) -> Callable[[Any], Scope]:
    """Reads the scope from fields of `runtime.context`: a dataclass, a pydantic model, a mapping or any object.

        PrismMemoryMiddleware(memory, scope=scope_from_context("tenant", "user_id"))

    Args:
        fields: names of the fields, one per segment of the scope; whole numbers become text.
        prefix: segments put in front.

    Returns:
        A function of the runtime, which raises `ScopeError` where a field is missing, None or empty.
    """
    return _reader(fields, prefix, lambda runtime: getattr(runtime, "context", None), "runtime.context")


def scope_from_config(*fields: str, prefix: Sequence[str] = ()) -> Callable[[Any], Scope]:
    """Reads the scope from `config["configurable"]`, for runnables; arguments are those of `scope_from_context`."""
    return _reader(fields, prefix, lambda config: (config or {}).get("configurable"), "config['configurable']")


def thread_id(runtime: Any) -> str | None:
    """The thread of a LangGraph run, which is the session of its events; None where the run has none."""
    info = getattr(runtime, "execution_info", None)
    return info.thread_id if info is not None else None


def configured_thread_id(config: Any) -> str | None:
    """The thread named in the config of a runnable; None where it names none."""
    value = ((config or {}).get("configurable") or {}).get("thread_id")
    return None if value is None else str(value)


def is_delegated(runtime: Any) -> bool:
    """Whether the run is an agent called in a tool of another agent, so that an agent speaks in the user's role."""
    info = getattr(runtime, "execution_info", None)
    if info is None:
        return False
    # A namespace names the nodes from the outermost graph inwards, each with its task: "tools:1f2e|model:77ab".
    return any(node.startswith("tools:") for node in info.checkpoint_ns.split("|")[:-1])


def _reader(
    fields: Sequence[str], prefix: Sequence[str], holder_of: Callable[[Any], Any], named: str
) -> Callable[[Any], Scope]:
    if not fields:
        raise ScopeError((), f"is to be read from {named}, but no field is named")

    def read(run: Any) -> Scope:
        holder = holder_of(run)
        segments = [_field(holder, field, named) for field in fields]
        return scope_of((*prefix, *segments))

    return read


def _field(holder: Any, field: str, named: str) -> str:
    value = holder.get(field) if isinstance(holder, Mapping) else getattr(holder, field, None)
    if type(value) is int:
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise ScopeError(value, f"was read from {field!r} of {named}, where no name stands")
    return value


def _name(source: NameSource, run: Any) -> str | None:
    value = source(run) if callable(source) else source
    return None if value is None else storable(str(value))
