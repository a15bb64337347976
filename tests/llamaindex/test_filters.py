from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.vector_stores import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from prism_core import Kind
from prism_core.testing import make_unit
from prism_llamaindex.errors import UnsupportedFilterError
from prism_llamaindex.filters import condition_of, where_of

UNIT = make_unit(
    "u1",
    "text",
    kind=Kind.DOCUMENT,
    speaker="Ann",
    session_id="7f3c-11/x",
    intent_tags=("plan",),
    metadata={"page": 3, "file": "Report.pdf", "tags": ["red", "blue"], "none": None, "empty": [], "kind": "memo"},
)


def holds(key: str, value: Any, operator: str) -> bool:
    each = MetadataFilter(key=key, value=value, operator=FilterOperator(operator))
    return condition_of(MetadataFilters(filters=[each]))(UNIT)


@pytest.mark.parametrize(
    ("key", "operator", "value", "expected"),
    [
        ("page", "==", 3, True),
        ("page", "==", 4, False),
        ("page", "!=", 4, True),
        ("missing", "!=", 4, True),
        ("missing", "==", 4, False),
        ("page", ">", 2, True),
        ("page", ">", 3, False),
        ("page", ">=", 3, True),
        ("page", "<", 4.5, True),
        ("page", "<=", 2, False),
        ("page", "<", "4", False),
        ("missing", "<", 4, False),
        ("page", "in", [1, 3], True),
        ("page", "nin", [1, 3], False),
        ("missing", "nin", [1], True),
        ("tags", "any", ["red", "green"], True),
        ("tags", "any", ["green"], False),
        ("tags", "all", ["red", "blue"], True),
        ("tags", "all", ["red", "green"], False),
        ("file", "any", ["R"], False),
        ("tags", "contains", "red", True),
        ("tags", "contains", "re", False),
        ("file", "text_match", "Report", True),
        ("file", "text_match", "report", False),
        ("file", "text_match_insensitive", "report", True),
        ("page", "text_match", "3", False),
        ("none", "is_empty", None, True),
        ("empty", "is_empty", None, True),
        ("missing", "is_empty", None, True),
        ("page", "is_empty", None, False),
        ("speaker", "==", "Ann", True),
        ("kind", "==", "memo", True),
        ("intent_tags", "contains", "plan", True),
        ("outcome", "==", "unknown", True),
        ("id", "==", "u1", False),
        ("event_time", ">=", "2026-05-20T11:00:00+02:00", True),
        ("event_time", "<", "2026-05-20T09:00:00Z", False),
        ("event_time", ">", 1_700_000_000, True),
    ],
)
def test_every_operator(key: str, operator: str, value: Any, expected: bool) -> None:
    assert holds(key, value, operator) is expected


def combined(condition: FilterCondition | None, *filters: Any) -> MetadataFilters:
    return MetadataFilters(filters=list(filters), condition=condition)


YES = MetadataFilter(key="page", value=3)
NO = MetadataFilter(key="page", value=4)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (combined(FilterCondition.AND, YES, NO), False),
        (combined(None, YES, YES), True),
        (combined(FilterCondition.OR, YES, NO), True),
        (combined(FilterCondition.NOT, NO, NO), True),
        (combined(FilterCondition.NOT, YES, NO), False),
        (combined(FilterCondition.AND), True),
        (combined(FilterCondition.AND, YES, combined(FilterCondition.OR, NO, combined(FilterCondition.NOT, NO))), True),
        (combined(FilterCondition.NOT, combined(FilterCondition.AND, YES, YES)), False),
    ],
)
def test_conditions_nest(filters: MetadataFilters, expected: bool) -> None:
    assert condition_of(filters)(UNIT) is expected


@pytest.mark.parametrize(
    ("operator", "value", "told"),
    [
        ("in", "x", "a list of values for 'in'"),
        ("all", 3, "a list of values for 'all'"),
        ("text_match", 3, "a text for 'text_match'"),
        (">", ["x"], "a number or a text for '>'"),
        ("contains", ["x"], "use 'any' or 'all'"),
        ("==", None, "use 'is_empty'"),
    ],
)
def test_what_cannot_work_is_refused_at_once(operator: str, value: Any, told: str) -> None:
    with pytest.raises(UnsupportedFilterError, match=told):
        holds("page", value, operator)


@pytest.mark.parametrize("value", ["yesterday", "2026-05-20T09:00:00"])
def test_an_instant_needs_a_time_zone(value: str) -> None:
    with pytest.raises(UnsupportedFilterError, match="instant with a time zone"):
        holds("event_time", value, ">")


def test_a_condition_or_an_operator_of_the_future_is_refused() -> None:
    with pytest.raises(UnsupportedFilterError, match="xor"):
        condition_of(MetadataFilters.model_construct(filters=[YES], condition="xor"))
    unknown = MetadataFilter.model_construct(key="page", value=3, operator="near")
    with pytest.raises(UnsupportedFilterError, match="near"):
        condition_of(MetadataFilters.model_construct(filters=[unknown], condition=None))


@given(
    st.sampled_from(["==", "!=", "in", "nin", "is_empty"]),
    st.sampled_from(["a", "b", "missing"]),
    st.integers(0, 2),
    st.sampled_from(list(FilterCondition)),
    st.dictionaries(st.sampled_from("ab"), st.none() | st.integers(0, 2)),
)
def test_it_agrees_with_the_store_of_llama_index(
    operator: str, key: str, value: int, condition: FilterCondition, metadata: dict[str, Any]
) -> None:
    given_value: Any = [value] if operator in ("in", "nin") else value
    filters = MetadataFilters(
        filters=[MetadataFilter(key=key, value=given_value, operator=FilterOperator(operator)), NO], condition=condition
    )
    theirs = build_metadata_filter_fn(lambda _: metadata, filters)
    assert condition_of(filters)(make_unit("u1", metadata=metadata)) is theirs("u1")


def test_equality_is_looked_up_and_all_else_is_asked_of_every_unit() -> None:
    file = MetadataFilter(key="file", value="a.txt")
    assert where_of(combined(None, YES, file)) == {"page": 3, "file": "a.txt"}
    for other in (
        combined(FilterCondition.OR, YES, file),
        combined(None, YES, NO),
        combined(None, combined(None, YES)),
        combined(None, MetadataFilter(key="speaker", value="Ann")),
        combined(None),
    ):
        assert callable(where_of(other))
