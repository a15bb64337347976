# %% [markdown]
# # One service agent, many customers
#
# One agent and one memory serve everybody. Whose memory is read and written is decided by the runtime context of each
# run, and a scope is a wall: no ranking, count or explanation ever looks over it. Extra: `[agent]`.

# %%
from dataclasses import dataclass

from langchain.agents import create_agent
from langchain_core.tools import tool
from offline import ScriptedChatModel, memories_in

from prism_core import PrismMemory
from prism_langchain import PrismMemoryMiddleware, scope_from_context


@dataclass
class Customer:
    tenant: str
    user_id: str


@tool
def find_order(number: str) -> str:
    """Look up an order."""
    return {"R-7781": "R-7781: blue kettle, shipped to Oslo", "R-9034": "R-9034: red lamp, waiting"}[number]


# %% [markdown]
# ## The model
# Scripted, so that this runs anywhere; change one line for a real one.


# %%
def script(said: str, results: list[str]) -> str | list[tuple[str, dict]]:
    question, _, memories = said.partition("<past_experience>")
    if results:
        return "Done." if "erased" in results[-1].lower() else results[-1]
    if "Forget" in question:
        wanted = [unit.id for unit in memory.units(scope=("shop", "ann")) if "allergic" in unit.text]
        return [("forget_memory", {"memory_ids": wanted})]
    if number := next((word.strip(".,?") for word in question.split() if word.startswith("R-")), None):
        return [("find_order", {"number": number})]
    return (
        "From your history:" + memories.partition("</past_experience>")[0] if memories else "I know nothing about you."
    )


# from langchain_openai import ChatOpenAI; model = ChatOpenAI(model="gpt-4o-mini")
# from langchain_ollama import ChatOllama; model = ChatOllama(model="qwen3")
model = ScriptedChatModel(script=script)  # one of the lines above, in place of this one, asks a real model

# %% [markdown]
# ## The agent
# `scope_from_context` reads tenant and user from the runtime context. A run without them ends with `ScopeError` before
# anything is read or written. `forget_memory` is a tool that the agent only has when it is named.

# %%
memory = PrismMemory.open()
agent = create_agent(
    model,
    [find_order],
    middleware=[
        PrismMemoryMiddleware(
            memory,
            scope=scope_from_context("tenant", "user_id"),
            budget=300,
            own_tools=["recall_memory", "forget_memory"],
        )
    ],
    context_schema=Customer,
)


def ask(user: str, thread: str, text: str) -> str:
    result = agent.invoke(
        {"messages": [("user", text)]}, {"configurable": {"thread_id": thread}}, context=Customer("shop", user)
    )
    answer = result["messages"][-1].text
    print(f"\n[{user}, {thread}] {text}\n  {answer}")
    return answer


ask("ann", "ann-1", "Where is my order R-7781? And note that I am allergic to nickel.")
ask("bob", "bob-1", "What about order R-9034?")

# %% [markdown]
# ## A new thread knows its own customer, and nobody else
# The thread is new and empty; what comes back comes from the memory.

# %%
ask("ann", "ann-2", "Which order did I ask about, and what am I allergic to?")
ask("bob", "bob-2", "Which order did I ask about, and what am I allergic to?")
ask("eve", "eve-1", "Which order did I ask about?")
print(
    "\nAnn's kettle in Bob's prompt:",
    "kettle" in memories_in(model.seen[-2]) if isinstance(model, ScriptedChatModel) else "-",
)

# %% [markdown]
# ## Forgetting is erasing
# The customer asks, the agent calls `forget_memory`, and the ledger, every index and the log are rid of it.

# %%
before = len(memory.units(scope=("shop", "ann")))
ask("ann", "ann-3", "Forget what I said about my allergy.")
left = [unit.text for unit in memory.units(scope=("shop", "ann")) if "nickel" in unit.text]
print(
    f"\nunits of Ann: {before} before, {len(memory.units(scope=('shop', 'ann')))} after; with nickel in it: {len(left)}"
)
