"""The note beside an index on disk: which of its directories is the current one, and whether it can be trusted.

The note is replaced as a whole, so that a crash leaves the old one or the new one and never half of either.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self
from uuid import uuid4

_FORMAT = 1
_FILE = "index.json"
_GENERATION = re.compile(r"chroma-(\d+)")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is known about an index on disk.

    Attributes:
        generation: number of the directory it lives in.
        id: names this filling; another one whenever it starts empty.
        dirty: whether it was written to and not closed since; such files may be torn.
    """

    generation: int
    id: str
    dirty: bool = False

    @classmethod
    def settle(cls, directory: Path) -> Self:
        """The manifest to go on with: the stored one where it can be trusted, else that of an empty next generation.

        Directories of other generations are removed, as far as that is possible. None of them is ever opened.
        """
        manifest = cls._read(directory)
        if manifest is None or manifest.dirty or not manifest.path(directory).is_dir():
            # Counted from what lies there: a directory that could not be removed must not be met again.
            manifest = cls(max(_generations(directory), default=0) + 1, uuid4().hex)
            manifest.path(directory).mkdir()
            manifest.write(directory)
        for generation in _generations(directory) - {manifest.generation}:
            shutil.rmtree(directory / f"chroma-{generation}", ignore_errors=True)
        return manifest

    def path(self, directory: Path) -> Path:
        """The directory of this generation."""
        return directory / f"chroma-{self.generation}"

    def marked(self, *, dirty: bool) -> Self:
        """The same generation with another mark."""
        return replace(self, dirty=dirty)

    def write(self, directory: Path) -> None:
        """Store it, durably and all at once."""
        temporary = directory / f"{_FILE}.tmp"
        with temporary.open("w", encoding="utf-8") as file:
            json.dump({"format": _FORMAT, **asdict(self)}, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(directory / _FILE)
        _sync_directory(directory)

    @classmethod
    def _read(cls, directory: Path) -> Self | None:
        try:
            stored = json.loads((directory / _FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        match stored:
            case {"format": 1, "generation": int(generation), "id": str(name), "dirty": bool(dirty)}:
                return cls(generation, name, dirty)
        return None


def _generations(directory: Path) -> set[int]:
    found = (_GENERATION.fullmatch(entry.name) for entry in directory.iterdir())
    return {int(name[1]) for name in found if name}


def _sync_directory(directory: Path) -> None:
    # A rename is durable once its directory is; Windows has no such call and needs none.
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
