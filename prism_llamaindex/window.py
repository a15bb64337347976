"""The part of a conversation that still fits the prompt, cut between turns."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.llms import ChatMessage, MessageRole

from prism_llamaindex.messages import reply_to, tool_calls

_INSTRUCTIONS = (MessageRole.SYSTEM, MessageRole.DEVELOPER)
SHARE = 0.75
"""Share of the limit that is filled after a cut, so that the next turns only append and the prompt's cache holds."""


def groups_of(messages: Sequence[ChatMessage]) -> list[list[int]]:
    """Indexes of messages that stay together: tool calls with their replies, everything else alone.

    Replies without a call are left out, and so are calls without a reply, unless they come last: models refuse both.
    """
    groups: list[list[int]] = []
    open_calls: list[str] = []
    for index, message in enumerate(messages):
        answered = reply_to(message)
        if answered is not None:
            # Where a model gives no ids, replies come in the order of the calls.
            if answered in open_calls or (open_calls and not answered):
                open_calls.remove(answered or open_calls[0])
                groups[-1].append(index)
            continue
        if open_calls:
            groups.pop()
        groups.append([index])
        open_calls = [key for key, _, _ in tool_calls(message)]
    return groups


def trimmed(messages: Sequence[ChatMessage], tokens: Sequence[int], limit: int, start: int = 0) -> list[int]:
    """Indexes of the messages that fit.

    Instructions always stay. Of the rest, the latest whole turns stay, a turn being what a user says and all that
    follows. Where the last turn alone is too long, its oldest steps go; what the user said and the latest step stay,
    however long they are: a model that refuses them says so, an empty prompt would not.

    Args:
        messages: the conversation, oldest first.
        tokens: of each message.
        limit: tokens they may take together.
        start: where the conversation was cut before; kept while it fits.
    """
    groups = groups_of(messages)
    fixed = [group for group in groups if messages[group[0]].role in _INSTRUCTIONS]
    rest = [group for group in groups if group not in fixed and group[0] >= start]
    sizes = {group[0]: sum(tokens[index] for index in group) for group in groups}
    left = limit - sum(sizes[group[0]] for group in fixed)
    if sum(sizes[group[0]] for group in rest) > left:
        rest = _latest(messages, rest, sizes, left)
    return sorted(index for group in [*fixed, *rest] for index in group)


def _latest(
    messages: Sequence[ChatMessage], groups: list[list[int]], sizes: dict[int, int], limit: int
) -> list[list[int]]:
    turns = [place for place, group in enumerate(groups) if messages[group[0]].role is MessageRole.USER]
    for place in turns:
        if sum(sizes[group[0]] for group in groups[place:]) <= limit * SHARE:
            return groups[place:]
    last = turns[-1] if turns else 0
    said, steps = groups[last : last + 1], groups[last + 1 :]
    while len(steps) > 1 and sum(sizes[group[0]] for group in [*said, *steps]) > limit:
        steps = steps[1:]
    return [*said, *steps]
