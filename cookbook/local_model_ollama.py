# %% [markdown]
# # A local model through Ollama
#
# Nothing leaves the machine: `ChatOllama` is the agent's model and `OllamaEmbeddings` the memory's embedder, both of
# `langchain-ollama`, and the memory is a folder. What happens while Ollama is not running is at the end.
# Extra: `[agent]`, and `langchain-ollama`.

# %%
from tempfile import TemporaryDirectory

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_ollama import ChatOllama, OllamaEmbeddings
from offline_ollama import serve

from prism_core import PrismMemory
from prism_langchain import LangChainEmbedder, PrismMemoryMiddleware

# %% [markdown]
# ## The server
# A stand-in on loopback answers by a script, so that this runs anywhere; the clients are the real ones and speak to it
# over HTTP. With Ollama running (`ollama pull qwen3 && ollama pull bge-m3`), change one line.


# %%
def script(said: str, results: list[str]) -> str | list[tuple[str, dict]]:
    question, _, memories = said.partition("<past_experience>")
    if results:
        return f"It says: {results[-1]}"
    if "boiler" in question and "4.2 bar" in memories:
        return "It stood at 4.2 bar when we looked, too high; the manual says at most 2."
    return [("read_gauge", {"room": "cellar"})] if "gauge" in question else "I do not know."


# base_url = "http://127.0.0.1:11434"
base_url = serve(script)  # the line above, in place of this one, asks Ollama on this machine


# %% [markdown]
# ## The agent
# The tool's result becomes a step of the memory, embedded by the local model.


# %%
@tool
def read_gauge(room: str) -> str:
    """Read the pressure gauge in a room."""
    return f"The boiler in the {room} is at 4.2 bar."


SCOPE = ("home", "ida")
model = ChatOllama(model="qwen3", base_url=base_url)
embedder = LangChainEmbedder(OllamaEmbeddings(model="bge-m3", base_url=base_url))
folder = TemporaryDirectory()  # a folder of yours
memory = PrismMemory.open(folder.name, embedder=embedder)
agent = create_agent(model, [read_gauge], middleware=[PrismMemoryMiddleware(memory, scope=SCOPE, budget=300)])


def ask(thread: str, text: str) -> str:
    result = agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": thread}})
    return str(result["messages"][-1].text)


print("monday: ", ask("monday", "Read the gauge in the cellar."))
print("tuesday:", ask("tuesday", "Is the pressure of the boiler all right?"))
print("embedder:", embedder.id)

# %% [markdown]
# ## While Ollama is not running
# Nobody listens on port 9. What is written is kept and says so, and is found by its words; nothing is lost, and the
# next search with the server back embeds what waits.

# %%
memory.close()
stopped = LangChainEmbedder(OllamaEmbeddings(model="bge-m3", base_url="http://127.0.0.1:9"))
with PrismMemory.open(folder.name, embedder=stopped) as memory:
    receipt = memory.write("The plumber comes on Thursday at eight.", scope=SCOPE)
    found = memory.search("When does the plumber come?", scope=SCOPE, k=1)
    print("stopped:", receipt.status, "| found:", found[0].unit.observation, "| by:", *found[0].candidate.channels)
with PrismMemory.open(folder.name, embedder=embedder) as memory:
    found = memory.search("When does the plumber come?", scope=SCOPE, k=1)
    print("running:", "degraded" if found.degraded else "complete", "| by:", *found[0].candidate.channels)
folder.cleanup()
