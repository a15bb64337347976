from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from prism_core.changes import FloatArray
from prism_core.retrieve import signals
from prism_core.retrieve.coherence import coherence, shared_identifiers
from prism_core.retrieve.signals import Evidence
from prism_core.retrieve.supply import SupplyWeights, supply
from prism_core.storage.state import ScopeState
from prism_core.text import analyze
from prism_core.types import Event, Kind, Source

MakeView = Callable[[Sequence[Event | str]], ScopeState]
START = datetime(2026, 5, 1, tzinfo=UTC)


def said(text: str, speaker: str, minute: int, session: str = "s") -> Event:
    return Event(observation=text, speaker=speaker, session_id=session, event_time=START + timedelta(minutes=minute))


def evidence(view: ScopeState, question: str) -> Evidence:
    terms = analyze(question)
    return Evidence(view, np.arange(len(view)), view.lexical(terms), terms, None)


def test_scaling_is_bounded_and_survives_nothing() -> None:
    assert signals.scaled(np.array([-1, 0, 2, 4], dtype=np.float32)).tolist() == [0, 0, 0.5, 1]
    assert signals.scaled(np.array([-1, 0], dtype=np.float32)).tolist() == [0, 0]
    assert signals.scaled(np.empty(0, dtype=np.float32)).tolist() == []


def test_words_count_less_beside_vectors_where_no_unit_holds_many_of_the_question(make_view: MakeView) -> None:
    view = make_view(["the red bicycle is in the garage", "lunch with Ann on Monday"])

    def weight(question: str, vector: FloatArray | None) -> float:
        terms = analyze(question)
        return signals.weight_of_words(Evidence(view, np.arange(2), view.lexical(terms), terms, vector))

    vector = np.ones(3, dtype=np.float32)
    small_talk = "I feel so happy today, the garage smells like summer and my friends visit"
    assert weight("Is the red bicycle in the garage?", vector) == 1.0
    assert 0.0 < weight(small_talk, vector) < 0.5
    assert weight(small_talk, None) == 1.0
    assert weight("Wann kommt der Zug?", vector) == weight("", vector) == 0.0


def test_only_what_rises_above_the_ground_of_the_embedder_counts() -> None:
    wide = np.array([-0.1, 0.0, 0.05, 0.1, 0.6] * 2, dtype=np.float32)
    # The ground of the wide one is below 0, where nothing is subtracted.
    assert signals.above_ground(wide, wide).tolist() == np.clip(wide, 0, None).tolist()
    narrow = np.array([0.7, 0.8, 0.82, 0.84, 0.9] * 2, dtype=np.float32)
    raised = signals.above_ground(narrow, narrow)
    ground = 0.812 - signals.BELOW_MEAN * 0.06524
    np.testing.assert_allclose(raised[:5], [0, *(narrow[1:5] - ground)], atol=1e-4)
    assert signals.scaled(raised)[2] < 0.6 < 0.9 < signals.scaled(narrow)[2]


def test_the_scaling_of_similarities_does_not_depend_on_where_an_embedder_puts_them() -> None:
    values = np.array([0.3, 0.35, 0.4, 0.45, 0.9] * 2, dtype=np.float32)
    moved = 0.5 + 0.4 * values
    here, there = (signals.scaled(signals.above_ground(each, each)) for each in (values, moved))
    np.testing.assert_allclose(here, there, atol=1e-5)


def test_too_few_units_and_those_without_a_vector_say_nothing_about_the_ground() -> None:
    values = np.array([0.3, 0.35, 0.4, 0.45, 0.9] * 2, dtype=np.float32)
    with_others = np.append(values, np.zeros(5, dtype=np.float32))
    assert signals.above_ground(values, with_others).tolist() == signals.above_ground(values, values).tolist()
    assert signals.above_ground(values, values)[0] < values[0]
    assert signals.above_ground(values, np.append(values[1:], np.float32(0))).tolist() == values.tolist()
    assert signals.above_ground(values[:1], values[:1]).tolist() == values[:1].tolist()


def test_neighbours_are_turns_of_a_dialogue_near_in_time(make_view: MakeView) -> None:
    view = make_view(
        [
            said("a", "Ann", 0),
            said("b", "Bob", 1),
            said("c", "Ann", 500),
            said("note one", "Ann", 0, "notes"),
            said("note two", "Ann", 1, "notes"),
            "alone",
        ]
    )
    near = signals.around(evidence(view, "x"))
    assert near["after"].tolist() == [1, -1, -1, -1, -1, -1]
    assert near["before"].tolist() == [-1, 0, -1, -1, -1, -1]
    assert near["before 2"].tolist() == [-1] * 6


def test_the_only_named_speaker_of_several_counts(make_view: MakeView) -> None:
    view = make_view([said("tea", "Ann Lee", 0), said("tea", "Bob", 1)])
    assert signals.spoken_by_named(evidence(view, "tea"), "What did Ann Lee's aunt drink?").tolist() == [1, 0]
    assert signals.spoken_by_named(evidence(view, "tea"), "Did Ann Lee or Bob drink?").tolist() == [0, 0]
    assert signals.spoken_by_named(evidence(view, "tea"), "Who, Annie?").tolist() == [0, 0]
    alone = make_view([said("tea", "Ann", 0)])
    assert signals.spoken_by_named(evidence(alone, "tea"), "What did Ann drink?").tolist() == [0]


