"""Deriving a store's projections anew, and settling which embedder its vectors are of."""

from __future__ import annotations

from typing import Literal

from prism_core.embed import CachedEmbedder, MiniLMEmbedder
from prism_core.errors import EmbedderMismatchError, QueryError
from prism_core.memory.recorder import Recorder
from prism_core.protocols import Embedder, Ledger
from prism_core.storage.states import ScopeStates
from prism_core.types import Scope

META_EMBEDDER = "embedder"
OnEmbedderChange = Literal["raise", "reembed"]


def usable(embedder: Embedder | Literal["default"] | None) -> Embedder | None:
    """The embedder a caller chose, with a cache around it; "default" is the bundled one."""
    if embedder == "default":
        return CachedEmbedder(MiniLMEmbedder())
    if embedder is None or isinstance(embedder, CachedEmbedder):
        return embedder
    return CachedEmbedder(embedder)


def start_over(scope: Scope, states: ScopeStates, recorder: Recorder, *, reembed: bool) -> None:
    """Discard what is derived of a scope, its vector index included; with `reembed`, every unit is embedded again."""
    if reembed:
        recorder.mark_pending(scope)
    states.get(scope).vectors.forget()
    states.discard(scope)


def settle_embedder(
    ledger: Ledger, states: ScopeStates, recorder: Recorder, embedder: Embedder | None, on_change: OnEmbedderChange
) -> None:
    """Note the embedder of a store, and compute every vector again where it is another one and that is wanted.

    Raises:
        QueryError: if `on_change` is unknown.
        EmbedderMismatchError: if the vectors come from another embedder and that should raise.
    """
    if on_change not in ("raise", "reembed"):
        raise QueryError("on_embedder_change", on_change, "choose 'raise' or 'reembed'")
    if embedder is None:
        return
    scopes = ledger.scopes()
    stored = ledger.get_meta(META_EMBEDDER) if scopes else None
    if stored == embedder.id:
        return
    if stored is not None:
        if on_change == "raise":
            raise EmbedderMismatchError(stored, embedder.id)
        for scope in scopes:
            start_over(scope, states, recorder, reembed=True)
    ledger.set_meta(META_EMBEDDER, embedder.id)
    if stored is not None:
        for scope in scopes:
            recorder.embed_pending(scope)
