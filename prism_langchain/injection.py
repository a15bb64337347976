"""Where a block of memories stands in what the model is sent. The messages of the thread are never changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from langchain_core.messages import BaseMessage, SystemMessage

from prism_langchain.messages import last_user

M = TypeVar("M", bound=BaseMessage)


def with_memory(messages: Sequence[M], block: str) -> list[M]:
    """The messages with a block at the end of the user's last one.

    The message keeps its id, name and parts, images included: text stays text, and a list of parts gets one more.

    Args:
        messages: of a thread; not changed.
        block: what to add; nothing when empty, or where nobody speaks in the user's role.

    Returns:
        A new list.
    """
    place = last_user(messages)
    if place is None or not block:
        return list(messages)
    return [*messages[:place], _extended(messages[place], block), *messages[place + 1 :]]


def with_system_memory(message: SystemMessage | None, block: str) -> SystemMessage | None:
    """The system message with a block as its last part; one of the block alone where there was none."""
    if not block:
        return message
    return SystemMessage(block) if message is None else _extended(message, block)


def _extended(message: M, block: str) -> M:
    content = message.content
    if isinstance(content, str):
        added: object = f"{content}\n\n{block}" if content else block
    else:
        added = [*content, {"type": "text", "text": block}]
    return message.model_copy(update={"content": added})
