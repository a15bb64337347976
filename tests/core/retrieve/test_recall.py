from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from prism_core.retrieve.recall import Recall, recall, top_rows
from prism_core.storage.state import ScopeState
from prism_core.text import analyze
from prism_core.types import Event, IntentQuery

MakeView = Callable[[Sequence[Event | str]], ScopeState]


START = datetime(2026, 5, 1, tzinfo=UTC)
LIMITS = Recall(lexical=2, dense=2, mentions=2, intents=2, anchors=1, reach=1, chain=3, holders=2, newest=1)


def names(
    make_view: MakeView, events: list[Event | str], limits: Recall = LIMITS, **query: object
) -> dict[str, list[str]]:
    view = make_view(events)
    asked = IntentQuery.model_validate({"text": "tea", **query})
    pool = recall(asked, view, view.lexical(analyze(asked.text)), None, limits)
    return {view.ids[row]: list(names) for row, names in zip(pool.rows.tolist(), pool.channels, strict=True)}


@given(arrays(np.float32, st.integers(0, 30), elements=st.sampled_from([0.0, 0.5, 1.0, 2.0])), st.integers(1, 12))
def test_top_rows_are_the_best_positive_ones_in_order(scores: np.ndarray, k: int) -> None:
    expected = [row for row in np.argsort(-scores, kind="stable").tolist() if scores[row] > 0][:k]
    assert top_rows(scores, k).tolist() == expected


def test_every_channel_names_what_it_proposed(make_view: MakeView) -> None:
    events: list[Event | str] = [
        Event(observation="before", session_id="s"),
        Event(observation="tea tea tea", session_id="s"),
        Event(observation="after", session_id="s"),
        "nothing to do with it",
        Event(observation="she met Oolong", entities=("Oolong",)),
        "the last one",
    ]
    found = names(make_view, events, target_entities=("oolong",))
    assert found == {"u1": ["neighbour"], "u2": ["lexical"], "u3": ["neighbour"], "u5": ["entity"], "u6": ["newest"]}


def test_the_active_set_brings_its_chain_and_what_shares_its_identifiers(make_view: MakeView) -> None:
    events: list[Event | str] = [
        *(Event(observation=f"step {n}", task_id="t") for n in range(5)),
        Event(observation="code AB123 elsewhere", task_id="other"),
        Event(observation="now AB123", task_id="t"),
        "the last one",
    ]
    found = names(make_view, events, active=("u7", "unknown"))
    assert found["u7"][0] == "active chain"
    assert {unit for unit, channels in found.items() if "active chain" in channels} == {"u4", "u5", "u7"}
    assert "identifier" in found["u6"]
    assert "u1" not in found


def test_limits_hold_for_every_channel(make_view: MakeView) -> None:
    events: list[Event | str] = [
        Event(observation=f"tea {n}", task_id="t" if n % 2 else "u", event_time=START + timedelta(days=n))
        for n in range(10)
    ]
    assert set(names(make_view, events, Recall(), task_id="t")) == {"u2", "u4", "u6", "u8", "u10"}
    assert set(names(make_view, events, Recall(), since=START + timedelta(days=8))) == {"u9", "u10"}
    assert names(make_view, events, Recall(), task_id="none") == {}


def test_the_pool_is_filled_with_the_newest_where_more_is_asked_for(make_view: MakeView) -> None:
    view = make_view([f"word {n}" for n in range(8)])
    query = IntentQuery(text="tea")
    pool = recall(query, view, view.lexical(analyze("tea")), None, LIMITS, at_least=4)
    assert [view.ids[row] for row in pool.rows] == ["u5", "u6", "u7", "u8"]
    assert list(pool.channels) == [("filler",), ("filler",), ("filler",), ("newest",)]