def test_dates_match_by_day_month_and_year(make_view: MakeView) -> None:
    may = datetime(2023, 5, 8, 12, tzinfo=UTC)
    view = make_view(
        [
            Event(observation="We met yesterday", event_time=may),
            Event(observation="on 7 May 2023 it rained", event_time=datetime(2024, 1, 1, tzinfo=UTC)),
            Event(observation="nothing", event_time=datetime(2023, 5, 7, 23, tzinfo=UTC)),
            Event(observation="last month", event_time=datetime(2023, 6, 20, tzinfo=UTC)),
            Event(observation="nothing", event_time=datetime(2021, 1, 1, tzinfo=UTC)),
        ]
    )

    def match(question: str) -> list[float]:
        return [round(float(value), 2) for value in signals.date_match(evidence(view, question), question)]

    assert match("What happened on 7 May 2023?") == [1, 1, 0.8, 0.7, 0]
    assert match("What happened in May 2023?") == [0.7, 0.7, 0.56, 0.7, 0]
    assert match("What happened in May?") == [0.7, 0.7, 0.56, 0.7, 0]
    assert match("What happened in 2021?") == [0, 0, 0, 0, 0.32]
    assert match("What happened?") == [0] * 5


def test_a_fitting_session_supports_its_units(make_view: MakeView) -> None:
    view = make_view(
        [said("tea", "Ann", 0), said("green tea", "Bob", 1), said("cake", "Ann", 2, "t"), "tea without a session"]
    )
    lexical, dense = signals.session_support(evidence(view, "green tea"), np.array([0.5, 0.2, 0.1, 0.9]))
    assert lexical.tolist() == [1, 1, 0, 0]
    assert np.allclose(dense, [1, 1, 0.2, 0])


def test_long_units_cost_and_short_ones_lean_on_their_neighbours() -> None:
    tokens = np.array([10, 100, 400, 100_000])
    assert signals.sparing(tokens).tolist() == [1, 1, 0.25, np.float32(0.001)]
    length = signals.lengthiness(tokens)
    assert length[:2].tolist() == [0, 0]
    assert 1.38 < length[2] < 1.39
    assert length[3] == 2.5
    assert signals.substance(np.array([0, 5, 10, 50])).tolist() == [0, 0.5, 1, 1]


def test_recency_tells_seconds_days_and_years_apart() -> None:
    for unit in (1.0, 86_400.0, 31_536_000.0):
        values = signals.recency(np.array([0.0, 1.0, 2.0, 4.0]) * unit)
        assert values[3] == 1
        assert (np.diff(values) > 0.05).all()
    assert signals.recency(np.zeros(2)).tolist() == [1, 1]
    assert signals.recency(np.empty(0)).tolist() == []


def test_coherence_falls_with_distance_and_is_nothing_where_unreachable(make_view: MakeView) -> None:
    view = make_view([*(Event(observation=f"step {n}", task_id="t") for n in range(6)), "elsewhere"])
    near = coherence(view, np.arange(7), np.array([5]))
    assert near[5] == 1
    assert (np.diff(near[:6]) > 0).all()
    assert near[6] == 0
    assert coherence(view, np.arange(7), np.array([], dtype=np.intp)).tolist() == [0] * 7


def test_rare_shared_identifiers_connect(make_view: MakeView) -> None:
    view = make_view(
        [
            *(Event(observation=f"common C000 in {n}", task_id=f"t{n}") for n in range(20)),
            Event(observation="rare R111 and C000", task_id="t1"),
            Event(observation="using R111, C000", task_id="t2"),
        ]
    )
    shared = shared_identifiers(view, np.arange(22), np.array([21]))
    assert shared[20] == shared[21] == 1
    assert shared[:20].tolist() == [0] * 20


def step(name: str, arguments: str, reply: str, task: str) -> Event:
    return Event(
        kind=Kind.STEP,
        action=f"{name}({arguments})",
        action_type=name,
        observation=reply,
        task_id=task,
        source=Source.ASSISTANT,
    )


def test_supply_learns_the_form_of_arguments_and_counts_a_value_once(make_view: MakeView) -> None:
    earlier = [step("pay", f'"card_{n}{n}{n}{n}"', "done", f"old {n}") for n in range(3)]
    own = [
        step("find", "", "flights AA101 AA102 AA103 AA104 AA105 AA106", "t"),
        step("user", "", "card_7777", "t"),
        step("again", "", "card_7777 once more", "t"),
        Event(observation="go on", task_id="t"),
    ]
    view = make_view([*earlier, *own])
    rows = np.arange(len(view))
    active = rows[-1:]
    near = coherence(view, rows, active)
    values = supply(view, rows, near, active, "pay", SupplyWeights())
    assert values[:3].tolist() == [0, 0, 0]
    assert values[4] == 1
    assert values[3] < 0.2
    assert values[5] < values[4]
    unknown = supply(view, rows, near, active, "dance", SupplyWeights())
    assert unknown.max() == 1
