"""The taxonomy of a store: proposals made from what is stored, and units labelled anew by another one."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel

from prism_core.changes import FloatArray, UpdateUnit
from prism_core.encode.encoder import Encoded
from prism_core.encode.tag import CascadeTagger, LLMTagger, RuleTagger
from prism_core.encode.taxonomy import IntentLabel, IntentTaxonomy
from prism_core.errors import LLMError
from prism_core.llm import StructuredLLM
from prism_core.memory.arguments import checked_type
from prism_core.memory.clusters import Cluster, clusters
from prism_core.memory.reader import Reader
from prism_core.memory.recorder import Recorder
from prism_core.protocols import Embedder, IntentTagger, Ledger, TokenCounter
from prism_core.results import Receipt, ReceiptStatus
from prism_core.storage.ledger import SqlLedger
from prism_core.storage.state import ScopeState
from prism_core.types import Kind, MemoryUnit, Scope

META_TAXONOMY = "taxonomy"
META_NAMES = "taxonomy names"
"""Names of all labels there were, so that those of an older taxonomy are not taken for the caller's own."""
MOST_UNITS = 2_000
"""Units that proposals are made from, the newest ones."""
MOST_LABELS = 12
SHOWN = 100
AGREED = 0.6
"""Share of a group that has to carry a label for a proposal to stand under it."""
BATCH = 500


@dataclass(frozen=True, slots=True)
class Relabelled:
    """A unit whose labels change.

    Attributes:
        unit_id: which unit.
        before: its labels so far.
        after: its labels by the new taxonomy.
    """

    unit_id: str
    before: tuple[str, ...]
    after: tuple[str, ...]


class _Named(BaseModel):
    name: str
    description: str
    chinese: str = ""
    examples: list[str] = []


class TaxonomyVerbs(ABC):
    """What `PrismMemory` does about its taxonomy."""

    embedder: Embedder | None
    counter: TokenCounter
    taxonomy: IntentTaxonomy
    _ledger: SqlLedger
    _reader: Reader
    _recorder: Recorder

    @abstractmethod
    def _enter(self, operation: str, scope: object) -> Scope:
        """The scope checked, once the memory is known to be open."""

    def suggest_taxonomy(self, *, scope: object, llm: StructuredLLM | None = None) -> IntentTaxonomy:
        """The taxonomy with labels proposed from what is stored, for a person to edit.

        Units are grouped by their vectors (by their words without an embedder); every group is named by the words that
        tell it from the others, or by a language model, which may find that a present label fits.

        Args:
            scope: whose memory.
            llm: names the groups; words do when None, or where it fails.

        Returns:
            The present labels and at most `MOST_LABELS` new ones; those that fit none of the present ones stand under
            `suggested`.

        Raises:
            QueryError: if `llm` is no model.
        """
        _check_model(llm)
        units, vectors = self._reader.locked(
            self._enter("suggest_taxonomy", scope), lambda state: _material(state, self._ledger, self.embedder)
        )
        proposed: list[IntentLabel] = []
        for group in clusters([unit.text for unit in units], vectors)[:MOST_LABELS]:
            label = _proposed(group, units, self.taxonomy, llm)
            if label is not None and label.name not in {known.name for known in (*self.taxonomy.labels, *proposed)}:
                proposed.append(label)
        if any(label.parent == "suggested" for label in proposed):
            proposed.insert(0, IntentLabel("suggested", "proposed from what is stored; move, rename or remove"))
        return self.taxonomy.extended(proposed)

    def apply_taxonomy(
        self, taxonomy: IntentTaxonomy, *, scope: object, dry_run: bool = False, llm: StructuredLLM | None = None
    ) -> list[Relabelled]:
        """Label a scope's units by another taxonomy, and new ones from the next opening of the store on.

        Labels that no taxonomy of the store ever knew are the caller's own and stay.

        Args:
            taxonomy: the new one.
            scope: whose memory.
            dry_run: whether only to say what would change.
            llm: labels what the rules are unsure of; they label everything when None, or where it fails.

        Returns:
            The units whose labels change; none when it is applied again.

        Raises:
            QueryError: if `taxonomy` or `llm` is none; nothing is changed.
        """
        checked = self._enter("apply_taxonomy", scope)
        checked_type("taxonomy", taxonomy, IntentTaxonomy, "pass an IntentTaxonomy, such as IntentTaxonomy.load(file)")
        checked_type("dry_run", dry_run, bool, "pass True or False")
        _check_model(llm)
        rules = RuleTagger(taxonomy, self.embedder)
        tagger = rules if llm is None else CascadeTagger(rules, LLMTagger(llm, rules))
        names = self._names(taxonomy)
        units = self._reader.locked(checked, lambda state: state.units(np.arange(len(state))))
        vectors = self._ledger.vectors(checked, [unit.id for unit in units])
        changed = _relabelled(units, vectors, tagger, names)
        if dry_run:
            return changed
        for start in range(0, len(changed), BATCH):
            self._relabel(checked, changed[start : start + BATCH])
        self._ledger.set_meta(META_NAMES, json.dumps(sorted(names), ensure_ascii=False))
        self._ledger.set_meta(META_TAXONOMY, json.dumps(taxonomy.rows(), ensure_ascii=False))
        return changed

    def _names(self, taxonomy: IntentTaxonomy) -> set[str]:
        """Names of the labels of this taxonomy and of those before it."""
        known = (IntentTaxonomy.default(), self.taxonomy, taxonomy)
        kept = self._ledger.get_meta(META_NAMES)
        return {label.name for each in known for label in each.labels} | set(json.loads(kept or "[]"))

    def _relabel(self, scope: Scope, batch: Sequence[Relabelled]) -> None:
        def encode(state: ScopeState) -> list[Encoded]:
            encoded = []
            for each in batch:
                if state.known(each.unit_id) is None:
                    continue
                present = state.unit(each.unit_id)
                unit = present.model_copy(update={"intent_tags": each.after})
                tokens = self.counter.count(unit.text)
                values = [{"intent_tags": list(labels)} for labels in (present.intent_tags, each.after)]
                change = UpdateUnit(unit.id, values[0], values[1], tokens, "labelled by another taxonomy")  # type: ignore[arg-type]
                encoded.append(Encoded(Receipt("", ReceiptStatus.STORED), (change,), unit, tokens))
            return encoded

        self._recorder.amend(scope, encode)


