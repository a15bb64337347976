"""Printing what memories say: plain lines that cannot steer the terminal they appear on."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Mapping

import typer
from rich.cells import cell_len, set_cell_size

from prism_core.types import MemoryUnit, Scope

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WIDTH_IN_A_PIPE = 120


def say(text: str = "", *, err: bool = False) -> None:
    """Print text; control characters other than tab and newline become visible marks."""
    typer.echo(_CONTROL.sub("\ufffd", text), err=err)


def note(text: str) -> None:
    """Print a remark that is no part of the answer."""
    say(f"note: {text}", err=True)


def as_json(value: object, *, indent: int | None = 2) -> str:
    """A value as JSON text, in the letters it is written in."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def unit_fields(unit: MemoryUnit) -> dict[str, object]:
    """A unit as JSON values, `text` included."""
    return {**unit.model_dump(mode="json"), "text": unit.text}


def width() -> int:
    """Columns of the terminal."""
    return shutil.get_terminal_size((_WIDTH_IN_A_PIPE, 24)).columns


def cut(text: str, columns: int) -> str:
    """A text as one line of at most so many columns; Chinese characters take two."""
    line = " ".join(text.split())
    return line if cell_len(line) <= columns else set_cell_size(line, max(0, columns - 3)).rstrip() + "..."


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as `1 unit` or `2,862 messages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(counts: Mapping[str, int]) -> str:
    """Counts by name, largest first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{count:,} {name}" for name, count in ordered) or "none"


def named(scope: Scope) -> str:
    """A scope as the options that name it."""
    return " ".join(f"--scope {shlex.quote(segment)}" for segment in scope)
