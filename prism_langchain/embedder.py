"""Any LangChain embeddings as the memory's embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.embeddings import Embeddings

from prism_core import FloatArray, normalised
from prism_core.errors import EmbeddingError, QueryError

_MODEL_NAMES = ("model", "model_name", "model_id", "deployment", "repo_id")
_PROBE = "dimension"


class LangChainEmbedder:
    """Embeds with a LangChain `Embeddings`, such as `OpenAIEmbeddings` or `OllamaEmbeddings`; an `Embedder`.

    What the service raises becomes an `EmbeddingError`: writes are then kept, found by words, and embedded later.
    Texts without content are not sent and have a vector of zeros. Vectors are normalised.

    Attributes:
        embeddings: what does the work.
        id: names class, model and, where it is set, the size asked for; stored with every vector, so that a store
            opened with another model says so instead of comparing what cannot be compared.
    """

    def __init__(
        self,
        embeddings: Embeddings,
        *,
        id: str | None = None,
        dimension: int | None = None,
        failures: tuple[type[Exception], ...] = (Exception,),
    ) -> None:
        """Wrap embeddings.

        Args:
            embeddings: what does the work.
            id: names model and version; needed where the embeddings do not name their model.
            dimension: length of a vector; found out with the first vector, or by embedding one word, when None.
            failures: what counts as the service not answering; clients raise errors of their own.

        Raises:
            QueryError: if neither the embeddings nor the caller name the model.
        """
        self.embeddings = embeddings
        self.id = id or _named(embeddings)
        self._dimension = dimension
        self._failures = failures

    @property
    def dimension(self) -> int:
        """Length of a vector.

        Raises:
            EmbeddingError: if it is not known yet and the service does not answer.
        """
        if self._dimension is None:
            self._answered(lambda: [self.embeddings.embed_query(_PROBE)], 1)
        return self._dimension or 0

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """Embed texts; shape (n, dimension), float32, rows of unit length or, without content, of zeros.

        Raises:
            EmbeddingError: if the service does not answer, or with something else than vectors.
        """
        asked = [text for text in texts if text.strip()]
        found = iter(self._answered(lambda: self.embeddings.embed_documents(asked), len(asked)) if asked else ())
        blank = [0.0] * self.dimension
        rows = [next(found) if text.strip() else blank for text in texts]
        return normalised(rows, embedder=self.id, count=len(texts), dimension=self.dimension)

    def embed_query(self, text: str) -> FloatArray:
        """Embed a question; shape (dimension,), of unit length or, without content, of zeros.

        Raises:
            EmbeddingError: if the service does not answer, or with something else than a vector.
        """
        blank = not text.strip()
        rows = self.embed_documents([text]) if blank else self._answered(lambda: [self.embeddings.embed_query(text)], 1)
        vector: FloatArray = rows[0]
        return vector

    def _answered(self, ask: Callable[[], object], count: int) -> FloatArray:
        try:
            answer = ask()
        except self._failures as error:
            raise EmbeddingError(self.id, f"{type(error).__name__}: {error}") from error
        rows = normalised(answer, embedder=self.id, count=count, dimension=self._dimension)
        self._dimension = rows.shape[1]
        return rows


def _named(embeddings: Embeddings) -> str:
    model = next((value for name in _MODEL_NAMES if isinstance(value := getattr(embeddings, name, None), str)), "")
    if not model:
        kind = type(embeddings).__name__
        raise QueryError("id", None, f"{kind} does not say which model it is; pass for example id='{kind}:v1'")
    size = getattr(embeddings, "dimensions", None)
    parts = ["langchain", type(embeddings).__name__, model, *([str(size)] if isinstance(size, int) else [])]
    return ":".join(parts)
