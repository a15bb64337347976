# %% [markdown]
# # Swap the memory of a LlamaIndex program
#
# The same programs before and after. What is told on Monday is asked for on Friday, in another conversation; a buffer
# ends with its conversation, and so does LlamaIndex's `Memory`.
#
# `pip install 'prism-memory[llamaindex]'`

# %%
import offline_llamaindex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.async_utils import asyncio_run
from llama_index.core.chat_engine import SimpleChatEngine

# %% [markdown]
# The model. Swapping it for a real one changes this line.

# %%
llm = offline_llamaindex.host()
# from llama_index.llms.openai import OpenAI; llm = OpenAI(model="gpt-5-mini")
# from llama_index.llms.ollama import Ollama; llm = Ollama(model="qwen3")

# %%
week = {
    "monday": "I bake a lot, and Jana, my sister, is allergic to hazelnuts.",
    "friday": "Which cake shall I bake for Jana?",
}

# %% [markdown]
# ## A chat engine: before

# %%
from llama_index.core.memory import ChatMemoryBuffer

for day, text in week.items():
    memory = ChatMemoryBuffer.from_defaults(token_limit=1500, chat_store_key=day)
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory)
    print(f"{day}: {engine.chat(text)}")

# %% [markdown]
# ## A chat engine: after

# %%
from prism_core import PrismMemory
from prism_llamaindex import PrismChatMemory

store = PrismMemory.open()  # open("folder") keeps it
for day, text in week.items():
    memory = PrismChatMemory.from_defaults(store, scope="nina", token_limit=1500, session_id=day)
    engine = SimpleChatEngine.from_defaults(llm=llm, memory=memory)
    print(f"{day}: {engine.chat(text)}")

# %% [markdown]
# ## An agent: before


# %%
from llama_index.core.memory import Memory


async def ask(day: str, text: str) -> str:
    memory = Memory.from_defaults(session_id=day, token_limit=1500)
    return str(await FunctionAgent(llm=llm).run(text, memory=memory))


for day, text in week.items():
    print(f"{day}: {asyncio_run(ask(day, text))}")

# %% [markdown]
# ## An agent: after


# %%
from prism_core import PrismMemory
from prism_llamaindex import PrismChatMemory


async def ask(day: str, text: str) -> str:
    memory = PrismChatMemory.from_defaults(store, scope="otto", session_id=day, token_limit=1500)
    return str(await FunctionAgent(llm=llm).run(text, memory=memory))


store = PrismMemory.open()  # open("folder") keeps it
for day, text in week.items():
    print(f"{day}: {asyncio_run(ask(day, text))}")

# %% [markdown]
# Where `Memory` and its blocks should stay, `PrismMemoryBlock` goes among them: see
# [LlamaIndex](../docs/llamaindex.md#a-block-of-memory), where the table for every other memory is as well.
