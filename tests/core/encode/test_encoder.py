from __future__ import annotations

from collections.abc import Sequence

import pytest

from prism_core import Event, Kind, PrismMemory, ReceiptStatus, Source
from tests.core.encode.conftest import did, user


def reply(text: str, call_id: str = "c") -> Event:
    return Event(kind=Kind.STEP, observation=text, source=Source.TOOL, tool_call_id=call_id, session_id="s")


def observed(events: Sequence[Event], *, at_once: bool) -> dict[str, str]:
    with PrismMemory.open(embedder=None) as memory:
        for batch in [list(events)] if at_once else [[event] for event in events]:
            memory.write_many(batch, scope="a")
        return {unit.action: unit.observation for unit in memory.units(scope="a") if unit.action}


@pytest.mark.parametrize("at_once", [True, False])
class TestRepeatedCallIds:
    """Some hosts give no ids, the tool's name, or ids that repeat; replies to calls made together keep their order."""

    def test_replies_to_calls_made_together_come_in_their_order(self, at_once: bool) -> None:
        calls = [did(f"f({n})", tool_call_id="c") for n in range(3)]
        events = [user("go"), *calls, *(reply(f"answer {n}") for n in range(3))]
        assert observed(events, at_once=at_once) == {f"f({n})": f"answer {n}" for n in range(3)}

    def test_a_call_that_was_given_up_takes_no_later_reply(self, at_once: bool) -> None:
        calls = [did(f"f({n})", tool_call_id="c") for n in range(3)]
        events = [calls[0], user("stop, do the other"), *calls[1:], reply("one"), reply("two")]
        assert observed(events, at_once=at_once) == {"f(0)": "", "f(1)": "one", "f(2)": "two"}

    def test_a_late_reply_finds_the_only_open_call(self, at_once: bool) -> None:
        events = [did("f(0)", tool_call_id="c"), user("how long does it take?"), reply("done")]
        assert observed(events, at_once=at_once) == {"f(0)": "done"}

    def test_ids_that_are_used_again_after_their_reply(self, at_once: bool) -> None:
        events = [event for n in range(2) for event in (did(f"f({n})", tool_call_id="c"), reply(f"answer {n}"))]
        assert observed(events, at_once=at_once) == {"f(0)": "answer 0", "f(1)": "answer 1"}


def test_a_reply_after_reopening_still_finds_its_turn(tmp_path: object) -> None:
    with PrismMemory.open(str(tmp_path), embedder=None) as memory:
        first = did("f(0)", tool_call_id="c")
        memory.write_many([first, user("stop"), did("f(1)", tool_call_id="c")], scope="a")
        memory.write(did("f(2)", tool_call_id="c"), scope="a")
    with PrismMemory.open(str(tmp_path), embedder=None) as memory:
        receipt = memory.write(reply("one"), scope="a")
        assert receipt.status is ReceiptStatus.JOINED
        assert memory.get(str(receipt.unit_id), scope="a").action == "f(1)"
