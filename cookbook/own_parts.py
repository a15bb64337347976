# %% [markdown]
# # Your own embedder and vector store
#
# The memory's ledger is SQLite and stays so; what makes vectors and what finds the nearest can be yours. Any LangChain
# `Embeddings` becomes the embedder, any LangChain `VectorStore` the index. Here: embeddings of our own, and Qdrant in
# this process. Extra: `[langchain]`, and `langchain-qdrant`.

# %%
import hashlib
from tempfile import TemporaryDirectory

from langchain_core.embeddings import Embeddings
from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, VectorParams

from prism_core import PrismMemory
from prism_core.errors import EmbedderMismatchError
from prism_langchain import LangChainEmbedder, LangChainVectorIndex

# %% [markdown]
# ## The embedder
# Any `Embeddings` will do; this one counts pieces of words, so nothing has to be downloaded. `OpenAIEmbeddings` and
# `OllamaEmbeddings` are used alike. What the service raises while it is down becomes an `EmbeddingError`: the write is
# kept, found by its words, and embedded later.


# %%
class PieceEmbeddings(Embeddings):
    model = "pieces-256"

    def embed_query(self, text: str) -> list[float]:
        counts = [0.0] * 256
        for place in range(max(len(text) - 3, 0)):
            piece = text[place : place + 4].lower()
            counts[hashlib.sha256(piece.encode()).digest()[0]] += 1.0
        return counts

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


# from langchain_openai import OpenAIEmbeddings; embeddings = OpenAIEmbeddings(check_embedding_ctx_length=False)
# from langchain_ollama import OllamaEmbeddings; embeddings = OllamaEmbeddings(model="bge-m3")
embeddings = PieceEmbeddings()  # one of the lines above, in place of this one, asks a real model
embedder = LangChainEmbedder(embeddings)
print("embedder:", embedder.id)

# %% [markdown]
# ## The index
# A function makes the collection of one scope. Qdrant is given unit ids and vectors and never a text: payloads are read
# from the ledger, so an index may be lost without losing anything.

# %%
qdrant = QdrantClient(":memory:")


def collection(name: str, vectors: Embeddings, dimension: int) -> QdrantVectorStore:
    if not qdrant.collection_exists(name):
        qdrant.create_collection(name, VectorParams(size=dimension, distance=Distance.COSINE))
    return QdrantVectorStore(qdrant, collection_name=name, embedding=vectors)


folder = TemporaryDirectory()  # a folder of yours
memory = PrismMemory.open(folder.name, embedder=embedder, index=LangChainVectorIndex(collection))

# %% [markdown]
# ## Used like any other memory

# %%
SCOPE = ("acme", "ann")
NOTES = [
    "The staging database moved to port 5433.",
    "Grafana dashboards live under /d/payments.",
    "Deployments are frozen on the last Friday of a month.",
    "The payment service retries three times before it gives up.",
]
memory.write_many([{"kind": "document", "observation": note} for note in NOTES], scope=SCOPE)
for hit in memory.search("How often are payments retried?", scope=SCOPE, k=2):
    print(f"{hit.score:.2f}  {hit.unit.text}  ({', '.join(hit.candidate.channels)})")
memory.flush()
stored = [point for each in qdrant.get_collections().collections for point in qdrant.scroll(each.name)[0]]
texts = " ".join(str(point.payload) for point in stored)
print("points in Qdrant:", len(stored), "| texts in Qdrant:", any(note in texts for note in NOTES))

# %% [markdown]
# ## Another embedder is noticed
# Vectors of two models must never be compared. A store opened with another model says so; nothing is lost, and
# `on_embedder_change="reembed"` computes every vector again from the kept texts.

# %%
memory.close()
try:
    PrismMemory.open(folder.name)
except EmbedderMismatchError as error:
    print("refused:", error)
with PrismMemory.open(folder.name, on_embedder_change="reembed") as again:
    print("again:  ", again.search("How often are payments retried?", scope=SCOPE, k=1)[0].unit.text)
folder.cleanup()
