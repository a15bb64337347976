"""Whether an action was tried before, and why it failed: said before it is tried again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from prism_core import Outcome, PrismMemory
from prism_core.errors import QueryError, ScopeError
from prism_core.testing import CountingIds, ScriptedClock

SCOPE = ("acme", "ann")


@pytest.fixture
def memory() -> Iterator[PrismMemory]:
    with PrismMemory.open(embedder=None, clock=ScriptedClock(), new_id=CountingIds()) as opened:
        yield opened


def step(memory: PrismMemory, action: str, observation: str, **fields: str) -> str:
    event = {"kind": "step", "source": "assistant", "action": action, "observation": observation, **fields}
    return str(memory.write(event, scope=SCOPE).unit_id)


def test_A32_a_failed_call_is_told_before_it_is_made_again_in_another_session(memory: PrismMemory) -> None:
    failed = step(memory, 'book({"offer": "HS-4471", "nights": 2})', "Error: HS-4471 is sold out", session_id="monday")
    found = memory.before('book( {"nights": 2, "offer": "HS-4471"} )', scope=SCOPE)
    assert found.failed is not None
    assert found.failed.id == failed
    assert "was tried before, last on" in found.render()
    assert found.render().endswith("and failed: Error: HS-4471 is sold out")


@pytest.mark.parametrize(
    "action", ['book({"offer": "HS-4472", "nights": 2})', 'look({"offer": "HS-4471", "nights": 2})', "wait"]
)
def test_another_action_has_no_precedent(memory: PrismMemory, action: str) -> None:
    step(memory, 'book({"offer": "HS-4471", "nights": 2})', "Error: HS-4471 is sold out")
    found = memory.before(action, scope=SCOPE)
    assert (found.units, found.failed, found.render()) == ((), None, "")


def test_a_success_since_takes_the_warning_back_and_another_failure_brings_it(memory: PrismMemory) -> None:
    step(memory, "deploy()", "Error: timeout")
    step(memory, "deploy()", "deployed successfully")
    assert memory.before("deploy()", scope=SCOPE).failed is None
    step(memory, "deploy()", "Error: no space")
    found = memory.before("deploy()", scope=SCOPE)
    assert [unit.outcome for unit in found.units] == [Outcome.FAILURE, Outcome.SUCCESS, Outcome.FAILURE]
    assert ", 2 times, last on" in found.render()
    assert found.render().endswith("no space")


def test_what_is_no_call_is_compared_by_its_words(memory: PrismMemory) -> None:
    step(memory, "Restart the  database", "Error: permission denied")
    assert memory.before("restart the database", scope=SCOPE).failed is not None


def test_tasks_and_scopes_are_kept_apart(memory: PrismMemory) -> None:
    step(memory, "deploy()", "Error: timeout", task_id="a")
    assert memory.before("deploy()", scope=SCOPE, task_id="a").failed is not None
    assert memory.before("deploy()", scope=SCOPE, task_id="b").failed is None
    assert memory.before("deploy()", scope="other").failed is None


def test_what_a_tool_said_is_one_line_and_short(memory: PrismMemory) -> None:
    step(memory, "deploy()", "Error: line\n" * 400)
    assert "\n" not in memory.before("deploy()", scope=SCOPE).render()
    assert len(memory.before("deploy()", scope=SCOPE).render()) < 400


@pytest.mark.parametrize("action", ["", "  ", None, 5])
def test_no_action_is_refused(memory: PrismMemory, action: object) -> None:
    with pytest.raises(QueryError, match="action"):
        memory.before(action, scope=SCOPE)  # type: ignore[arg-type]  # wrong values are the point
    with pytest.raises(ScopeError):
        memory.before("deploy()", scope="")
