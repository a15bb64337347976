"""How events are understood when they are written: the parts of the write side, and their knobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from prism_core.encode.conflict import ConflictRules
from prism_core.encode.distil import RuleDistiller
from prism_core.encode.entities import RuleExtractor
from prism_core.encode.relate import RelationLinker
from prism_core.encode.route import MemoryRouter
from prism_core.encode.taxonomy import IntentTaxonomy
from prism_core.errors import QueryError
from prism_core.llm import StructuredLLM
from prism_core.protocols import Distiller, EntityExtractor, Linker


@dataclass(frozen=True, slots=True)
class EncodingOptions:
    """The parts that make memories of events. Passed to `PrismMemory.open`.

    Attributes:
        taxonomy: labels of intents; that which was last applied to the store, or the bundled one, when None.
        distiller: finds what a message states about people and things; None to keep no facts but those stored as such.
        extractor: finds what texts name, when they are written and when they are asked.
        router: scores importance and chooses the layer.
        linker: relates a new unit to those before it.
        conflicts: when a new value takes the place of the one that holds.
        llm: reads what is written, one call per event at most; None to work by rules alone. Rules store the event
            first, so nothing is lost or held up by a model that is slow or down.
        read: "always" has the model read every event that is worth keeping; "unsure" only those that rules may have
            misjudged: without a label, or important and yet without a fact.
    """

    taxonomy: IntentTaxonomy | None = None
    distiller: Distiller | None = field(default_factory=RuleDistiller)
    extractor: EntityExtractor = field(default_factory=RuleExtractor)
    router: MemoryRouter = field(default_factory=MemoryRouter)
    linker: Linker = field(default_factory=RelationLinker)
    conflicts: ConflictRules = field(default_factory=ConflictRules)
    llm: StructuredLLM | None = None
    read: Literal["always", "unsure"] = "always"

    def __post_init__(self) -> None:
        if self.llm is not None and not isinstance(self.llm, StructuredLLM):
            raise QueryError("llm", self.llm, "wrap the model: StructuredLLM(model)")
        if self.read not in ("always", "unsure"):
            raise QueryError("read", self.read, "choose 'always' or 'unsure'")
