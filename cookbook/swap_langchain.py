# %% [markdown]
# # Swapping LangChain's classic memories for this one
#
# A `ConversationChain` with `ConversationBufferMemory` sends everything that was ever said. One with
# `VectorStoreRetrieverMemory` sends what looks alike, whoever said it. The chain stays; one constructor changes.
# Extra: `[classic]`.

# %%
import difflib
import inspect
import warnings

from langchain_classic.chains import ConversationChain
from langchain_classic.memory import ConversationBufferMemory, VectorStoreRetrieverMemory
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from offline import ScriptedChatModel

from prism_core import MiniLMEmbedder, PrismMemory
from prism_langchain import PrismConversationMemory

warnings.filterwarnings(
    "ignore", category=DeprecationWarning
)  # the classic chains are deprecated; many run all the same


# %%
def script(said: str, results: list[str]) -> str:
    question = said.rsplit("Human:", 1)[-1]
    if "gate code" in question:
        return "It is 4417." if "4417" in said else "I do not know."
    return "Noted."


# from langchain_openai import ChatOpenAI; model = ChatOpenAI(model="gpt-4o-mini")
# from langchain_ollama import ChatOllama; model = ChatOllama(model="qwen3")
model = ScriptedChatModel(script=script)  # one of the lines above, in place of this one, asks a real model


class MiniLM(Embeddings):
    """The memory's own embedder, so that the comparison is fair."""

    embedder = MiniLMEmbedder()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embedder.embed_documents(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.embedder.embed_query(text).tolist()


# %% [markdown]
# ## Before, twice


# %%
def with_buffer() -> ConversationChain:
    history = ConversationBufferMemory()
    return ConversationChain(llm=model, memory=history)


def with_vectors() -> ConversationChain:
    store = InMemoryVectorStore(MiniLM())
    history = VectorStoreRetrieverMemory(retriever=store.as_retriever(), memory_key="history")
    return ConversationChain(llm=model, memory=history)


# %% [markdown]
# ## After
# `window` messages come back word for word, and behind them what matters of everything before, this session and others,
# within `budget` tokens. It is kept on disk where `open` is given a folder.

# %%
memory = PrismMemory.open()


def with_prism(session: str = "monday") -> ConversationChain:
    history = PrismConversationMemory(memory=memory, scope=("acme", "ann"), session_id=session, window=4, budget=150)
    return ConversationChain(llm=model, memory=history)


# %% [markdown]
# ## What changes, line by line

# %%
for old in (with_buffer, with_vectors):
    lines = [inspect.getsource(function).splitlines()[1:] for function in (old, with_prism)]
    changed = [
        line for line in difflib.unified_diff(*lines, lineterm="", n=0) if not line.startswith(("---", "+++", "@@"))
    ]
    print(f"{old.__name__}: {len(changed)} changed lines")
    print("\n".join(changed))

# %% [markdown]
# ## The same talk, three times
# Forty remarks, of which one matters later. The buffer finds it, and sends the whole talk; the memory sends little more
# than what is needed, and knows it in another session as well.

# %%
TALK = ["The gate code of the depot is 4417."] + [
    f"Remark {number}: the weather was mixed again." for number in range(39)
]
QUESTION = "What is the gate code of the depot?"
for make in (with_buffer, with_vectors, with_prism):
    chain = make()
    for remark in TALK:
        chain.predict(input=remark)
    answer = chain.predict(input=QUESTION)
    size = len(model.seen[-1][-1].text.split()) if isinstance(model, ScriptedChatModel) else 0
    print(f"{make.__name__:<13} {answer:<15} {size:>5} words sent")
print("on Tuesday:  ", with_prism("tuesday").predict(input=QUESTION))
