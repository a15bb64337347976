"""`prism ingest`: files of logs into the store, with a receipt for every message."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from prism_core.cli.options import Place
from prism_core.cli.output import as_json, counted, say
from prism_core.cli.store import open_store
from prism_core.ingest import Format, IngestItem, IngestRun, detect, read
from prism_core.memory import PrismMemory
from prism_core.memory.parts import now_utc
from prism_core.results import Receipt, ReceiptStatus
from prism_core.types import Scope

CHUNK = 64
"""Messages that are written in one transaction."""
_ALWAYS_COUNTED = (ReceiptStatus.STORED, ReceiptStatus.JOINED, ReceiptStatus.DUPLICATE, ReceiptStatus.REJECTED)
_NEW = frozenset({ReceiptStatus.STORED, ReceiptStatus.DEGRADED})


class ForwardClock:
    """The present instant, later at every call, so that messages without a time keep the order of their file."""

    def __init__(self) -> None:
        self._last = now_utc()

    def __call__(self) -> datetime:
        """An instant after all that were given before."""
        self._last = max(now_utc(), self._last + timedelta(microseconds=1))
        return self._last


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one message.

    Attributes:
        item: the message.
        status: of its first event; `rejected` for a message that makes none.
        receipts: one per event.
        reason: why; empty for a plain success.
    """

    item: IngestItem
    status: ReceiptStatus
    receipts: tuple[Receipt, ...]
    reason: str

    @classmethod
    def of(cls, item: IngestItem, receipts: Sequence[Receipt]) -> Line:
        """The line of a message with the receipts of its events."""
        status = receipts[0].status if receipts else ReceiptStatus.REJECTED
        reasons = dict.fromkeys(receipt.reason for receipt in receipts if receipt.reason)
        return cls(item, status, tuple(receipts), "; ".join(reasons) or item.skipped)

    @property
    def unit_ids(self) -> list[str]:
        """The units that hold the message."""
        return list(dict.fromkeys(receipt.unit_id for receipt in self.receipts if receipt.unit_id))

    def text(self) -> str:
        """For people."""
        place = f"{self.item.run_id}#{self.item.index}"
        told = "" if self.status in (ReceiptStatus.JOINED, ReceiptStatus.DUPLICATE) else self.reason
        return "  ".join(part for part in (place, f"{self.status:<9}", *self.unit_ids, told) if part)

    def json(self) -> str:
        """For programs."""
        return as_json(
            {
                "run": self.item.run_id,
                "index": self.item.index,
                "role": self.item.label,
                "status": self.status,
                "units": self.unit_ids,
                "receipts": [receipt.id for receipt in self.receipts],
                "reason": self.reason,
            },
            indent=None,
        )


@dataclass(slots=True)
class Tally:
    """Counts over all messages.

    Attributes:
        statuses: messages, by what became of them.
        units: ids of the new units.
    """

    statuses: Counter[ReceiptStatus] = field(default_factory=Counter)
    units: set[str] = field(default_factory=set)

    def add(self, line: Line) -> None:
        """Count one message."""
        self.statuses[line.status] += 1
        self.units |= {receipt.unit_id for receipt in line.receipts if receipt.unit_id and receipt.status in _NEW}

    def summary(self, in_store: int, seconds: float) -> str:
        """The last line."""
        shown = dict.fromkeys([*_ALWAYS_COUNTED, *self.statuses])
        counts = ", ".join(f"{self.statuses[status]:,} {status}" for status in shown)
        pace = f", {1000 * seconds / len(self.units):.1f} ms per new unit" if self.units else ""
        messages = counted(self.statuses.total(), "message")
        return f"{messages}: {counts}; {counted(in_store, 'unit')} in the store; {seconds:.1f} s{pace}"


def ingest(files: Sequence[Path], place: Place, *, quiet: bool, json: bool) -> None:
    """Write files into the store and print what became of every message.

    Raises:
        DatasetError: if a file cannot be read; nothing is written then.
    """
    runs = [(scope, run) for file in files for scope, run in _scoped(file, place.scope)]
    started, tally = time.perf_counter(), Tally()
    with open_store(place, create=True, clock=ForwardClock()) as memory:
        for scope, run in runs:
            for line in _write(memory, scope, run):
                tally.add(line)
                if not quiet:
                    say(line.json() if json else line.text())
        in_store = sum(memory.stats(scope).units for scope in memory.scopes())
    # Standard output holds nothing but JSON lines when they are asked for.
    say(tally.summary(in_store, time.perf_counter() - started), err=json)


def _scoped(file: Path, scope: Scope) -> Iterator[tuple[Scope, IngestRun]]:
    """Runs share the scope; an evidence-QA row is a store of its own."""
    apart = detect(file) is Format.QA
    for run in read(file):
        yield ((*scope, run.id) if apart else scope), run


def _write(memory: PrismMemory, scope: Scope, run: IngestRun) -> Iterator[Line]:
    for start in range(0, len(run.items), CHUNK):
        items = run.items[start : start + CHUNK]
        receipts = iter(memory.write_many([event for item in items for event in item.events], scope=scope))
        for item in items:
            yield Line.of(item, [next(receipts) for _ in item.events])
