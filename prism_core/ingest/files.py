"""Reading JSON and JSONL files, with the line of every problem."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from prism_core.errors import DatasetError

_NEXT_MEMBER = re.compile(r"[\s,]*(?=[^\s,\]])")
_MILLISECONDS_FROM = 1e11
"""Epoch numbers from here on are taken for milliseconds; as seconds they would lie beyond the year 5000."""


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of a file.

    Attributes:
        path: the file, as it is named in errors.
        line: 1-based line on which the object starts.
        value: the object.
        part: which part of the file's object is meant, such as `message 3`; empty for all of it.
        field: where in that part the value stands, such as `tool_calls[0]`; empty for all of it.
        in_file: whether there is a file; messages passed as a list have none.
    """

    path: str
    line: int
    value: Mapping[str, Any]
    part: str = ""
    field: str = ""
    in_file: bool = True

    def fail(self, problem: str) -> NoReturn:
        """Report a problem of this record.

        Raises:
            DatasetError: always.
        """
        raise DatasetError(self.path, self.line, f"{self.part}: {problem}" if self.part else problem)

    def named(self, key: str) -> str:
        """A field of this object, as it is named in errors: `tool_calls[0].function`."""
        return f"{self.field}.{key}" if self.field else key

    def nested(self, value: object, key: str) -> Record:
        """An object under a key of this one.

        Raises:
            DatasetError: if it is not a JSON object.
        """
        if not isinstance(value, dict):
            self.fail(f"{self.named(key)} is {'missing' if value is None else f'{kind_of(value)}, not an object'}")
        return replace(self, value=value, field=self.named(key))

    def text(self, key: str, default: str | None = None) -> str:
        """A string (or number, as a string) under a key.

        Args:
            key: which field.
            default: what a missing or null field stands for; None makes the field mandatory.

        Raises:
            DatasetError: if it is missing without a default, or of another type.
        """
        value = self.value.get(key)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self.fail(f"needs {self.named(key)!r} as text; it is {kind_of(value)}")
        return str(value)

    def optional(self, key: str) -> str | None:
        """A string under a key, or None where the field is missing, null or empty."""
        return self.text(key, "") or None

    def items(self, key: str) -> list[object]:
        """The list under a key.

        Raises:
            DatasetError: if there is none.
        """
        values = self.value.get(key)
        if not isinstance(values, list):
            self.fail(f"needs {self.named(key)!r} as a list; it is {kind_of(values)}")
        return values

    def children(self, key: str, noun: str) -> list[Record]:
        """The objects of a list under a key, each a part of its own.

        Raises:
            DatasetError: if there is no list, or something in it is not an object.
        """
        return [self._child(value, f"{noun} {position}") for position, value in enumerate(self.items(key))]

    def _child(self, value: object, part: str) -> Record:
        if not isinstance(value, dict):
            self.fail(f"{part} is {kind_of(value)}, not an object")
        return replace(self, value=value, part=part)

    def time(self, *keys: str) -> datetime | None:
        """The instant under the first of these keys that is present; aware UTC.

        Raises:
            DatasetError: if it is neither an ISO 8601 time with a time zone nor a number of seconds since 1970.
        """
        for key in keys:
            value = self.value.get(key)
            if value is not None:
                return self._instant(key, value)
        return None

    def _instant(self, key: str, value: object) -> datetime:
        try:
            if isinstance(value, int | float) and not isinstance(value, bool):
                return datetime.fromtimestamp(value / 1000 if value >= _MILLISECONDS_FROM else value, tz=UTC)
            instant = datetime.fromisoformat(str(value))
            if instant.tzinfo is not None:
                return instant.astimezone(UTC)
        except (ValueError, OverflowError, OSError):
            self.fail(f"{key}={value!r} is not a time; write for example 2026-05-20T09:00:00Z")
        self.fail(f"{key}={value!r} has no time zone; write for example 2026-05-20T09:00:00Z")


def kind_of(value: object) -> str:
    """What a value is, in words of JSON."""
    return _KINDS.get(type(value), type(value).__name__)


_KINDS = {
    type(None): "missing or null",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
}


def read_records(path: str | Path) -> list[Record]:
    """The JSON objects of a file: one document, an array of objects, or one object a line.

    Raises:
        DatasetError: if it cannot be read, is empty, or is not JSON.
    """
    name, text = str(path), _read(Path(path))
    try:
        document = _parse(text)
    except ValueError as error:
        return _read_lines(name, text, error)
    if isinstance(document, dict):
        return [Record(name, _first_line(text), document)]
    if isinstance(document, list) and document:
        lines = _member_lines(text)
        return [_record(name, line, value) for line, value in zip(lines, document, strict=True)]
    raise DatasetError(name, 1, "holds no JSON object")


def _read(path: Path) -> str:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DatasetError(str(path), 1, f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise DatasetError(str(path), line, "is not UTF-8 text") from error
    if not text.strip():
        raise DatasetError(str(path), 1, "is empty")
    return text


def _first_line(text: str) -> int:
    return text[: len(text) - len(text.lstrip())].count("\n") + 1


def _member_lines(text: str) -> Iterator[int]:
    """The 1-based lines on which the members of a JSON array start."""
    decoder, place, line, counted = json.JSONDecoder(), text.index("[") + 1, 1, 0
    while (member := _NEXT_MEMBER.match(text, place)) is not None:
        line, counted = line + text.count("\n", counted, member.end()), member.end()
        yield line
        place = decoder.raw_decode(text, member.end())[1]


def _read_lines(name: str, text: str, document_error: ValueError) -> list[Record]:
    records: list[Record] = []
    # Only "\n" ends a line of JSONL; str.splitlines would also cut at U+2028 inside a string.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = _parse(line)
        except ValueError as error:
            # A first line that is no JSON by itself means one document over several lines, unless others are objects.
            if not records and isinstance(document_error, json.JSONDecodeError) and not _any_object(text):
                raise DatasetError(name, document_error.lineno, f"is not JSON ({document_error.msg})") from error
            raise DatasetError(name, number, f"is not JSON ({error})") from error
        records.append(_record(name, number, value))
    return records


def _any_object(text: str) -> bool:
    for line in text.split("\n"):
        if line.startswith("{") and line.rstrip().endswith("}"):
            try:
                return isinstance(_parse(line), dict)
            except ValueError:
                continue
    return False


def _record(name: str, line: int, value: object) -> Record:
    if not isinstance(value, dict):
        raise DatasetError(name, line, f"holds {kind_of(value)}, not an object")
    return Record(name, line, value)


def _parse(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
