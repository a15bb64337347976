# %% [markdown]
# # A support bot that knows the manual and the customer
#
# What the shop knows and what a customer went through are two scopes of one memory: documents go into the one, every
# conversation into the other. Days later the bot still knows about the refund. In the end we look at what it remembers
# as a property graph.
#
# `pip install 'prism-memory[llamaindex]'`

# %%
import offline_llamaindex
from llama_index.core import Document
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.async_utils import asyncio_run
from llama_index.core.graph_stores import SimplePropertyGraphStore
from llama_index.core.graph_stores.types import LabelledNode
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.tools import RetrieverTool

from prism_core import PrismMemory
from prism_llamaindex import PrismChatMemory, PrismIngestion, PrismRetriever, export_graph

# %% [markdown]
# The model. Swapping it for a real one changes this line.

# %%
llm = offline_llamaindex.supporter()
# from llama_index.llms.openai import OpenAI; llm = OpenAI(model="gpt-5-mini")
# from llama_index.llms.ollama import Ollama; llm = Ollama(model="qwen3")

# %% [markdown]
# ## The FAQ
#
# An ordinary ingestion pipeline with the memory as its last step; there is no embedding step, and running it again adds
# nothing.

# %%
memory = PrismMemory.open()  # open("folder") keeps it
shop, customer = ("shop", "faq"), ("shop", "customers", "ana")
faq = [
    Document(id_="refunds", text="What arrives broken is refunded in full. No photo is needed below 100 EUR."),
    Document(id_="shipping", text="We ship on weekdays. Parcels to islands take two days longer."),
    Document(id_="sizes", text="Jackets run small: order one size up. Exchanges for another size are free."),
]
pipeline = IngestionPipeline(transformations=[SentenceSplitter(), PrismIngestion(memory, shop)])
pipeline.run(documents=faq)
pipeline.run(documents=faq)
print(memory.stats(shop).units, "passages")

# %% [markdown]
# ## The bot


# %%
def find_order(email: str) -> str:
    """Find a customer's latest order."""
    return "order O-5521, rain jacket, 89 EUR, delivered"


def refund_order(order_id: str) -> str:
    """Refund an order."""
    return f"refund RF-9917 of order {order_id} issued; arrives within five working days"


def email_receipt(refund_id: str) -> str:
    """Send the receipt of a refund to the customer."""
    return "sent"


search_faq = RetrieverTool.from_defaults(
    PrismRetriever(memory, shop, budget=200), name="search_faq", description="Looks up the rules of the shop."
)
agent = FunctionAgent(tools=[search_faq, find_order, refund_order, email_receipt], llm=llm)


async def ask(session: str, text: str) -> str:
    conversation = PrismChatMemory.from_defaults(memory, scope=customer, session_id=session, llm=llm)
    return str(await agent.run(text, memory=conversation))


# %%
print(asyncio_run(ask("monday", "The zip of my jacket was broken on arrival. I am ana@example.org")))
for unit in memory.units(scope=customer, session_id="monday"):
    print("-", unit.text)

# %% [markdown]
# Three days later, another conversation. The agent calls no tool: it was there.

# %%
print(asyncio_run(ask("thursday", "Where is my refund?")))
print(sum(unit.action is not None for unit in memory.units(scope=customer, session_id="thursday")), "tool calls")

# %% [markdown]
# ## What it remembers, as a graph
#
# Any `PropertyGraphStore` of LlamaIndex takes it. Every link says why it is there.


# %%
def shown(node: LabelledNode) -> str:
    return str(node).splitlines()[0][:60]


graph = SimplePropertyGraphStore()
counts = export_graph(memory, customer, graph)
print(counts.units, "units,", counts.links, "links")
triplets = graph.get_triplets(relation_names=["REQUIRES", "FOLLOWS"])
lines = [f"{shown(a)} -[{link.label}: {link.properties['reason']}]-> {shown(b)}" for a, link, b in triplets]
print("\n".join(sorted(lines)))

# %%
memory.close()
