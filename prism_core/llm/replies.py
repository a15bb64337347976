"""From a model's reply to checked data, however the model wrapped it.

Small models think aloud, fence their JSON, answer with a bare list, rename keys or repeat the schema. What can be read
without guessing is read; everything else is said to be unusable, with the reason, so that the model can be asked to
mend it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from json_repair import repair_json
from pydantic import BaseModel, ValidationError

T = TypeVar("T", bound=BaseModel)

_THOUGHT_ENDS = ("</think>", "</thinking>", "</reasoning>")
_FENCED = re.compile(r"```(?:json|JSON)?\s*\n?(.*?)```", re.DOTALL)
_SCHEMA_KEYS = frozenset({"properties", "$defs", "$schema", "title", "type", "required", "description"})
LONGEST_REPLY = 200_000
LONGEST_REPAIRED = 8_000
CLOSE = 0.8
"""How alike two keys must be to be taken for one, as difflib measures it."""


class UnusableReplyError(ValueError):
    """A reply that cannot be read as what was asked for; the message says why."""


def parsed(reply: str, schema: type[T]) -> T:
    """Read a reply.

    Args:
        reply: what the model said.
        schema: what it was asked for.

    Raises:
        UnusableReplyError: if it is empty, no JSON, the schema itself, or does not fit.
    """
    problem = "it holds no JSON" if _without_thoughts(reply).strip() else "it is empty"
    for candidate in _candidates(reply[:LONGEST_REPLY]):
        try:
            return schema.model_validate(_shaped(_plain_data(candidate), schema))
        except ValidationError as error:
            problem = _problem(error)
        except UnusableReplyError as error:
            problem = str(error)
        except RecursionError:
            problem = "it is nested too deeply"
    raise UnusableReplyError(problem)


def _candidates(reply: str) -> Iterator[object]:
    """What of the reply may be the answer, the likeliest first."""
    text = _without_thoughts(reply).strip()
    # A model that corrects itself gives its answer last.
    for part in [*reversed(_FENCED.findall(text)), _from_first_bracket(text)]:
        if part.strip():
            value = _loaded(part.strip())
            if value not in ("", [], {}) or part.strip() in ("[]", "{}"):
                yield value


def _loaded(text: str) -> object:
    """The JSON a text begins with, mended where it is not quite JSON; an empty text where that cannot be."""
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        pass  # the usual case where a model wrote it: mended below
    try:
        return repair_json(text[:LONGEST_REPAIRED], return_objects=True)
    except (ValueError, RecursionError):
        return ""


def _without_thoughts(reply: str) -> str:
    """What comes after a model's thinking aloud, or before it where nothing does."""
    lowered = reply.lower()
    ends = max((lowered.rfind(tag) + len(tag) for tag in _THOUGHT_ENDS if tag in lowered), default=0)
    after = reply[ends:]
    return after if "{" in after or "[" in after or not ends else reply[: lowered.find("<")]


def _plain_data(value: object) -> object:
    """JSON that can be stored: no half characters, no NUL, no number that is none."""
    if isinstance(value, str):
        return value.encode(errors="ignore").decode().replace("\0", "").strip()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(_plain_data(str(key))): _plain_data(each) for key, each in value.items()}
    return [_plain_data(each) for each in value] if isinstance(value, list) else value


def _from_first_bracket(text: str) -> str:
    starts = [place for place in (text.find("{"), text.find("[")) if place >= 0]
    return text[min(starts) :] if starts else ""


def _shaped(value: object, schema: type[BaseModel]) -> object:
    """The value as the object the schema describes, where it is clear which that is."""
    if isinstance(value, list):
        objects = [each for each in value if isinstance(each, Mapping)]
        wrapped = next((each for each in objects if _fits(each, schema)), None)
        if wrapped is not None:
            return _shaped(wrapped, schema)
        lists = _list_fields(schema)
        if len(lists) == 1:
            return _renamed({lists[0]: value}, schema)
        raise UnusableReplyError("it is a list; answer with one JSON object")
    if not isinstance(value, Mapping):
        raise UnusableReplyError("it holds no JSON object")
    if _is_schema(value, schema):
        inner = value.get("properties")
        if isinstance(inner, Mapping) and not any(_describes(each) for each in inner.values()):
            return _renamed(dict(inner), schema)
        raise UnusableReplyError("it repeats the schema; fill it with the answer")
    if len(value) == 1 and not _fits(value, schema):
        (inner,) = value.values()
        if isinstance(inner, Mapping) and _fits(inner, schema):
            return _renamed(dict(inner), schema)
    return _renamed(dict(value), schema)


def _is_schema(value: Mapping[str, Any], schema: type[BaseModel]) -> bool:
    return (
        "properties" in value
        and "properties" not in schema.model_fields
        and set(value) <= _SCHEMA_KEYS | {"properties"}
    )


def _describes(value: object) -> bool:
    return isinstance(value, Mapping) and bool({"type", "anyOf", "$ref", "items"} & set(value))


def _list_fields(schema: type[BaseModel]) -> list[str]:
    kinds = schema.model_json_schema()["properties"]
    return [name for name in schema.model_fields if kinds[name].get("type") == "array"]


def _fits(value: Mapping[str, Any], schema: type[BaseModel]) -> bool:
    return bool(set(_renamed(dict(value), schema)) & set(schema.model_fields))


def _renamed(value: dict[str, Any], schema: type[BaseModel]) -> dict[str, Any]:
    """The value with keys that are spelled otherwise under the names of the schema; nested objects too."""
    names = list(schema.model_fields)
    plain = {_plain(name): name for name in names}
    free = [name for name in names if name not in value]
    shaped: dict[str, Any] = {}
    for key, item in value.items():
        name = key if key in schema.model_fields else _meant(key, plain, free)
        if name is not None and name not in shaped:
            shaped[name] = _inner(item, schema, name)
    return shaped


def _meant(key: str, plain: Mapping[str, str], free: list[str]) -> str | None:
    exact = plain.get(_plain(key))
    if exact is not None:
        return exact if exact in free else None
    close = get_close_matches(_plain(key), [_plain(name) for name in free], n=1, cutoff=CLOSE)
    return plain[close[0]] if close else None


def _plain(key: str) -> str:
    return re.sub(r"[\W_]+", "", key).casefold()


def _inner(item: object, schema: type[BaseModel], name: str) -> object:
    inner = _model_of(schema.model_fields[name].annotation)
    if inner is None:
        return item
    if isinstance(item, Mapping):
        return _renamed(dict(item), inner)
    if isinstance(item, list):
        return [_renamed(dict(each), inner) if isinstance(each, Mapping) else each for each in item]
    return item


def _model_of(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = [_model_of(argument) for argument in getattr(annotation, "__args__", ())]
    return next((model for model in inner if model is not None), None)


def _problem(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"]) or "the object"
    return f"{place}: {first['msg']}"
