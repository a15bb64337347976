"""How well entities are found: precision and recall on hand-labelled texts of traces and conversations.

    python -m benchmarks.entities DATA_DIR

The labels are in `benchmarks/data/entities.jsonl` as offsets and digests; the texts are read from DATA_DIR and never
copied. A span counts as exact where its borders and its type are right, as found where it overlaps one of the type.
Rules were made with the texts of odd numbers in view; those of even numbers are the check.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prism_core.encode.entities import RuleExtractor, entities

LABELS = Path(__file__).parent / "data" / "entities.jsonl"
Span = tuple[int, int, str]
Labelled = tuple[str, list[Span]]


def main(folder: Path) -> None:
    """Print the tables."""
    texts = labelled(folder)
    spans = sum(len(wanted) for _, wanted in texts)
    print(f"{spans} spans in {len(texts)} texts\n")
    print(f"{'':34}{'precision':>10}{'recall':>8}{'F1':>7}{'spans':>7}")
    halves = {"odd texts": texts[1::2], "even texts": texts[::2]}
    for name, part in {"all texts": texts, **halves}.items():
        _row(f"rules, exact and typed, {name}", part, typed)
    _row("rules, exact, types apart", texts, typed, same_type=False)
    _row("rules, overlapping", texts, typed, exact=False)
    _row("names of the index, exact, no types", texts, untyped, same_type=False)
    print()
    for kind in sorted({kind for _, wanted in texts for *_, kind in wanted}):
        _row(f"  {kind}", texts, typed, only=kind)
    for language, chinese in (("English", False), ("Chinese", True)):
        _row(f"  {language}", [row for row in texts if _is_chinese(row[0]) is chinese], typed)


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
        found.append((text, [(start, end, kind) for start, end, kind in row["spans"]]))
    return found


def typed(text: str) -> list[Span]:
    """What the rules find."""
    return [(each.start, each.end, each.type.value) for each in RuleExtractor().extract(text)]


def untyped(text: str) -> list[Span]:
    """What the index of names finds, at its first occurrence."""
    places = ((text.find(name), name) for name in entities(text))
    return [(start, start + len(name), "") for start, name in places if start >= 0]


def _row(
    title: str,
    texts: Sequence[Labelled],
    extract: Callable[[str], list[Span]],
    *,
    exact: bool = True,
    same_type: bool = True,
    only: str | None = None,
) -> None:
    hits = found = wanted = covered = 0
    for text, labels in texts:
        given = [span for span in extract(text) if only in (None, span[2])]
        labels = [span for span in labels if only in (None, span[2])]
        hits += sum(_matches(span, labels, exact, same_type) for span in given)
        covered += sum(_matches(span, given, exact, same_type) for span in labels)
        found, wanted = found + len(given), wanted + len(labels)
    precision, recall = hits / max(found, 1), covered / max(wanted, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    print(f"{title:34}{precision:10.3f}{recall:8.3f}{f1:7.3f}{wanted:7}")


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
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m benchmarks.entities DATA_DIR")
    main(Path(sys.argv[1]))
