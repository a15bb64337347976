# %% [markdown]
# # A research assistant that remembers what it read
#
# On Monday an agent searches for papers and reads two of them. On Tuesday, in another thread, it is asked how the two
# differ. What it needs is what it *read*; that it searched is true and of no use. Extra: `[agent]`.

# %%
from langchain.agents import create_agent
from langchain_core.tools import tool
from offline import ScriptedChatModel, memories_in

from prism_core import PrismMemory
from prism_langchain import PrismMemoryMiddleware

# %% [markdown]
# ## Two tools
# A search that lists titles, and a reader that brings what a paper says.

# %%
PAPERS = {
    "paper_a": "Paper A stores an agent's steps as nodes of a temporal graph and retrieves by Pareto fronts over "
    "relevance, recency and coherence. On 300 tasks it needs 40 % fewer tokens than a full history.",
    "paper_b": "Paper B compresses the history into rolling summaries and retrieves nothing: the newest summary is "
    "always in the prompt. It is cheap, and forgets identifiers after three summaries.",
}


@tool
def search_papers(topic: str) -> str:
    """List papers on a topic."""
    return "3 results: paper_a, paper_b, paper_c"


@tool
def read_paper(name: str) -> str:
    """Read a paper."""
    return PAPERS[name]


# %% [markdown]
# ## The model
# Scripted here, so that the recipe runs anywhere. For a real one change the line that says so: `ChatOpenAI` from
# `langchain_openai` reads `OPENAI_API_KEY`; `ChatOllama` from `langchain_ollama` asks a model on your machine.


# %%
def script(said: str, results: list[str]) -> str | list[tuple[str, dict]]:
    if "differ" in said:
        both = "temporal graph" in said and "rolling summaries" in said
        return "A retrieves from a graph of steps, B keeps a summary." if both else "I have read neither."
    if not results:
        return [("search_papers", {"topic": "memory of agents"})]
    if len(results) == 1:
        return [("read_paper", {"name": "paper_a"}), ("read_paper", {"name": "paper_b"})]
    return "I have read both papers."


# from langchain_openai import ChatOpenAI; model = ChatOpenAI(model="gpt-4o-mini")
# from langchain_ollama import ChatOllama; model = ChatOllama(model="qwen3")
model = ScriptedChatModel(script=script)  # one of the lines above, in place of this one, asks a real model

# %% [markdown]
# ## The agent
# The memory is one more middleware. Every call of a tool becomes a step with its arguments and its result.

# %%
SCOPE = ("lab", "ada")
memory = PrismMemory.open()  # PrismMemory.open("folder") keeps it
agent = create_agent(
    model, [search_papers, read_paper], middleware=[PrismMemoryMiddleware(memory, scope=SCOPE, budget=130)]
)


def ask(thread: str, text: str) -> str:
    result = agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": thread}})
    return result["messages"][-1].text


print("Monday: ", ask("monday", "Find papers on the memory of agents and read the two best."))
for unit in memory.units(scope=SCOPE, session_id="monday"):
    print("  stored:", unit.text.replace("\n", " ")[:90])

# %% [markdown]
# ## Tuesday, in another thread
# Before the model is called, the memories that matter are put behind the question. The model sees this:

# %%
QUESTION = "How do Paper A and Paper B differ in what they retrieve?"
print("Tuesday:", ask("tuesday", QUESTION))
if isinstance(model, ScriptedChatModel):
    print(memories_in(model.seen[-1]))

# %% [markdown]
# ## Why these
# The two steps that read a paper come first; the search is below them. Every candidate can be asked for its reasons.

# %%
found = memory.search(QUESTION, scope=SCOPE, k=2, session_id="monday")
for hit in found:
    print(f"{hit.score:.2f} {hit.confidence:<6} {hit.unit.action}: {hit.candidate.reason}")
print("The search step came back:", any("search_papers" in (unit.action or "") for unit in found.units))
