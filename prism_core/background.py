"""Writing in the background: a turn pays for one durable append, and a thread does the rest."""

from __future__ import annotations

import time
from collections.abc import Iterable
from threading import Condition, Thread
from types import TracebackType
from typing import Self

from prism_core.errors import ClosedError, FlushTimeoutError
from prism_core.memory import PrismMemory
from prism_core.memory.arguments import EventLike
from prism_core.results import Receipt
from prism_core.types import Scope, scope_of

RETRY_SECONDS = 5.0
"""How long a scope rests that could not be finished: its events are leased by another process, or something failed."""


class BackgroundWriter:
    """Accepts events durably and has a thread of its own encode, store and embed them.

        with BackgroundWriter(memory) as writer:
            writer.write("The client wants the blue variant.", scope=("acme", "alice"))

    What was accepted is in the ledger's inbox before `write` returns. Nothing of it is lost when the process ends or is
    killed: the next search in its scope, or the next writer over the same store, finishes it. It is found at once, by
    its words, since every search takes in first what waits. Several processes may have a writer each over one store;
    events are leased, so each is stored once. Erasing takes what waits off the inbox.

    Thread-safe. It never closes the memory, which has to stay open until the writer is closed.
    """

    def __init__(self, memory: PrismMemory, *, retry_seconds: float = RETRY_SECONDS) -> None:
        """Start the thread; it begins with what an earlier process left.

        Args:
            memory: an open memory.
            retry_seconds: how long to wait before a scope that could not be finished is tried again.
        """
        self._memory = memory
        self._retry_seconds = retry_seconds
        self._changed = Condition()
        self._due: dict[Scope, float] = {}
        self._busy: Scope | None = None
        self._error: BaseException | None = None
        self._closed = False
        for scope in memory.scopes():
            counts = memory.stats(scope)
            if counts.inbox or counts.pending or counts.unread:
                self._due[scope] = 0.0
        self._thread = Thread(target=self._run, name="prism-background-writer", daemon=True)
        self._thread.start()

    def write(self, event: EventLike, *, scope: object) -> Receipt:
        """Accept one event; when this returns, it is durable.

        Returns:
            A receipt of status `accepted`; `PrismMemory.receipt` tells what became of it.

        Raises:
            ClosedError: if the writer or the memory is closed.
            ScopeError, InvalidEventError, LedgerError: as `PrismMemory.accept`; nothing is stored.
        """
        return self.write_many([event], scope=scope)[0]

    def write_many(self, events: Iterable[EventLike], *, scope: object) -> list[Receipt]:
        """Accept events in one transaction, all or none; errors are those of `write`."""
        if self._closed:
            raise ClosedError("write in the background")
        receipts = self._memory.accept(events, scope=scope)
        with self._changed:
            self._due[scope_of(scope)] = 0.0
            self._changed.notify_all()
        return receipts

    def flush(self, timeout: float | None = None) -> None:
        """Wait until everything accepted is stored and embedded, as far as the embedder answers.

        Args:
            timeout: seconds to wait at most; None for as long as it takes.

        Raises:
            FlushTimeoutError: if it took longer; what waits stays in the inbox.
            Exception: what the thread met since the last call; what it was about stays in the inbox and is tried again.
        """
        with self._changed:
            done = self._changed.wait_for(lambda: self._error is not None or self._idle, timeout)
            error, self._error = self._error, None
        if error is not None:
            raise error
        if not done:
            raise FlushTimeoutError(float(timeout or 0))

    def close(self, timeout: float | None = None) -> None:
        """Flush and end the thread, in any case; closing twice is no error. Errors are those of `flush`."""
        if self._closed:
            return
        self._closed = True
        try:
            self.flush(timeout)
        finally:
            with self._changed:
                self._due.clear()
                self._changed.notify_all()
            # A model that hangs must not hold up an end that has a time limit; the thread ends with the process.
            self._thread.join(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _idle(self) -> bool:
        return not self._due and self._busy is None

    def _run(self) -> None:
        while (scope := self._next()) is not None:
            unfinished = True
            try:
                self._memory.drain(scope=scope)
                counts = self._memory.stats(scope)
                unfinished = counts.inbox > 0 or counts.unread > 0
            except Exception as error:  # noqa: BLE001 - kept, and raised by whoever flushes
                self._error = error
            with self._changed:
                self._busy = None
                if unfinished and not self._closed:
                    self._due.setdefault(scope, time.monotonic() + self._retry_seconds)
                self._changed.notify_all()

    def _next(self) -> Scope | None:
        """The scope that is due first, once it is; None when the writer is closed and nothing is left."""
        with self._changed:
            while True:
                scope = min(self._due, key=lambda each: self._due[each], default=None)
                if scope is None and self._closed:
                    return None
                rest = None if scope is None else self._due[scope] - time.monotonic()
                if scope is not None and rest is not None and rest <= 0:
                    self._busy = scope
                    del self._due[scope]
                    return scope
                self._changed.wait(rest)
