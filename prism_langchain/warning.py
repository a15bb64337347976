"""Saying that a call failed before, in place of making it again."""

from __future__ import annotations

from dataclasses import dataclass

from langchain.tools.tool_node import ToolCallRequest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from prism_core import PrismMemory
from prism_langchain.messages import HELD, OWN_TOOLS, call_events, held_back, turn_start
from prism_langchain.places import Place
from prism_langchain.problems import Watch

ADVICE = "It was not made now. Do something else, or make the same call again if you have reason to think it will work."


@dataclass(frozen=True, slots=True)
class PrecedentWarner:
    """Holds a call back, once a turn, whose very same action failed before and has not succeeded since.

    Attributes:
        memory: what is asked.
        watch: is told what could not be looked up; the call is then made.
    """

    memory: PrismMemory
    watch: Watch

    def reply(self, request: ToolCallRequest, place: Place) -> ToolMessage | None:
        """What the model is told in place of the tool's result; None where the call is to be made.

        Args:
            request: the call.
            place: whose memory.
        """
        call = request.tool_call
        if call["name"] in OWN_TOOLS:
            return None
        with self.watch.over("warn", place.scope):
            events = call_events(AIMessage("", tool_calls=[call]), None, call, None, place)
            action = events[0].action if events else None
            if action is None or action in held_back(_turn(request)).values():
                return None
            told = self.memory.before(action, scope=place.scope).render()
            if told:
                marked = {HELD: action}
                text = f"{told}\n{ADVICE}"
                return ToolMessage(
                    text, tool_call_id=call["id"] or "", name=call["name"], status="error", additional_kwargs=marked
                )
        return None


def _turn(request: ToolCallRequest) -> list[BaseMessage]:
    messages = request.state.get("messages", ()) if isinstance(request.state, dict) else ()
    return list(messages)[turn_start(messages) :]
