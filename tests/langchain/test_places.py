from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from prism_core.errors import ScopeError
from prism_langchain import scope_from_config, scope_from_context
from prism_langchain.places import Place, Places, configured_thread_id, is_delegated, thread_id


@dataclass
class Context:
    tenant: str
    user_id: object


class ContextModel(BaseModel):
    tenant: str
    user_id: str


def runtime(context: object = None, **info: Any) -> Any:
    return SimpleNamespace(context=context, execution_info=SimpleNamespace(**info) if info else None)


@pytest.mark.parametrize(
    "context",
    [
        Context("acme", "alice@example.com"),
        ContextModel(tenant="acme", user_id="alice@example.com"),
        {"tenant": "acme", "user_id": "alice@example.com"},
    ],
)
def test_the_scope_is_read_from_fields_of_the_context(context: object) -> None:
    assert scope_from_context("tenant", "user_id")(runtime(context)) == ("acme", "alice@example.com")
    assert scope_from_context("user_id", prefix=["shop"])(runtime(context)) == ("shop", "alice@example.com")


def test_c12_whole_numbers_name_users_too() -> None:
    assert scope_from_context("user_id")(runtime({"user_id": 7})) == ("7",)


@pytest.mark.parametrize("value", [None, "", "  ", True, 1.5, ["a"]])
def test_e8_what_names_nobody_is_no_scope(value: object) -> None:
    with pytest.raises(ScopeError, match="user_id"):
        scope_from_context("user_id")(runtime({"user_id": value}))


@pytest.mark.parametrize("run", [runtime(), runtime({}), None, runtime(Context("acme", None))])
def test_e8_a_missing_context_is_no_scope(run: Any) -> None:
    with pytest.raises(ScopeError, match="user_id"):
        scope_from_context("user_id")(run)


def test_a_scope_of_no_field_is_refused() -> None:
    with pytest.raises(ScopeError, match="no field"):
        scope_from_context(prefix=["acme"])


def test_the_scope_of_a_runnable_is_read_from_its_config() -> None:
    assert scope_from_config("user_id")({"configurable": {"user_id": "alice"}}) == ("alice",)
    empty: list[Any] = [None, {}, {"configurable": {}}]
    for config in empty:
        with pytest.raises(ScopeError, match="configurable"):
            scope_from_config("user_id")(config)


def test_places_are_fixed_or_read_from_the_run() -> None:
    assert Places("alice", "s1").of(None) == Place(("alice",), "s1", None)
    read = Places(lambda run: ["acme", run.context], thread_id, lambda run: f"task of {run.context}")
    assert read.of(runtime("bob", thread_id="t1")) == Place(("acme", "bob"), "t1", "task of bob")


def test_a_scope_that_is_read_badly_raises() -> None:
    with pytest.raises(ScopeError):
        Places(lambda run: None).of(runtime())
    with pytest.raises(ScopeError):
        Places("")


def test_sessions_are_threads() -> None:
    assert thread_id(runtime()) is None
    assert thread_id(runtime(thread_id="t1")) == "t1"
    assert configured_thread_id({"configurable": {"thread_id": 12}}) == "12"
    assert configured_thread_id(None) is None


@pytest.mark.parametrize(
    ("namespace", "delegated"),
    [
        ("model:1", False),
        ("tools:1", False),
        ("agent:1|PrismMemoryMiddleware.before_model:2", False),
        ("tools:1|PrismMemoryMiddleware.before_model:2", True),
        ("agent:1|tools:2|model:3", True),
    ],
)
def test_an_agent_in_a_tool_is_delegated(namespace: str, delegated: bool) -> None:
    assert is_delegated(runtime(checkpoint_ns=namespace)) is delegated
    assert not is_delegated(runtime())
