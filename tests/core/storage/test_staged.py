from prism_core.storage.staged import StagedView
from prism_core.testing import make_unit
from prism_core.types import Link, MemoryUnit, Outcome, Relation


class Nothing:
    """A scope that holds one unit, u0, an open call of session s and task t."""

    held = make_unit("u0", action="f(A123)", observation="", tool_call_id="c", session_id="s", task_id="t", step_id="1")

    def unit(self, unit_id: str) -> MemoryUnit:
        return {"u0": self.held}[unit_id]

    def known(self, unit_id: str) -> str | None:
        return unit_id if unit_id == "u0" else None

    def find_key(self, idempotency_key: str) -> str | None:
        return "u0" if idempotency_key == "k0" else None

    def find_text(self, kind: str, text: str) -> str | None:
        return None

    def last_in_task(self, task_id: str) -> str | None:
        return "u0" if task_id == "t" else None

    def last_in_session(self, session_id: str) -> str | None:
        return "u0" if session_id == "s" else None

    def step(self, task_id: str | None, step_id: str) -> str | None:
        return "u0" if (task_id, step_id) == ("t", "1") else None

    def open_calls(self, session_id: str | None, tool_call_id: str) -> dict[str, int]:
        return {"u0": 1} if (session_id, tool_call_id) == ("s", "c") else {}

    def turn(self, session_id: str | None) -> int:
        return int(session_id == "s")

    def last_taken(self, action_type: str, task_id: str | None, session_id: str | None) -> str | None:
        return "u0" if (action_type, task_id) == ("f", "t") else None

    def last_failure(self, task_id: str | None, session_id: str | None) -> str | None:
        return "u0" if task_id == "t" else None

    def same_action(self, task_id: str | None, action: str) -> str | None:
        return "u0" if (task_id, action) == ("t", "f(A123)") else None

    def holders(self, value: str, task_id: str | None, session_id: str | None) -> list[str]:
        return ["u0"] if (value, task_id) == ("A123", "t") else []

    def spread(self, identifier: str) -> int:
        return int(identifier == "A123")

    def recent(self, task_id: str | None, session_id: str | None, limit: int) -> list[MemoryUnit]:
        return []

    def facts_about(self, entity: str, attribute: str) -> list[MemoryUnit]:
        return []

    def facts_valued(self, entity: str, value: str) -> list[MemoryUnit]:
        return []

    def links_to(self, unit_id: str, relation: Relation) -> list[Link]:
        return []


def test_staged_units_come_before_stored_ones() -> None:
    view = StagedView(Nothing())
    assert view.last_in_task("t") == view.last_in_session("s") == "u0"
    assert list(view.open_calls("s", "c")) == ["u0"]
    unit = make_unit("u1", action="f(A123)", observation="", tool_call_id="c", session_id="s", task_id="t", step_id="1")
    view.stage(unit, "k1")
    assert view.unit("u1") is unit
    assert view.known("u1") == view.find_key("k1") == view.last_in_task("t") == view.last_in_session("s") == "u1"
    assert view.step("t", "1") == view.same_action("t", "f(A123)") == "u1"
    assert list(view.open_calls("s", "c")) == ["u0", "u1"]
    assert view.holders("A123", "t", None) == ["u0", "u1"]
    assert view.holders("A123", None, "s") == []
    assert view.spread("A123") == 2
    view.stage(make_unit("u2", "B456 came up", session_id="x"), None)
    assert view.holders("B456", None, "x") == view.holders("came", None, "x") == ["u2"]
    assert view.holders("came", None, None) == []
    assert view.find_key("k0") == "u0"
    assert view.find_text("message", "F(A123)") == "u1"
    assert view.find_text("fact", "f(A123)") is None


def test_an_answered_call_is_no_longer_open() -> None:
    view = StagedView(Nothing())
    answered = Nothing.held.model_copy(update={"observation": "found"})
    view.stage(answered, None)
    assert list(view.open_calls("s", "c")) == []
    assert view.unit("u0").observation == "found"
    assert view.last_in_task("t") == "u0"
    silent = make_unit("u2", action="g()", observation="", tool_call_id="d", session_id="s")
    view.stage(silent, None)
    view.stage(silent.model_copy(update={"outcome": Outcome.SUCCESS}), None)
    assert list(view.open_calls("s", "d")) == []


def test_calls_of_one_turn_are_told_from_earlier_ones() -> None:
    view = StagedView(Nothing())
    view.stage(make_unit("u1", action="f(B)", observation="", tool_call_id="c", session_id="s"), None)
    view.stage(make_unit("u2", "never mind", session_id="s"), None)
    view.stage(make_unit("u3", action="f(C)", observation="", tool_call_id="c", session_id="s"), None)
    assert view.open_calls("s", "c") == {"u0": 1, "u1": 1, "u3": 2}
    assert (view.turn("s"), view.turn("x")) == (2, 0)


def test_the_latest_of_its_kind_is_staged_or_stored() -> None:
    view = StagedView(Nothing())
    assert view.last_taken("f", "t", None) == view.last_failure("t", None) == "u0"
    assert view.last_taken("g", "t", None) is None
    view.stage(make_unit("u1", action="g()", action_type="g", outcome="failure", task_id="t"), None)
    assert view.last_taken("g", "t", None) == view.last_failure("t", None) == "u1"
    assert view.last_taken("f", "t", None) == "u0"
    assert view.same_action("t", " g( ) ") == "u1"


def test_a_stored_unit_that_grows_comes_before_new_ones() -> None:
    view = StagedView(Nothing())
    view.stage(make_unit("u1", "Z9999 is new", task_id="t"), None)
    view.stage(Nothing.held.model_copy(update={"observation": "Z9999 was found"}), None)
    assert view.holders("Z9999", "t", None) == ["u0", "u1"]