def stored_taxonomy(ledger: Ledger) -> IntentTaxonomy | None:
    """The taxonomy that was last applied to a store; None where none was."""
    kept = ledger.get_meta(META_TAXONOMY)
    return None if kept is None else IntentTaxonomy.parse(json.loads(kept))


def _material(
    state: ScopeState, ledger: Ledger, embedder: Embedder | None
) -> tuple[list[MemoryUnit], FloatArray | None]:
    units = [unit for unit in state.units(np.arange(len(state))[-MOST_UNITS:]) if unit.kind is not Kind.FACT]
    if embedder is None:
        return units, None
    vectors = ledger.vectors(state.scope, [unit.id for unit in units])
    units = [unit for unit in units if unit.id in vectors]
    return units, np.stack([vectors[unit.id] for unit in units]) if units else np.empty((0, 0), dtype=np.float32)


def _proposed(
    group: Cluster, units: Sequence[MemoryUnit], taxonomy: IntentTaxonomy, llm: StructuredLLM | None
) -> IntentLabel | None:
    members = [units[place] for place in group.members]
    if not group.words:
        return None
    tops = Counter(tag.partition("/")[0] for unit in members for tag in dict.fromkeys(unit.intent_tags[:1]))
    common, count = tops.most_common(1)[0] if tops else ("", 0)
    above = common if count >= AGREED * len(members) and common in taxonomy else "suggested"
    examples = tuple(_short(unit.text) for unit in members[:3])
    named = _asked(examples, taxonomy, llm) if llm is not None else None
    if named is None:
        words = ", ".join(group.words)
        return IntentLabel(f"{above}/{'_'.join(group.words[:2])}", f"about {words}", tuple(group.words[:3]), examples)
    known = taxonomy.find(named.name)
    if known is not None:
        return None
    name = "_".join(named.name.lower().replace("/", " ").split())
    return IntentLabel(f"{above}/{name}", named.description, tuple(group.words[:3]), examples, named.chinese)


def _asked(examples: Sequence[str], taxonomy: IntentTaxonomy, llm: StructuredLLM) -> _Named | None:
    texts = "\n".join(f"- {example}" for example in examples)
    try:
        named = llm.ask("label_cluster", _Named, {"texts": texts}, {"labels": taxonomy.listing()})
    except LLMError:
        return None
    return named if named.name.strip() and named.description.strip() else None


def _relabelled(
    units: Sequence[MemoryUnit], vectors: Mapping[str, FloatArray], tagger: IntentTagger, names: Container[str]
) -> list[Relabelled]:
    changed: list[Relabelled] = []
    for unit in units:
        if unit.kind is Kind.FACT:
            continue
        own = tuple(label for label in unit.intent_tags if label not in names)
        vector = vectors.get(unit.id) if unit.action is None else None
        labels = tagger.tag(unit.text, action_type=unit.action_type, vector=vector)
        after = tuple(dict.fromkeys([*own, *labels]))
        if after != unit.intent_tags:
            changed.append(Relabelled(unit.id, unit.intent_tags, after))
    return changed


def _check_model(llm: object) -> None:
    if llm is not None:
        checked_type("llm", llm, StructuredLLM, "pass StructuredLLM(...) around a model")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"
