# %% [markdown]
# # A research assistant that remembers what it read
#
# On Monday an agent searches, reads Paper A and reads Paper B. On Tuesday, in a new conversation, it is to compare
# them. Before it answers, the memory brings back the two steps in which it read, and not the one in which it searched:
# the search led to the papers but says nothing about them.
#
# `pip install 'prism-memory[llamaindex]'`

# %%
import offline_llamaindex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.async_utils import asyncio_run

from prism_core import PrismMemory
from prism_llamaindex import PrismChatMemory

# %% [markdown]
# Two tools, as any research agent has them.

# %%
PAPERS = {
    "paper-a": "Paper A, by Lindqvist, Moreau and Adeyemi. Method: memories are ranked by a weighted sum of "
    "similarity, recency and importance; the weights are tuned on held-out dialogues. Result: finds 71% of the "
    "evidence within 1000 tokens. Limitation: with the weights of one domain, another loses nine points, and old "
    "decisions lose against recent small talk.",
    "paper-b": "Paper B, by Okafor and Brandt. Method: memories are ranked by Pareto fronts over relevance, causality "
    "and cost; no objective is traded for another. Result: finds 74% of the evidence within 600 tokens. Limitation: "
    "links between steps have to be recorded while the agent works, and cannot be had from a transcript alone.",
}
FOUND = """5 results
1. paper-a: Lindqvist et al., Tuning what agents recall, 14 pages, cited 31 times
2. paper-b: Okafor and Brandt, Recall without weights, 11 pages, cited 8 times
3. survey-12: Haddad, Ten years of dialogue state, 48 pages, cited 210 times
4. demo-3: Sato, A notebook for your assistant, 4 pages, not cited yet
5. thesis-7: Ferreira, Episodic buffers, 180 pages, cited twice"""


def search_papers(topic: str) -> str:
    """Search papers on a topic."""
    return FOUND


def read_paper(paper_id: str) -> str:
    """Read a paper by its id."""
    return PAPERS[paper_id]


# %% [markdown]
# The model. Swapping it for a real one changes this line.

# %%
llm = offline_llamaindex.researcher()
# from llama_index.llms.openai import OpenAI; llm = OpenAI(model="gpt-5-mini")
# from llama_index.llms.ollama import Ollama; llm = Ollama(model="qwen3")

# %%
store, scope = PrismMemory.open(), ("lab", "ines")  # open("folder") keeps it
agent = FunctionAgent(tools=[search_papers, read_paper], llm=llm, system_prompt="You are a research assistant.")


async def run(session: str, text: str) -> str:
    conversation = PrismChatMemory.from_defaults(store, scope=scope, session_id=session, budget=300)
    return str(await agent.run(text, memory=conversation))


# %% [markdown]
# ## Monday: search, read, read

# %%
print(asyncio_run(run("monday", "Find papers A and B on long-term memory of agents, and read them.")))
for unit in store.units(scope=scope, session_id="monday"):
    print("-", unit.text[:100])

# %% [markdown]
# ## Tuesday: compare
#
# What the memory has to say before the comparison, as the model will see it. The budget of 300 tokens has room
# for both readings and a little more; with a larger one the search may come along, behind them:

# %%
question = "Compare the methods and results of Paper A and Paper B."
tuesday = PrismChatMemory.from_defaults(store, scope=scope, session_id="tuesday", budget=300)
print(tuesday.get(question)[-1].content)

# %% [markdown]
# The room is given to what is likely to matter. `chance` is the estimate that a memory is what was asked for:

# %%
for hit in store.search(question, scope=scope, k=5):
    print(f"{hit.candidate.chance:.2f}  {hit.unit.text.splitlines()[0]}")

# %%
print(asyncio_run(run("tuesday", question)))

# %%
store.close()
