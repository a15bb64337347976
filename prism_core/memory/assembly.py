"""Putting the parts of a memory together: the only place where defaults become objects."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from prism_core.context import ContextBuilder, without_recalled
from prism_core.encode.encoder import Encoder
from prism_core.encode.entities import named
from prism_core.encode.options import EncodingOptions
from prism_core.encode.reading import LLMReader
from prism_core.encode.tag import RuleTagger
from prism_core.encode.taxonomy import IntentTaxonomy
from prism_core.llm import StructuredLLM
from prism_core.memory.enriching import Enricher, worth_reading
from prism_core.memory.labelling import stored_taxonomy
from prism_core.memory.linking import promoted_labels
from prism_core.memory.parts import GuardedIndex, IndexKind, Store, choose_index
from prism_core.memory.recorder import Recorder
from prism_core.protocols import Clock, Embedder, IdFactory, Introspector, TokenCounter, VectorIndex
from prism_core.query import CascadePlanner, LLMPlanner, PlanningOptions, RulePlanner
from prism_core.retrieve.options import RankingOptions
from prism_core.retrieve.retriever import Retriever
from prism_core.storage.ledger import SqlLedger
from prism_core.storage.states import ScopeStates
from prism_core.text import O200kCounter

CACHED_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a caller of `PrismMemory.open` asked for, with everything but the embedder still to be made."""

    embedder: Embedder | None
    index: IndexKind | VectorIndex
    counter: TokenCounter | None
    clock: Clock
    new_id: IdFactory
    ranking: RankingOptions | None
    encoding: EncodingOptions | None
    planning: PlanningOptions | None = None


@dataclass(frozen=True, slots=True)
class Assembly:
    """The parts of an open memory, made for each other."""

    ledger: SqlLedger
    states: ScopeStates
    taxonomy: IntentTaxonomy
    encoder: Encoder
    recorder: Recorder
    retriever: Retriever
    builder: ContextBuilder
    enricher: Enricher
    introspector: Introspector | None
    models: tuple[StructuredLLM, ...]
    embedder: Embedder | None
    index: GuardedIndex | None
    clock: Clock
    new_id: IdFactory


def assemble(store: Store, wanted: Wanted, *, create: bool) -> Assembly:
    """Open a store's ledger and make the parts around it.

    Raises:
        StoreUrlError: if the index kind is unknown or not possible there.
        FormatVersionError: if another version of prism-memory wrote the store.
    """
    ledger = SqlLedger.open(store.url, create=create)
    guarded, choice = choose_index(store, wanted.index)
    options = wanted.encoding or EncodingOptions()
    taxonomy = options.taxonomy or stored_taxonomy(ledger) or IntentTaxonomy.default()
    tagger = RuleTagger(taxonomy, wanted.embedder)
    builder = ContextBuilder(wanted.counter or O200kCounter())
    states = ScopeStates(ledger, choice, max_bytes=CACHED_BYTES)
    encoder = Encoder(
        tagger,
        builder.counter,
        options.linker,
        wanted.new_id,
        wanted.embedder.id if wanted.embedder is not None else "",
        extractor=options.extractor,
        router=options.router,
        conflicts=options.conflicts,
        distiller=options.distiller,
        read_when=None if options.llm is None else partial(worth_reading, when=options.read),
        readable=without_recalled,
    )
    recorder = Recorder(ledger, states, encoder, wanted.embedder, wanted.clock)
    reader = (
        None if options.llm is None else LLMReader(options.llm, taxonomy, promoted_labels(ledger), without_recalled)
    )
    planning = wanted.planning or PlanningOptions()
    planner = RulePlanner(tagger, partial(named, extractor=options.extractor))
    return Assembly(
        ledger=ledger,
        states=states,
        taxonomy=taxonomy,
        encoder=encoder,
        recorder=recorder,
        retriever=Retriever(planner, tagger, wanted.ranking or RankingOptions()),
        builder=builder,
        enricher=Enricher(ledger, states, recorder, encoder, reader),
        models=tuple(model for model in (options.llm, planning.llm) if model is not None),
        introspector=_introspector(planner, planning, taxonomy),
        embedder=wanted.embedder,
        index=guarded,
        clock=wanted.clock,
        new_id=wanted.new_id,
    )


def _introspector(rules: RulePlanner, planning: PlanningOptions, taxonomy: IntentTaxonomy) -> Introspector | None:
    if planning.llm is None:
        return None

    def find(name: str) -> str | None:
        label = taxonomy.find(name)
        return None if label is None else label.name

    planner = LLMPlanner(planning.llm, rules, taxonomy.listing, find)
    return planner if planning.ask == "always" else CascadePlanner(planner)
