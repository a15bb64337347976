"""Opening the store that a command's options name."""

from __future__ import annotations

from typing import Literal

import typer

from prism_core.cli.options import Place
from prism_core.cli.output import named, note
from prism_core.embed import make_embedder
from prism_core.errors import EmbedderMismatchError
from prism_core.memory import PrismMemory
from prism_core.memory.parts import now_utc
from prism_core.protocols import Clock

OnEmbedderChange = Literal["raise", "reembed"]


def open_store(
    place: Place, *, create: bool = False, clock: Clock = now_utc, on_embedder_change: OnEmbedderChange = "raise"
) -> PrismMemory:
    """The store at a place.

    Raises:
        StoreNotFoundError: if there is none and `create` is false; nothing is made.
        typer.BadParameter: if its vectors come from another embedder, unless they are to be made again.
        MissingExtraError: if the extra of the embedder is not installed.
    """
    try:
        return PrismMemory.open(
            place.store,
            embedder=None if place.embedder is None else make_embedder(place.embedder.value),
            index=place.index.value,
            create=create,
            clock=clock,
            on_embedder_change=on_embedder_change,
        )
    except EmbedderMismatchError as error:
        remedy = "name that one, or compute every vector again with prism rebuild --all --reembed --embedder NAME"
        raise typer.BadParameter(
            f"the store's vectors are of {error.stored}; {remedy}", param_hint="--embedder"
        ) from error


def warn_if_empty(memory: PrismMemory, place: Place) -> None:
    """Say where else to look when the scope holds nothing."""
    if memory.stats(place.scope).units:
        return
    others = memory.scopes()
    shown = "; ".join(named(scope) for scope in others[:5]) + ("; ..." if len(others) > 5 else "")
    note(f"nothing is stored under {named(place.scope)}" + (f"; the store has {shown}" if others else ""))
