"""LlamaIndex metadata filters as conditions on memories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from enum import Enum
from operator import ge, gt, le, lt
from typing import Any

from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from prism_core import MemoryUnit
from prism_llamaindex.errors import UnsupportedFilterError

Test = Callable[[MemoryUnit], bool]

FIELDS = frozenset(
    {
        "kind",
        "source",
        "speaker",
        "session_id",
        "task_id",
        "step_id",
        "event_time",
        "outcome",
        "status",
        "intent_tags",
        "entities",
        "action_type",
        "importance",
    }
)
"""Fields of a memory that a filter may name where the caller's metadata has no such key."""

_ORDER: Mapping[FilterOperator, Callable[[Any, Any], bool]] = {
    FilterOperator.GT: gt,
    FilterOperator.GTE: ge,
    FilterOperator.LT: lt,
    FilterOperator.LTE: le,
}
_OF_LISTS = frozenset({FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL})
_OF_TEXT = frozenset({FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE})
_WITHOUT = frozenset({FilterOperator.NE, FilterOperator.NIN})
"""True of a memory that has no such key, as in LlamaIndex's own store."""


def where_of(filters: MetadataFilters) -> Test | Mapping[str, Any]:
    """What `PrismMemory.search` takes as `where`: values to look up where that says it all, else a test of every unit.

    Raises:
        UnsupportedFilterError: if a filter cannot be applied.
    """
    test, equal = condition_of(filters), {}
    for each in filters.filters:
        if isinstance(each, MetadataFilters) or each.operator is not FilterOperator.EQ:
            return test
        if each.key in FIELDS or each.key in equal:
            return test
        equal[each.key] = each.value
    return equal if equal and filters.condition in (None, FilterCondition.AND) else test


def condition_of(filters: MetadataFilters) -> Test:
    """A test that a memory passes where the filters do.

    A filter's key names an entry of the memory's metadata or, where there is none, one of `FIELDS`. `event_time` is
    compared as an instant with an ISO 8601 text or a POSIX number. What cannot be compared does not match; a missing
    value matches `!=`, `nin` and `is_empty` only. Nested filters are combined with `and`, `or` and `not` (none holds).

    Raises:
        UnsupportedFilterError: if an operator is unknown, or its value is not of the kind it needs.
    """
    tests = [condition_of(each) if isinstance(each, MetadataFilters) else _test(each) for each in filters.filters]
    if not tests:
        return lambda unit: True
    match filters.condition or FilterCondition.AND:
        case FilterCondition.AND:
            return lambda unit: all(test(unit) for test in tests)
        case FilterCondition.OR:
            return lambda unit: any(test(unit) for test in tests)
        case FilterCondition.NOT:
            return lambda unit: not any(test(unit) for test in tests)
        case unknown:
            raise UnsupportedFilterError(unknown, "is no condition; use and, or, not")


def _test(each: MetadataFilter) -> Test:
    _check(each)
    key, operator = each.key, each.operator
    wanted = _moment(each.value) if key == "event_time" and operator in _ORDER else each.value

    def holds(unit: MemoryUnit) -> bool:
        value = _value(unit, key)
        if operator is FilterOperator.IS_EMPTY:
            return value in (None, "", [])
        if value is None:
            return operator in _WITHOUT
        if isinstance(wanted, datetime):
            return isinstance(moment := _moment(value), datetime) and _ORDER[operator](moment, wanted)
        return _matches(operator, value, wanted)

    return holds


def _check(each: MetadataFilter) -> None:
    operator, value = each.operator, each.value
    if not isinstance(operator, FilterOperator):
        raise UnsupportedFilterError(each, f"has the unknown operator {operator!r}")
    if operator is FilterOperator.IS_EMPTY:
        return
    if operator in _OF_LISTS and not isinstance(value, list):
        raise UnsupportedFilterError(each, f"needs a list of values for {operator.value!r}")
    if operator in _OF_TEXT and not isinstance(value, str):
        raise UnsupportedFilterError(each, f"needs a text for {operator.value!r}")
    if operator in _ORDER and not isinstance(value, int | float | str):
        raise UnsupportedFilterError(each, f"needs a number or a text for {operator.value!r}")
    if operator in _ORDER and each.key == "event_time" and not isinstance(_moment(value), datetime):
        raise UnsupportedFilterError(each, "needs an instant with a time zone, such as '2026-05-20T09:00:00Z'")
    if operator is FilterOperator.CONTAINS and (value is None or isinstance(value, list)):
        raise UnsupportedFilterError(each, "needs one value for 'contains'; use 'any' or 'all' for several")
    if value is None:
        raise UnsupportedFilterError(each, f"needs a value for {operator.value!r}; use 'is_empty' for missing ones")


def _value(unit: MemoryUnit, key: str) -> Any:
    if key in unit.metadata:
        return unit.metadata[key]
    value = getattr(unit, key) if key in FIELDS else None
    if isinstance(value, Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def _matches(operator: FilterOperator, value: Any, wanted: Any) -> bool:
    match operator:
        case FilterOperator.EQ:
            return bool(value == wanted)
        case FilterOperator.NE:
            return bool(value != wanted)
        case FilterOperator.IN:
            return value in wanted
        case FilterOperator.NIN:
            return value not in wanted
        case FilterOperator.CONTAINS:
            return _several(value) and wanted in value
        case FilterOperator.ANY:
            return _several(value) and any(each in value for each in wanted)
        case FilterOperator.ALL:
            return _several(value) and all(each in value for each in wanted)
        case FilterOperator.TEXT_MATCH:
            return isinstance(value, str) and wanted in value
        case FilterOperator.TEXT_MATCH_INSENSITIVE:
            return isinstance(value, str) and wanted.casefold() in value.casefold()
        case _:
            return _comparable(value, wanted) and _ORDER[operator](value, wanted)


def _several(value: Any) -> bool:
    return isinstance(value, Collection) and not isinstance(value, str)


def _comparable(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str)
    return isinstance(one, int | float) and isinstance(other, int | float)


def _moment(value: Any) -> Any:
    """An instant where the value names one, else the value."""
    try:
        moment = datetime.fromtimestamp(value, UTC) if isinstance(value, int | float) else value
        moment = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    except (ValueError, OverflowError, OSError):
        return value
    return moment if isinstance(moment, datetime) and moment.utcoffset() is not None else value
