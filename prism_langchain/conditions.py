"""What a store's filters and namespace conditions say of an item."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.store.base import MatchCondition

_ORDERED: dict[str, Callable[[float, float], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def meets(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether an item's value meets a filter.

    A filter names top-level keys; each is met by an equal value, by a mapping whose entries are all met, by a list of
    the same length whose places are all met, or by operators: `$eq`, `$ne`, and on numbers `$gt`, `$gte`, `$lt`,
    `$lte`. What is no number, or missing, is neither greater nor less than one.

    Raises:
        ValueError: if an operator is unknown.
    """
    return all(_agrees(value.get(key), each) for key, each in (wanted or {}).items())


def _agrees(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(key.startswith("$") for key in wanted):
            return all(_compares(value, name, operand) for name, operand in wanted.items())
        return isinstance(value, Mapping) and all(_agrees(value.get(key), each) for key, each in wanted.items())
    if isinstance(wanted, list | tuple):
        if not isinstance(value, list | tuple) or len(value) != len(wanted):
            return False
        return all(_agrees(each, other) for each, other in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _compares(value: Any, name: str, operand: Any) -> bool:
    if name == "$eq":
        return bool(value == operand)
    if name == "$ne":
        return bool(value != operand)
    if name not in _ORDERED:
        raise ValueError(f"unknown operator {name!r} in a filter; use $eq, $ne, $gt, $gte, $lt or $lte")
    try:
        return _ORDERED[name](float(value), float(operand))
    except (TypeError, ValueError):
        return False


def fits(namespace: Sequence[str], conditions: Sequence[MatchCondition] | None) -> bool:
    """Whether a namespace begins (`prefix`) or ends (`suffix`) as every condition says; `*` stands for any label.

    Raises:
        ValueError: if a condition is of another kind.
    """
    return all(_fits(namespace, condition) for condition in conditions or ())


def _fits(namespace: Sequence[str], condition: MatchCondition) -> bool:
    path = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"unknown match type {condition.match_type!r}; use 'prefix' or 'suffix'")
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
