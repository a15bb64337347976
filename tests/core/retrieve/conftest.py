"""Small scopes to rank in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from prism_core import Event
from prism_core.changes import Change
from prism_core.encode.encoder import Encoder, WriteContext
from prism_core.encode.relate import RelationLinker
from prism_core.encode.tag import RuleTagger
from prism_core.encode.taxonomy import IntentTaxonomy
from prism_core.results import Receipt
from prism_core.storage.dense import IndexChoice
from prism_core.storage.ledger import SqlLedger
from prism_core.storage.staged import StagedView
from prism_core.storage.state import ScopeState
from prism_core.testing import CountingIds
from prism_core.text import O200kCounter

SCOPE = ("a",)
START = datetime(2026, 5, 1, tzinfo=UTC)
MakeView = Callable[[Sequence[Event | str]], ScopeState]


@pytest.fixture
def make_view() -> Iterator[MakeView]:
    """Makes the view of a scope that holds these events, their ids u1, u2 ...; strings are said a minute apart."""
    ledgers: list[SqlLedger] = []

    def make(events: Sequence[Event | str]) -> ScopeState:
        ledger = SqlLedger.open("sqlite://")
        ledgers.append(ledger)
        state = ScopeState(SCOPE, ledger, IndexChoice())
        encoder = Encoder(RuleTagger(IntentTaxonomy.default()), O200kCounter(), RelationLinker(), CountingIds(), "")
        view, changes, receipts = StagedView(state), list[Change](), list[Receipt]()
        for number, given in enumerate(events):
            now = START + timedelta(minutes=number)
            event = Event(observation=given) if isinstance(given, str) else given
            encoded = encoder.encode(event, WriteContext(SCOPE, view, now), f"r{number}")
            changes += encoded.changes
            receipts.append(encoded.receipt)
            if encoded.unit is not None:
                view.stage(encoded.unit, encoded.key)
        ledger.commit(SCOPE, changes, based_on=state.position, recorded_at=START, receipts=receipts)
        state.catch_up()
        return state

    yield make
    for ledger in ledgers:
        ledger.close()
