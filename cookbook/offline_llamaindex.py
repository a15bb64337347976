"""Models that follow a script, so that the recipes for LlamaIndex run without a key and without a network.

A recipe swaps one for a real model by the one line that makes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM

Script = Callable[[Sequence[ChatMessage]], str | ToolCallBlock]


def scripted(script: Script) -> FunctionCallingLLM:
    """A model that says what `script` makes of the messages it is sent: words, or the call of a tool."""

    def respond(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        said = script(messages)
        blocks = {"content": said} if isinstance(said, str) else {"blocks": [said]}
        return ChatMessage(role=MessageRole.ASSISTANT, **blocks)

    return MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)


def call(messages: Sequence[ChatMessage], tool: str, **arguments: Any) -> ToolCallBlock:
    """A call with an id of its own: which turn, which call of it."""
    asked = sum(message.role is MessageRole.USER for message in messages)
    return ToolCallBlock(tool_call_id=f"{tool}-{asked}-{len(messages)}", tool_name=tool, tool_kwargs=arguments)


def told(messages: Sequence[ChatMessage]) -> str:
    """The user's last message, with what the memory put behind it."""
    return next((str(m.content) for m in reversed(messages) if m.role is MessageRole.USER), "")


def results(messages: Sequence[ChatMessage]) -> list[str]:
    """What tools have answered since the user spoke, oldest first."""
    since: list[str] = []
    for message in reversed(messages):
        if message.role is MessageRole.USER:
            break
        if message.role is MessageRole.TOOL:
            since.append(str(message.content))
    return since[::-1]


def researcher() -> FunctionCallingLLM:
    """Searches, reads every paper found, and says so; compares from what it is shown of earlier readings."""

    def script(messages: Sequence[ChatMessage]) -> str | ToolCallBlock:
        question, answers = told(messages), results(messages)
        if question.startswith("Compare"):
            budgets = re.findall(r"within (\d+) tokens", question)
            return f"They differ in what they spend: {' against '.join(budgets)} tokens." if budgets else "Of what?"
        if not answers:
            return call(messages, "search_papers", topic="long-term memory of agents")
        unread = re.findall(r"paper-[ab]", answers[0])[len(answers) - 1 :]
        return call(messages, "read_paper", paper_id=unread[0]) if unread else "I have read both papers."

    return scripted(script)


def supporter() -> FunctionCallingLLM:
    """Looks up the FAQ, finds the order, refunds it; answers about a refund from what it is shown."""

    def script(messages: Sequence[ChatMessage]) -> str | ToolCallBlock:
        question, answers = told(messages), results(messages)
        if "Where is my refund" in question:
            number = re.search(r"refund (RF-\d+)", question)
            days = re.search(r"within (\w+) working days", question)
            if number is None or days is None:
                return "Which refund do you mean?"
            return f"Your refund {number[1]} is under way; it arrives within {days[1]} working days."
        email = re.search(r"[\w.]+@[\w.]+\w", question)
        match len(answers):
            case 0:
                return call(messages, "search_faq", input="article arrived broken, money back")
            case 1:
                return call(messages, "find_order", email=email[0] if email else "")
            case 2:
                return call(messages, "refund_order", order_id=re.findall(r"O-\d+", answers[1])[0])
            case 3:
                return call(messages, "email_receipt", refund_id=re.findall(r"RF-\d+", answers[2])[0])
        return "I have refunded it and sent you the receipt."

    return scripted(script)


def host() -> FunctionCallingLLM:
    """Suggests a cake, and knows of an allergy where it is shown one."""

    def script(messages: Sequence[ChatMessage]) -> str:
        seen = "\n".join(str(message.content) for message in messages)
        if "cake" not in told(messages):
            return "I will keep it in mind."
        return "Almond cake: no hazelnuts." if "allergic to hazelnuts" in seen else "Hazelnut cake."

    return scripted(script)
