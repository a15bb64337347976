# %% [markdown]
# # A research assistant that remembers what it read
#
# On Monday an agent searches for papers and reads two of them. On Tuesday, in another thread, it is asked how the two
# differ. What it needs is what it *read*; that it searched is true and of little use. Extra: `[agent]`.

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
    "relevance, recency and coherence; no objective is traded for another. On 300 tasks it needs 40 % fewer tokens "
    "than a full history. Links between steps have to be recorded while the agent works.",
    "paper_b": "Paper B compresses the history into rolling summaries and retrieves nothing: the newest summary is "
    "always in the prompt. It is cheap, needs no index, and forgets identifiers after three summaries; the authors "
    "advise against it where ids matter.",
}
RESULTS = """5 results
paper_a  Steps as a temporal graph, Pareto retrieval (2025, cited 41 times, open access, 14 pages)
paper_b  Rolling summaries for long-running agents (2024, cited 87 times, open access, 9 pages)
paper_c  Do agents need memories at all? A position paper (2023, cited 12 times, 6 pages)
paper_d  A survey of vector stores for dialogue (2022, cited 230 times, behind a paywall, 38 pages)
paper_e  Forgetting curves for language models (2025, cited 3 times, open access, 11 pages)"""


@tool
def search_papers(topic: str) -> str:
    """List papers on a topic."""
    return RESULTS


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
    model, [search_papers, read_paper], middleware=[PrismMemoryMiddleware(memory, scope=SCOPE, budget=300)]
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
# The two readings come first. What the search listed is far less likely to be what was asked for and takes the most
# tokens, so it is the budget that decides whether it comes along. Every candidate can be asked for its reasons.

# %%
for hit in memory.search(QUESTION, scope=SCOPE, k=5, session_id="monday"):
    print(f"{hit.candidate.chance:.0%} {hit.unit.text.splitlines()[0]}: {hit.candidate.reason}")
block = memory.context(QUESTION, scope=SCOPE, budget=300, session_id="monday")
print("The readings came back:", sum("read_paper(" in line for line in block.text.splitlines()))
