"""How often is a text labelled rightly? Sentences in English and Chinese, by rules alone and with vectors.

    python -m benchmarks.tagging [FILE] [--multilingual] [--wrong tuning|held-out]

Every sentence is written to a memory and its labels are read back. The bundled cues were chosen in sight of the part
`tuning`; the part `held-out` was written when they stood, so it says how well they do on what they do not know.

Columns: `right@1`, the share of sentences whose first label is the right one; `right@3`, of those that have it among
their labels; each for the labels at the top (`code` for `code/refactor`) and in full. `unlabelled` is the share that
got no label at all, which is right for small talk only. `--wrong` prints what was labelled wrongly.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from prism_core import Embedder, Event, Kind, PrismMemory
from prism_core.embed import MiniLMEmbedder, MultilingualEmbedder

FILE = Path(__file__).parent / "data" / "intents.jsonl"
SCOPE = ("bench",)
COLUMNS = ("top right@1", "top right@3", "full right@1", "full right@3", "unlabelled", "n")


@dataclass(frozen=True)
class Sentence:
    """A line of the file; `label` is empty for small talk, which is for nothing."""

    part: str
    label: str
    language: str
    event: Event


@dataclass(frozen=True)
class Labelled:
    """A sentence with the labels it got."""

    sentence: Sentence
    found: tuple[str, ...]

    def right(self, depth: int, *, top: bool) -> bool:
        """Whether the right label is among the first ones, in full or as far as the top."""
        shown = _tops([self.sentence.label, *self.found]) if top else [self.sentence.label, *self.found]
        return shown[0] in shown[1 : depth + 1]


def sentences(path: Path) -> list[Sentence]:
    """The sentences of a file, in its order."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        kind = Kind.STEP if "action" in row else Kind.MESSAGE
        event = Event(kind=kind, observation=row["observation"], action=row.get("action"))
        found.append(Sentence(row["part"], row["label"] or "", row["language"], event))
    return found


def labelled(asked: Sequence[Sentence], embedder: Embedder | None) -> list[Labelled]:
    """The sentences with the labels a memory gives them."""
    with PrismMemory.open(embedder=embedder) as memory:
        receipts = memory.write_many([sentence.event for sentence in asked], scope=SCOPE)
        units = [memory.get(str(receipt.unit_id), scope=SCOPE) for receipt in receipts]
    return [Labelled(sentence, unit.intent_tags) for sentence, unit in zip(asked, units, strict=True)]


def figures(group: Sequence[Labelled]) -> tuple[float, ...]:
    """The values of `COLUMNS`; shares in [0, 1], small talk only in `unlabelled`."""
    real = [each for each in group if each.sentence.label]
    rights = [fmean(each.right(depth, top=top) for each in real) for top in (True, False) for depth in (1, 3)]
    return (*rights, fmean(not each.found for each in real), len(real))


def main(path: Path, embedders: Mapping[str, Embedder | None], wrong: str | None = None) -> None:
    """Label everything, once with each embedder, and print the table."""
    asked = sentences(path)
    print(f"{'':34}" + "".join(f"{column:>14}" for column in COLUMNS))
    for name, embedder in embedders.items():
        everything = labelled(asked, embedder)
        for part, chosen in _parts().items():
            group = [each for each in everything if chosen(each.sentence)]
            *shares, count = figures(group)
            print(f"{f'{name}, {part}':34}" + "".join(f"{share:14.3f}" for share in shares) + f"{count:14.0f}")
        talk = [each for each in everything if not each.sentence.label]
        print(f"{name}: {fmean(not each.found for each in talk):.2f} of {len(talk)} lines of small talk unlabelled\n")
        if wrong is not None:
            for each in filter(_missed, everything):
                if each.sentence.part == wrong:
                    label = each.sentence.label or "nothing"
                    print(f"  {label:24} {', '.join(each.found) or '-':40} {each.sentence.event.text:.90}")


def _parts() -> dict[str, Callable[[Sentence], bool]]:
    return {
        "tuning": lambda sentence: sentence.part == "tuning",
        "held-out": lambda sentence: sentence.part == "held-out",
        "held-out, English": lambda sentence: sentence.part == "held-out" and sentence.language == "en",
        "held-out, Chinese": lambda sentence: sentence.part == "held-out" and sentence.language == "zh",
    }


def _missed(each: Labelled) -> bool:
    return not each.right(1, top=False) if each.sentence.label else bool(each.found)


def _tops(labels: Sequence[str]) -> list[str]:
    return [label.partition("/")[0] for label in labels]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?", default=FILE)
    parser.add_argument("--wrong", choices=["tuning", "held-out"], help="print what was labelled wrongly in this part")
    parser.add_argument("--multilingual", action="store_true", help="also with the embedder that reads Chinese")
    options = parser.parse_args()
    parts: dict[str, Embedder | None] = {"rules": None, "rules and vectors": MiniLMEmbedder()}
    if options.multilingual:
        parts["rules and e5 vectors"] = MultilingualEmbedder()
    main(options.file, parts, options.wrong)
