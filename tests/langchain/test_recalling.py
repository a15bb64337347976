from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage

from prism_core import PrismMemory
from prism_core.errors import BudgetError
from prism_langchain import recalling
from prism_langchain.places import Place
from prism_langchain.problems import Watch
from prism_langchain.recalling import TurnRecall
from tests.langchain.agents import ALICE, know, plain_memory

PLACE = Place(ALICE, "t1")
BLUE = "The client wants the blue variant."
ASKS = HumanMessage("Which variant does the client want?", id="h1")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[PrismMemory]:
    with plain_memory(tmp_path) as opened:
        know(opened, BLUE)
        yield opened


def after_calls(*call_ids: str) -> list[BaseMessage]:
    """A turn in which these calls were made and answered."""
    made: list[BaseMessage] = [ASKS]
    for call_id in call_ids:
        call = ToolCall(name="stock", args={}, id=call_id, type="tool_call")
        made += [AIMessage("", id=f"a-{call_id}", tool_calls=[call]), ToolMessage("12", tool_call_id=call_id)]
    return made


def test_within_a_turn_it_is_asked_again_only_after_results(memory: PrismMemory) -> None:
    recall = TurnRecall(memory, 1000, Watch())
    first = recall.block(after_calls("c1"), PLACE)
    know(memory, "The client now wants the red variant.")
    assert recall.block(after_calls("c1"), PLACE) == first
    assert "red variant" in recall.block(after_calls("c1", "c2"), PLACE)


def test_turns_that_were_forgotten_are_recalled_again(memory: PrismMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recalling, "KEPT_TURNS", 1)
    recall = TurnRecall(memory, 1000, Watch())
    first = recall.block(after_calls("c1"), PLACE)
    recall.block(after_calls("c1"), Place(ALICE, "t2"))
    know(memory, "The client now wants the red variant.")
    assert recall.block(after_calls("c1"), PLACE) != first


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [SystemMessage("Be brief.")],
        [HumanMessage("")],
        [HumanMessage(f"<past_experience>\n- {BLUE}\n</past_experience>")],
    ],
)
def test_without_a_question_there_is_no_block(memory: PrismMemory, messages: list[BaseMessage]) -> None:
    assert TurnRecall(memory, 1000, Watch()).block(messages, PLACE) == ""


def test_the_block_keeps_its_budget(memory: PrismMemory) -> None:
    know(memory, *(f"The client wants variant number {number} as well." for number in range(50)))
    block = TurnRecall(memory, 120, Watch()).block([ASKS], PLACE)
    assert 0 < memory.counter.count(block) <= 120
    for budget in (0, -1, True, 2.5):
        with pytest.raises(BudgetError):
            TurnRecall(memory, budget, Watch())  # type: ignore[arg-type]
