# %% [markdown]
# # An agent that does not repeat a failed action
#
# An agent works for days. What failed on Monday is out of its sight on Tuesday, in a new thread, and so it tries the
# same again. With `warn=True` the memory holds such a call back before the tool runs, and says when and why it failed.
# Here the same two days pass twice, without the warning and with it. Extra: `[agent]`.

# %%
from langchain.agents import create_agent
from langchain_core.tools import tool
from offline import ScriptedChatModel

from prism_core import PrismMemory
from prism_langchain import PrismMemoryMiddleware

# %% [markdown]
# ## A tool that fails for some arguments
# It costs something each time: a request to a hotel that has no rooms.

# %%
requests: list[str] = []


@tool
def book_room(offer: str) -> str:
    """Book the room of an offer."""
    requests.append(offer)
    return f"Error: {offer} is sold out until Friday" if offer == "HS-4471" else f"booked {offer}"


# %% [markdown]
# ## The model
# It takes the cheapest offer first, gives up on an error, and takes the next one when it is told that the first was
# tried. Scripted, so that this runs anywhere; change one line for a real one.


# %%
def script(said: str, results: list[str]) -> str | list[tuple[str, dict]]:
    if not results:
        return [("book_room", {"offer": "HS-4471"})]
    if "was tried before" in results[-1]:
        return [("book_room", {"offer": "HS-2090"})]
    return "That did not work." if results[-1].startswith("Error") else f"Done: {results[-1]}."


# from langchain_openai import ChatOpenAI; model = ChatOpenAI(model="gpt-4o-mini")
# from langchain_ollama import ChatOllama; model = ChatOllama(model="qwen3")
model = ScriptedChatModel(script=script)  # one of the lines above, in place of this one, asks a real model


# %% [markdown]
# ## Two days, without the warning and with it
# Both agents have a memory and recall; only one is held back. Recall alone leaves it to the model whether it reads what
# it is shown, the warning comes in place of the result.


# %%
def two_days(memory: PrismMemory, user: str, warn: bool) -> None:
    middleware = PrismMemoryMiddleware(memory, scope=("agency", user), warn=warn)
    agent = create_agent(model, [book_room], middleware=[middleware])
    requests.clear()
    for thread in ("monday", "tuesday"):
        asked = {"messages": [("user", "Book a room in Lisbon.")]}
        result = agent.invoke(asked, {"configurable": {"thread_id": f"{user}-{thread}"}})
        print(f"{thread:<8} {result['messages'][-1].text}")
    print(f"requests to the hotels: {', '.join(requests)}\n")


memory = PrismMemory.open()
print("without the warning")
two_days(memory, "ann", warn=False)
print("with the warning")
two_days(memory, "bob", warn=True)

# %% [markdown]
# ## What the memory knows
# A call that was held back was not made, and is not stored. A failure and the success of another action are steps like
# any other, and `before` answers the same question for any agent. The warning ends with the first success of the very
# same call; a model that makes the call again after a warning is let through, because rooms may be free by then.

# %%
for unit in memory.units(scope=("agency", "bob")):
    if unit.action is not None:
        print(f"{unit.session_id:<12} {unit.action} {unit.outcome}")
print(memory.before('book_room({"offer": "HS-4471"})', scope=("agency", "bob")).render())

# %% [markdown]
# With LlamaIndex, `warned_tools(tools, memory, scope)` wraps the tools of an agent to the same end.
