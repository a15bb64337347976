# %% [markdown]
# # A team of agents over one store
#
# A planner, a researcher and a writer work on one graph. Each has a memory of its own that the others cannot see, and
# all share a notebook: LangGraph's `BaseStore`, over one more scope of the same memory. Extra: `[agent]`.

# %%
from collections.abc import Callable
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from offline import ScriptedChatModel

from prism_core import Event, PrismMemory
from prism_langchain import PrismStore

# %% [markdown]
# ## The model
# One scripted model for all three; change the line for a real one.


# %%
def script(said: str, results: list[str]) -> str:
    role, _, rest = said.partition(": ")
    if role == "planner":
        return "1. ask for the visitor numbers 2. write two sentences"
    if role == "researcher":
        return "The museum had 41,200 visitors in October and 38,900 in September."
    return "Visitors rose to 41,200 in October." if "41,200" in rest else "There are no numbers yet."


# from langchain_openai import ChatOpenAI; model = ChatOpenAI(model="gpt-4o-mini")
# from langchain_ollama import ChatOllama; model = ChatOllama(model="qwen3")
model = ScriptedChatModel(script=script)  # one of the lines above, in place of this one, asks a real model

# %% [markdown]
# ## One memory, four scopes
# A scope is a wall. `("team", "planner")` and its like are the agents' own; `("team", "notebook")` is what they share.

# %%
memory = PrismMemory.open()
notebook = PrismStore(memory, scope=("team", "notebook"))


class State(TypedDict):
    task: str
    report: str


def agent(name: str, work: Callable[[str, BaseStore], str]) -> Callable[..., dict[str, str]]:
    """A node with a memory of its own: it recalls, works, and remembers what it did."""

    def node(state: State, *, store: BaseStore) -> dict[str, str]:
        recalled = memory.context(state["task"], scope=("team", name), budget=200).text
        answer = work(f"{name}: {state['task']}\n{recalled}", store)
        done = Event(kind="step", action=f"{name}({state['task']!r})", observation=answer, source="assistant")
        memory.write(done, scope=("team", name))
        return {"report": answer}

    return node


# %% [markdown]
# ## The three agents
# The notebook is searched by meaning and by words; `put` is durable when it returns, and another process sees it.


# %%
def plan(prompt: str, store: BaseStore) -> str:
    answer = model.invoke(prompt).text
    store.put(("plans",), "current", {"text": answer})
    return answer


def research(prompt: str, store: BaseStore) -> str:
    answer = model.invoke(prompt).text
    store.put(("findings", "museum"), "visitors", {"text": answer, "source": "ticket desk"})
    return answer


def write(prompt: str, store: BaseStore) -> str:
    found = store.search(("findings",), query="How many visitors did the museum have?", limit=2)
    notes = "\n".join(f"{item.value['text']} ({item.value['source']})" for item in found)
    return model.invoke(f"{prompt}\nFindings:\n{notes}").text


graph = StateGraph(State)
for name, work in {"planner": plan, "researcher": research, "writer": write}.items():
    graph.add_node(name, agent(name, work))
for before, after in [(START, "planner"), ("planner", "researcher"), ("researcher", "writer"), ("writer", END)]:
    graph.add_edge(before, after)
team = graph.compile(store=notebook)
result = team.invoke({"task": "Report on the museum's visitors in October", "report": ""})
print("report:", result["report"])

# %% [markdown]
# ## Who knows what
# The researcher remembers its own step, the writer its own; the notebook holds what was put there and nothing else.

# %%
for name in ("planner", "researcher", "writer"):
    print(f"{name:<11}", [unit.action for unit in memory.units(scope=("team", name))])
print("notebook   ", [(item.namespace, item.key) for item in notebook.search(())])
secret = memory.search("How many visitors had the museum?", scope=("team", "planner"), k=5)
print("the planner's own memory knows the number:", any("41,200" in unit.text for unit in secret.units))
