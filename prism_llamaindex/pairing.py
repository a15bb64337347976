"""Which reply answers which call of a tool, and which calls were never made."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage

from prism_llamaindex.messages import is_held, reply_to, text_of, tool_calls


def answered(calls: Sequence[str], replies: Sequence[str]) -> list[int | None]:
    """Which call each reply answers, by place; None where it answers none of them.

    Ids may repeat, and models may leave them out: such replies come in the order of the calls.

    Args:
        calls: ids of the calls of one message.
        replies: ids that the replies right behind it name; empty where they name none.
    """
    open_places = list(range(len(calls)))
    found: list[int | None] = []
    for reply in replies:
        place = next((n for n in open_places if not reply or calls[n] == reply), None)
        if place is not None:
            open_places.remove(place)
        found.append(place)
    return found


def held_places(turn: Sequence[ChatMessage]) -> frozenset[int]:
    """Places of the calls that were answered with a warning, and so were not made.

    Args:
        turn: a message that calls tools, and the replies right behind it.
    """
    held = (place for place, each in zip(_places(turn), turn[1:], strict=True) if is_held(text_of(each)))
    return frozenset(place for place in held if place is not None)


def call_behind(turn: Sequence[ChatMessage]) -> tuple[str, str] | None:
    """Id and name of the tool whose call the last of the replies answers; None where it answers none of them.

    Args:
        turn: a message that calls tools, and the replies right behind it.
    """
    place = _places(turn)[-1] if len(turn) > 1 else None
    return None if place is None else tool_calls(turn[0])[place][:2]


def _places(turn: Sequence[ChatMessage]) -> list[int | None]:
    calls, replies = tool_calls(turn[0]), turn[1:]
    told = _told_of(calls, replies)
    rest = [place for place in range(len(calls)) if place not in told.values()]
    others = [number for number in range(len(replies)) if number not in told]
    found = answered([calls[place][0] for place in rest], [reply_to(replies[number]) or "" for number in others])
    paired = {number: None if n is None else rest[n] for number, n in zip(others, found, strict=True)}
    return [told.get(number, paired.get(number)) for number in range(len(replies))]


def _told_of(calls: Sequence[tuple[str, str, str]], replies: Sequence[ChatMessage]) -> dict[int, int]:
    """The calls that warnings name, by the places of both: tools that run side by side come back in any order."""
    found: dict[int, int] = {}
    for number, reply in enumerate(replies):
        text = text_of(reply)
        if not is_held(text):
            continue
        for place, (key, name, given) in enumerate(calls):
            if place not in found.values() and reply_to(reply) in ("", key) and f"{name}({given})" in text:
                found[number] = place
                break
    return found


def without_calls(message: ChatMessage, places: frozenset[int]) -> ChatMessage:
    """The message without some of its calls; what was said beside them stays."""
    if not places:
        return message
    blocks, number = [], -1
    for block in message.blocks:
        number += isinstance(block, ToolCallBlock)
        if not isinstance(block, ToolCallBlock) or number not in places:
            blocks.append(block)
    given = message.additional_kwargs
    if number < 0:
        kept = [call for place, call in enumerate(given.get("tool_calls") or ()) if place not in places]
        given = {**given, "tool_calls": kept}
    return message.model_copy(update={"blocks": blocks, "additional_kwargs": given})
