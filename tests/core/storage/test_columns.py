from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from prism_core.storage.columns import UnitColumns
from prism_core.types import Kind, MemoryUnit, Outcome, Status

START = datetime(2026, 5, 1, tzinfo=UTC)


def unit(row: int, minute: int = 0, *, session: str | None = "s", **fields: object) -> MemoryUnit:
    return MemoryUnit.model_validate(
        {
            "id": f"u{row}",
            "scope": ("a",),
            "observation": "hello",
            "session_id": session,
            "event_time": START + timedelta(minutes=minute),
            "recorded_at": START,
            "importance": 0.5,
            **fields,
        }
    )


@given(st.lists(st.integers(0, 9), max_size=20))
def test_neighbours_follow_event_time_whatever_the_order_of_arrival(minutes: list[int]) -> None:
    columns = UnitColumns()
    for row, minute in enumerate(minutes):
        assert columns.append(unit(row, minute), 3, 2) == row
    expected = sorted(range(len(minutes)), key=lambda row: (minutes[row], row))
    assert columns.session_rows("s").tolist() == expected
    for place, row in enumerate(expected):
        assert columns.previous[row] == (expected[place - 1] if place else -1)
        assert columns.following[row] == (expected[place + 1] if place + 1 < len(expected) else -1)


def test_units_of_other_sessions_and_without_one_are_no_neighbours() -> None:
    columns = UnitColumns()
    for row, session in enumerate(["s", "t", None, "s"]):
        columns.append(unit(row, row, session=session), 3, 2)
    assert columns.previous.tolist() == [-1, -1, -1, 0]
    assert columns.following.tolist() == [3, -1, -1, -1]
    assert columns.session.tolist() == [0, 1, -1, 0]
    assert columns.last_in_session("s") == 3
    assert columns.last_in_session("unknown") == -1


def test_columns_grow_and_take_over_changed_values() -> None:
    columns = UnitColumns()
    for row in range(40):
        columns.append(unit(row, row, task_id="t", speaker="Ann"), row, 2)
    assert len(columns) == len(columns.times) == 40
    assert columns.tokens.tolist() == list(range(40))
    assert columns.task_rows("t").tolist() == list(range(40))
    columns.update(
        7, unit(7, status=Status.SUPERSEDED, outcome=Outcome.FAILURE, importance=1.0, kind=Kind.STEP), 99, 50
    )
    assert (columns.tokens[7], columns.importance[7]) == (99, 1.0)
    assert not columns.current[7]
    assert columns.failed[7]
    assert columns.step[7]
    assert columns.current[8]


def test_questions_are_told_by_their_mark() -> None:
    columns = UnitColumns()
    for row, text in enumerate(["Really? ", "No.", "你好吗", "call(?)"]):
        columns.append(unit(row, row, observation=text), 3, 2)
    columns.append(unit(4, 4, kind=Kind.STEP, action="ask()", observation="what?"), 3, 2)
    assert columns.question.tolist() == [True, False, True, False, False]
