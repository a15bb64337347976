"""The errors that only the LlamaIndex package raises."""

from __future__ import annotations

from prism_core import PrismError


class UnsupportedFilterError(PrismError, ValueError):
    """A metadata filter that cannot be applied to memories."""

    def __init__(self, filter: object, problem: str) -> None:
        super().__init__(f"metadata filter {filter!r} {problem}")
        self.filter = filter


class UnsupportedStoreError(PrismError, TypeError):
    """A vector store that does not give back what is stored in it."""

    def __init__(self, store: str) -> None:
        super().__init__(
            f"{store} keeps no node contents (stores_text is False), so what it finds cannot be told apart; "
            "pass a store that does, or open the memory with index='exact'"
        )
        self.store = store


class DetachedError(PrismError, RuntimeError):
    """A part that works on an open memory was copied, unpickled or loaded without one."""

    def __init__(self, part: str) -> None:
        super().__init__(
            f"this {part} has no memory: an open memory stays in its process; run the pipeline without num_workers, "
            "or make the part anew with the memory"
        )
        self.part = part


class AmbiguousGraphError(PrismError, ValueError):
    """A graph store holds several scopes, and none was named."""

    def __init__(self, scopes: list[str]) -> None:
        super().__init__(f"the graph store holds the scopes {', '.join(scopes)}; say which with source_scope=...")
        self.scopes = scopes
