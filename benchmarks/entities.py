"""How well entities are found: precision and recall on hand-labelled texts of traces and conversations.

    python -m benchmarks.entities DATA_DIR [SPACY_MODEL]

The labels are in `benchmarks/data/entities.jsonl` as offsets and digests; the texts are read from DATA_DIR and never
copied. A span counts as exact where its borders and its type are right, as overlapping where it overlaps one of the
type. Sample 1 was labelled by who made the rules; sample 2 by another, drawn at random from what was left, before the
rules were run on it. Errors in texts of odd numbers were looked at and rules made of them; those of even numbers are
the check.

With the name of an installed spaCy pipeline, its entities are measured beside, on the English texts.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from prism_core.encode.entities import RuleExtractor, entities

LABELS = Path(__file__).parent / "data" / "entities.jsonl"
SPACY_TYPES = {
    "PERSON": "person",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "ORG": "organisation",
    "PRODUCT": "product",
    "WORK_OF_ART": "product",
    "EVENT": "product",
    "QUANTITY": "quantity",
    "MONEY": "quantity",
    "PERCENT": "quantity",
    "DATE": "date",
    "TIME": "time",
}
"""The labels of OntoNotes, which spaCy's English pipelines give, and the types nearest to them."""
Span = tuple[int, int, str]


class Labelled(NamedTuple):
    """A text with its labels.

    Attributes:
        text: as it stands in the data.
        spans: start, end and type of each entity.
        sample: the sample it was drawn in, 1 or 2.
    """

    text: str
    spans: list[Span]
    sample: int


def main(folder: Path, model: str | None = None) -> None:
    """Print the tables."""
    texts = labelled(folder)
    print(f"{sum(len(each.spans) for each in texts)} spans in {len(texts)} texts\n")
    print(f"{'':38}{'precision':>10}{'recall':>8}{'F1':>7}{'spans':>7}")
    for number in sorted({each.sample for each in texts}):
        sample = [each for each in texts if each.sample == number]
        for name, part in (("all", sample), ("odd", sample[1::2]), ("even", sample[::2])):
            _row(f"rules, exact and typed, sample {number}, {name}", part, typed)
    _row("rules, exact and typed", texts, typed)
    _row("rules, exact, types apart", texts, typed, same_type=False)
    _row("rules, overlapping", texts, typed, exact=False)
    _row("untyped names, exact, types apart", texts, untyped, same_type=False)
    print()
    for kind in sorted({kind for each in texts for *_, kind in each.spans}):
        _row(f"  {kind}", texts, typed, only={kind})
        _row(f"  {kind}, overlapping", texts, typed, exact=False, only={kind})
    for language, chinese in (("English", False), ("Chinese", True)):
        part = [each for each in texts if _is_chinese(each.text) is chinese]
        _row(f"  {language}", part, typed)
        _row(f"  {language}, untyped names, types apart", part, untyped, same_type=False)
    if model is not None:
        check = [each for each in texts if each.sample == 2][::2]
        _beside(model, {"all": _english(texts), "sample 2, even": _english(check)})


def labelled(folder: Path) -> list[Labelled]:
    """The labelled texts.

    Raises:
        ValueError: if a text is not what was labelled.
    """
    rows = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]
    files = {name: _read(folder / name) for name in sorted({row["file"] for row in rows})}
    found: list[Labelled] = []
    for row in rows:
        text = files[row["file"]][row["row"], str(row["unit"])]
        if hashlib.sha256(text.encode()).hexdigest() != row["sha256"]:
            raise ValueError(f"{row['file']}, {row['row']}, {row['unit']}: the text is not the one that was labelled")
        spans = [(start, end, kind) for start, end, kind in row["spans"]]
        found.append(Labelled(text, spans, row["sample"]))
    return found


def typed(text: str) -> list[Span]:
    """What the rules find."""
    return [(each.start, each.end, each.type.value) for each in RuleExtractor().extract(text)]


def untyped(text: str) -> list[Span]:
    """What the index of names finds, wherever it stands by itself."""
    return [
        (*match.span(), "")
        for name in entities(text)
        for match in re.finditer(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", text)
    ]


def _english(texts: Iterable[Labelled]) -> list[Labelled]:
    return [each for each in texts if not _is_chinese(each.text)]


def _beside(model: str, parts: Mapping[str, Sequence[Labelled]]) -> None:
    pipeline = import_module("spacy").load(model)
    kinds = set(SPACY_TYPES.values())
    print(f"\nEnglish texts, the types that {model} tells: {', '.join(sorted(kinds))}")
    for name, part in parts.items():
        _row(f"  rules, {name}", part, typed, only=kinds)
        _row(f"  {model}, {name}", part, partial(_by_spacy, pipeline), only=kinds)


def _by_spacy(pipeline: Callable[[str], Any], text: str) -> list[Span]:
    found = pipeline(text).ents
    return [(each.start_char, each.end_char, SPACY_TYPES[each.label_]) for each in found if each.label_ in SPACY_TYPES]


def _row(
    title: str,
    texts: Sequence[Labelled],
    extract: Callable[[str], list[Span]],
    *,
    exact: bool = True,
    same_type: bool = True,
    only: Iterable[str] | None = None,
) -> None:
    hits = found = wanted = covered = 0
    for text, spans, *_ in texts:
        given, labels = ([each for each in part if only is None or each[2] in only] for part in (extract(text), spans))
        hits += sum(_matches(span, labels, exact, same_type) for span in given)
        covered += sum(_matches(span, given, exact, same_type) for span in labels)
        found, wanted = found + len(given), wanted + len(labels)
    precision, recall = hits / max(found, 1), covered / max(wanted, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    print(f"{title:38}{precision:10.3f}{recall:8.3f}{f1:7.3f}{wanted:7}")


def _matches(span: Span, others: Iterable[Span], exact: bool, same_type: bool) -> bool:
    return any(
        (span[:2] == other[:2] if exact else span[0] < other[1] and other[0] < span[1])
        and (not same_type or span[2] == other[2])
        for other in others
    )


def _read(file: Path) -> dict[tuple[str, str], str]:
    texts: dict[tuple[str, str], str] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        row: Mapping[str, Any] = json.loads(line)
        if "units" in row:
            texts |= {(row["id"], str(unit["id"])): unit["text"] for unit in row["units"]}
            continue
        steps = next(value for value in row.values() if isinstance(value, list))
        texts |= {(row["id"], str(place)): step.get("content") or "" for place, step in enumerate(steps)}
    return texts


def _is_chinese(text: str) -> bool:
    return any("\u4e00" <= letter <= "\u9fff" for letter in text)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit("usage: python -m benchmarks.entities DATA_DIR [SPACY_MODEL]")
    main(Path(sys.argv[1]), *sys.argv[2:])
