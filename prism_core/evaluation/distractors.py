"""Units that have nothing to do with any question: prose from the documentation of the installed packages.

Each is 20 to 60 words of whole sentences, drawn by a fixed seed from the docstrings and descriptions of the packages
and of Python itself. What they are depends on what is installed; the same environment gives the same texts. Texts and
vectors are cached in the user's cache folder and are never part of the project.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import random
import re
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import distributions
from pathlib import Path

import numpy as np

from prism_core.changes import FloatArray
from prism_core.errors import DatasetError
from prism_core.evaluation.datasets import Item
from prism_core.protocols import Embedder
from prism_core.types import Event

WORDS = range(20, 61)
SEED = 20260530
SESSION = 40
LARGEST_SOURCE = 400_000
SENTENCE_WORDS = range(5, 41)
_BATCH = 1000
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_NOT_PROSE = re.compile(r"[`|=<>{}\[\]\\^_#@*~]|https?:|::|--|>>>|\d{4,}")


def distractors(count: int) -> list[str]:
    """Distinct units of prose.

    Args:
        count: how many.

    Raises:
        DatasetError: if the installed packages hold no prose.
    """
    cached = _cache_folder() / f"distractors-{SEED}-{count}.jsonl"
    if cached.exists():
        return [json.loads(line) for line in cached.read_text(encoding="utf-8").splitlines()]
    units = drawn(count, _documentation())
    cached.parent.mkdir(parents=True, exist_ok=True)
    cached.write_text("".join(json.dumps(text) + "\n" for text in units), encoding="utf-8")
    return units


def distractor_vectors(count: int, embedder: Embedder) -> dict[str, FloatArray]:
    """The vectors of `distractors`, by text; computed once per embedder, which takes minutes for 100,000.

    Raises:
        DatasetError: if the installed packages hold no prose.
        EmbeddingError: if they cannot be computed.
    """
    texts = distractors(count)
    digest = hashlib.blake2b("\n".join(texts).encode(), digest_size=8).hexdigest()
    cached = _cache_folder() / f"distractors-{digest}-{embedder.id}.npy"
    if not cached.exists():
        batches = (texts[start : start + _BATCH] for start in range(0, count, _BATCH))
        rows = np.concatenate([embedder.embed_documents(batch) for batch in batches])
        unfinished = cached.with_suffix(".part.npy")
        np.save(unfinished, rows)
        unfinished.replace(cached)
    return dict(zip(texts, np.load(cached), strict=True))


def drawn(count: int, documentation: Iterable[str]) -> list[str]:
    """Distinct units of whole sentences, by a fixed seed.

    Raises:
        DatasetError: if the documentation holds no prose.
    """
    sentences = sorted(set(_sentences(documentation)))
    if not sentences:
        raise DatasetError("installed packages", 0, "hold no documentation to draw distractors from")
    draw, units = random.Random(SEED), dict[str, None]()
    while len(units) < count:
        unit = _unit(sentences, draw)
        if len(unit.split()) in WORDS:
            units[unit] = None
    return list(units)


def _unit(sentences: Sequence[str], draw: random.Random) -> str:
    wanted, words = draw.randint(WORDS.start, WORDS.stop - 15), list[str]()
    while len(words) < wanted:
        words += draw.choice(sentences).split()
    return " ".join(words)


def distractor_items(count: int) -> tuple[Item, ...]:
    """The same as items to be added to a system, forty to a session.

    Raises:
        DatasetError: if the installed packages hold no prose.
    """
    events = (
        Event(observation=text, session_id=f"distractors {number // SESSION}")
        for number, text in enumerate(distractors(count))
    )
    return tuple(Item(f"distractor {number}", (event,), event) for number, event in enumerate(events))


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "prism-memory"


def _sentences(documentation: Iterable[str]) -> Iterator[str]:
    for text in documentation:
        for paragraph in re.split(r"\n\s*\n", text):
            for sentence in _SENTENCE_END.split(" ".join(paragraph.split())):
                if (
                    len(sentence.split()) in SENTENCE_WORDS
                    and sentence[0].isalpha()
                    and not _NOT_PROSE.search(sentence)
                ):
                    yield sentence


def _documentation() -> Iterator[str]:
    for distribution in distributions():
        yield distribution.metadata["Description"] or distribution.read_text("METADATA") or ""
        for file in distribution.files or ():
            if file.suffix == ".py":
                yield from _docstrings(Path(str(file.locate())))
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if "site-packages" not in path.parts:
            yield from _docstrings(path)


def _docstrings(path: Path) -> Iterator[str]:
    try:
        if path.stat().st_size > LARGEST_SOURCE:
            return
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return  # a file of somebody else's package that cannot be read holds no prose
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
