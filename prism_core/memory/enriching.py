"""The second look at what was written: a language model reads a unit that rules have stored already.

The unit is durable and searchable before the model is asked. What the model finds is committed as changes of its own;
where it fails, rules do the rest, and the receipt says so. Nobody waits for the model but the writer who wants to.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from pydantic import ValidationError

from prism_core.changes import AddLink, Change, MarkUnread, UpdateUnit
from prism_core.encode.encoder import Encoded, Encoder
from prism_core.encode.reading import MOST_EARLIER, LLMReader, Understood
from prism_core.errors import CausalCycleError, InvalidEventError, LLMError, LLMReplyError, UnknownUnitError
from prism_core.memory.recorder import RETRY_SECONDS, Recorder
from prism_core.protocols import Ledger
from prism_core.results import Receipt, ReceiptStatus
from prism_core.storage.staged import StagedView
from prism_core.storage.state import ScopeState
from prism_core.storage.states import ScopeStates
from prism_core.text import normalize
from prism_core.types import ACYCLIC_RELATIONS, Kind, Layer, Link, MemoryUnit, Scope

ReadWhen = Literal["always", "unsure"]
BATCH = 16
_NEVER = frozenset({Kind.FACT, Kind.SUMMARY})


@dataclass(frozen=True, slots=True)
class Enriched:
    """What the second look at a unit came to.

    Attributes:
        superseded: ids of the facts that hold no longer because of it.
        facts: ids of the facts it states.
        problem: why rules did the work; empty where the model did.
        waits: whether it is to be tried again.
    """

    superseded: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    problem: str = ""
    waits: bool = False


@dataclass(slots=True)
class Enricher:
    """Has units read by a language model.

    Attributes:
        ledger: the truth.
        states: what is derived from it.
        recorder: commits.
        encoder: settles facts, and does by rules what the model could not.
        reader: asks the model; None where there is none any more, and rules finish what waits for one.
    """

    ledger: Ledger
    states: ScopeStates
    recorder: Recorder
    encoder: Encoder
    reader: LLMReader | None
    _failed_at: float | None = field(default=None, init=False)

    def complete(self, scope: Scope, receipts: Sequence[Receipt]) -> list[Receipt]:
        """Read what was just stored; the receipts with what that came to."""
        stored = [receipt.unit_id for receipt in receipts if receipt.unit_id is not None]
        waiting = set(self.ledger.unread(scope, len(stored), stored)) if self.reader is not None and stored else set()
        return [
            self._completed(receipt, self.enrich(scope, receipt.unit_id, receipt))
            if receipt.unit_id in waiting and receipt.status is not ReceiptStatus.JOINED
            else receipt
            for receipt in receipts
        ]

    def pending(self, scope: Scope) -> int:
        """Read everything of a scope that waits; answers how many units were read, by the model or by rules."""
        done = 0
        while self.reader is None or not self._resting():
            waiting = self.ledger.unread(scope, BATCH)
            if not waiting:
                break
            for unit_id in waiting:
                if self.enrich(scope, unit_id).waits:
                    return done
                done += 1
        return done

    def enrich(self, scope: Scope, unit_id: str | None, receipt: Receipt | None = None) -> Enriched:
        """Read one unit and commit what is found. A unit that was erased meanwhile is passed over."""
        if unit_id is None:
            return Enriched()
        try:
            unit, earlier = self._surroundings(scope, unit_id)
            understood, problem, waits = self._understood(unit, earlier)
            try:
                return self._commit(scope, unit_id, understood, Enriched(problem=problem, waits=waits), receipt)
            except (InvalidEventError, ValidationError) as error:
                # What a model finds may be unlike anything that can be stored: rules do its work then.
                reason = f"what the model found cannot be stored: {error}"
                return self._commit(scope, unit_id, None, Enriched(problem=reason), receipt)
        except UnknownUnitError:
            return Enriched()

    def _understood(self, unit: MemoryUnit, earlier: Sequence[MemoryUnit]) -> tuple[Understood | None, str, bool]:
        """What the model found; else why not, and whether it may find it later."""
        if self.reader is None:
            return None, "", False
        if self._resting():
            return None, "the model failed a moment ago and is asked again later; rules did its work", True
        try:
            understood = self.reader.read(unit, earlier)
        except LLMReplyError as error:
            return None, str(error), False
        except LLMError as error:
            self._failed_at = time.monotonic()
            return None, str(error), True
        self._failed_at = None
        return understood, "", False

    def _surroundings(self, scope: Scope, unit_id: str) -> tuple[MemoryUnit, list[MemoryUnit]]:
        """A unit, and the few earlier ones it may rest on: the nearest by meaning, and those right before it."""
        state = self.states.get(scope)
        with state.lock:
            state.catch_up()
            unit = state.unit(unit_id)
            return unit, state.units(_earlier_rows(state, unit, self.ledger))

    def _commit(
        self, scope: Scope, unit_id: str, understood: Understood | None, outcome: Enriched, receipt: Receipt | None
    ) -> Enriched:
        found: list[Enriched] = []

        def encode(state: ScopeState) -> list[Encoded]:
            item = self._encoded(state, unit_id, understood, outcome)
            found[:] = [replace(outcome, superseded=item.receipt.superseded, facts=item.receipt.facts)]
            if receipt is not None:
                item = replace(item, receipt=self._completed(receipt, found[0]))
            return [item]

        self.recorder.amend(scope, encode)
        return found[0]

    def _encoded(self, state: ScopeState, unit_id: str, understood: Understood | None, outcome: Enriched) -> Encoded:
        """The changes that a reading comes to, on top of what rules stored."""
        unit, view = state.unit(unit_id), StagedView(state)
        changes: list[Change] = []
        claims = list(self.encoder.claims(unit))
        if understood is not None:
            said = {(claim.entity, normalize(claim.value)) for claim in claims}
            claims += [claim for claim in understood.claims if (claim.entity, normalize(claim.value)) not in said]
        if understood is not None:
            fresh = _grown(unit, understood, self.encoder)
            changes += _difference(unit, fresh, self.encoder)
            changes += [AddLink(link) for link in understood.links if _possible(link, state)]
            unit = fresh
        settled = self.encoder.settle(unit, claims, view)
        changes += settled.changes
        if not outcome.waits:
            changes.append(MarkUnread(unit_id, unread=False))
        receipt = Receipt("", ReceiptStatus.STORED, unit_id, "", tuple(settled.superseded), tuple(settled.facts))
        tokens = self.encoder.counter.count(unit.text)
        return Encoded(receipt, tuple(changes), unit, tokens, None, settled.units)

    def _completed(self, receipt: Receipt, enriched: Enriched) -> Receipt:
        superseded = tuple(dict.fromkeys([*receipt.superseded, *enriched.superseded]))
        facts = tuple(dict.fromkeys([*receipt.facts, *enriched.facts]))
        told = replace(receipt, superseded=superseded, facts=facts)
        if not enriched.problem:
            return told
        reason = "; ".join(part for part in (receipt.reason, enriched.problem) if part)
        return replace(told, status=ReceiptStatus.DEGRADED, reason=reason)

    def _resting(self) -> bool:
        return self._failed_at is not None and time.monotonic() - self._failed_at < RETRY_SECONDS


def worth_reading(unit: MemoryUnit, stated: int, *, when: ReadWhen) -> bool:
    """Whether a model is to read a unit.

    Args:
        unit: as rules see it.
        stated: how many facts rules found in it.
        when: "always", or "unsure" for those that rules may have misjudged.
    """
    if unit.kind in _NEVER or unit.layer is Layer.WORKING:
        return False
    return when == "always" or not unit.intent_tags or (unit.layer is Layer.SEMANTIC and not stated)


def _earlier_rows(state: ScopeState, unit: MemoryUnit, ledger: Ledger) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    own = int(state.rows([unit.id])[0])
    before = state.chain(task_id=unit.task_id, session_id=unit.session_id)
    rows = [row for row in before.tolist() if row < own][-2:][::-1]
    vector = ledger.vectors(state.scope, [unit.id]).get(unit.id)
    if vector is not None:
        rows += [row for row in state.nearest(vector, 2 * MOST_EARLIER).tolist() if row < own]
    return np.array(list(dict.fromkeys(rows))[:MOST_EARLIER], dtype=np.intp)


def _grown(unit: MemoryUnit, understood: Understood, encoder: Encoder) -> MemoryUnit:
    labels = understood.labels or unit.intent_tags
    routed = encoder.router.routed(unit, understood.score)
    entities = tuple(dict.fromkeys([*unit.entities, *understood.entities]))
    return unit.model_copy(
        update={"intent_tags": labels, "entities": entities, "importance": routed.importance, "layer": routed.layer}
    )


def _difference(unit: MemoryUnit, fresh: MemoryUnit, encoder: Encoder) -> list[Change]:
    fields = {"intent_tags", "entities", "importance", "layer"}
    before, after = (each.model_dump(mode="json", include=fields) for each in (unit, fresh))
    if before == after:
        return []
    return [UpdateUnit(unit.id, before, after, encoder.counter.count(fresh.text), "read by a language model")]


def _possible(link: Link, state: ScopeState) -> bool:
    """Whether a link may be stored: its source is there still, and it does not run against the arrow of time."""
    if state.known(link.source) is None:
        return False
    if link.relation not in ACYCLIC_RELATIONS:
        return True
    try:
        state.graph.check_acyclic(link)
    except CausalCycleError:
        return False
    return True
