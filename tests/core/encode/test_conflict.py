from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from prism_core.encode.conflict import ConflictRules, certainty, resolve
from prism_core.testing import make_unit
from prism_core.types import Fact, Kind, MemoryUnit, Source, Statement, Status

START = datetime(2026, 5, 1, tzinfo=UTC)


def said(day: int, *, by: Source = Source.USER, correction: bool = False, ends: bool = False) -> Statement:
    instant = START + timedelta(days=day)
    return Statement(
        unit_id=f"m{day}", event_time=instant, recorded_at=instant, source=by, correction=correction, ends=ends
    )


def fact(value: str, *statements: Statement) -> MemoryUnit:
    about = Fact(entity="user", attribute="home", value=value, statements=statements)
    return make_unit(value, kind=Kind.FACT, fact=about)


def holds(*facts: MemoryUnit) -> str | None:
    return resolve(facts, ConflictRules()).current


def test_the_later_value_holds_and_the_earlier_is_kept() -> None:
    resolution = resolve([fact("Paris", said(1)), fact("Rome", said(5))], ConflictRules())
    assert resolution.status == {"Paris": Status.SUPERSEDED, "Rome": Status.CURRENT}
    assert [(each.unit_id, each.until) for each in resolution.periods] == [
        ("Paris", START + timedelta(days=5)),
        ("Rome", None),
    ]
    assert resolution.at(START + timedelta(days=3)) == "Paris"
    assert resolution.at(START + timedelta(days=9)) == "Rome"
    assert resolution.at(START) is None


def test_each_statement_of_a_user_halves_the_doubt_and_nobody_elses_does() -> None:
    assert certainty([said(1)]) == 0.8
    assert round(certainty([said(1), said(2), said(3)]), 3) == 0.95
    repeated = [said(day, by=Source.ASSISTANT) for day in range(9)]
    assert certainty(repeated) == certainty(repeated[:1]) < 0.8
    assert certainty([said(1), *repeated]) == 0.8
    assert certainty([said(1), said(1)]) == 0.8


def test_what_is_well_known_is_disputed_by_a_single_word_and_gives_way_to_two() -> None:
    known = fact("Paris", said(1), said(2), said(3))
    once = resolve([known, fact("Rome", said(5))], ConflictRules())
    assert once.status == {"Paris": Status.CURRENT, "Rome": Status.DISPUTED}
    assert holds(known, fact("Rome", said(5), said(6))) == "Rome"
    assert holds(known, fact("Rome", said(5, correction=True))) == "Rome"
    again = resolve([fact("Paris", said(1), said(2), said(3), said(7)), fact("Rome", said(5))], ConflictRules())
    assert again.status == {"Paris": Status.CURRENT, "Rome": Status.SUPERSEDED}


def test_an_assistant_takes_nothing_from_a_user() -> None:
    resolution = resolve([fact("Paris", said(1)), fact("Rome", said(5, by=Source.ASSISTANT))], ConflictRules())
    assert resolution.status == {"Paris": Status.CURRENT, "Rome": Status.DISPUTED}
    assert holds(fact("Rome", said(1, by=Source.ASSISTANT)), fact("Paris", said(5))) == "Paris"


def test_a_value_may_end_and_come_back() -> None:
    ended = resolve([fact("Paris", said(1), said(4, ends=True))], ConflictRules())
    assert ended.current is None
    assert ended.at(START + timedelta(days=2)) == "Paris"
    assert holds(fact("Paris", said(1), said(9)), fact("Rome", said(5))) == "Paris"


def test_what_was_recorded_later_is_not_looked_at() -> None:
    late = Statement(unit_id="late", event_time=START, recorded_at=START + timedelta(days=30), source=Source.USER)
    facts = [fact("Paris", said(1)), fact("Rome", late)]
    assert resolve(facts, ConflictRules(), as_of=START + timedelta(days=2)).status == {"Paris": Status.CURRENT}
    assert resolve(facts, ConflictRules()).status["Rome"] is Status.SUPERSEDED


STATEMENTS = st.lists(
    st.tuples(
        st.sampled_from(["Paris", "Rome", "Oslo"]),
        st.integers(0, 6),
        st.sampled_from(list(Source)),
        st.booleans(),
        st.booleans(),
    ),
    min_size=1,
    max_size=10,
)


@settings(max_examples=300, deadline=None)
@given(STATEMENTS, st.randoms())
def test_the_order_of_arrival_does_not_matter(
    rows: Sequence[tuple[str, int, Source, bool, bool]], random: "st.DrawFn"
) -> None:
    def facts(order: Sequence[tuple[str, int, Source, bool, bool]]) -> list[MemoryUnit]:
        values: dict[str, list[Statement]] = {}
        for value, day, by, correction, ends in order:
            values.setdefault(value, []).append(said(day, by=by, correction=correction, ends=ends))
        return [fact(value, *statements) for value, statements in values.items()]

    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (resolve(facts(order), ConflictRules()) for order in (rows, shuffled))
    assert (one.status, one.confidence, one.periods) == (other.status, other.confidence, other.periods)
    assert sum(status is Status.CURRENT for status in one.status.values()) <= 1
