from __future__ import annotations

import asyncio
import subprocess
import sys
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.base import InvalidNamespaceError, PutOp

from prism_core import PrismMemory
from prism_core.errors import InvalidEventError
from prism_core.testing import HashedEmbedder
from prism_core.testing.scripted import run_threads
from prism_langchain import PrismStore, from_label, to_label
from tests.langchain.scripted import ScriptedChatModel, tool_call

SCOPE = ("acme", "alice", "store")
USERS = ("users", "alice")


@pytest.fixture
def plain(tmp_path: Path) -> PrismMemory:
    return PrismMemory.open(tmp_path / "plain", embedder=HashedEmbedder())


@pytest.fixture
def store(plain: PrismMemory) -> PrismStore:
    return PrismStore(plain, SCOPE)


def ledger(store: PrismStore) -> str:
    """Everything the memory can still tell of a scope, in words."""
    memory, scope = store.memory, store.scope
    units = memory.units(scope=scope)
    return str([units, [memory.history(unit.id, scope=scope) for unit in units]])


class TestValues:
    @pytest.mark.parametrize(
        "value",
        [
            {},
            {"a": {"b": [1, 2.5, None, True, {"c": ""}]}, "": "empty key"},
            {"text": "日本 👩‍🚀 \x00 \ud83d half a pair", "big": 10**40, "tiny": 1e-300},
            {"password": "sk-123 stays", "card": "4111 1111 1111 1111"},
            {"deep": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["bottom"]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]},
            {"long": "word " * 40_000},
            {"$gt": 1, "store.value": "x", "store.id": "y"},
        ],
        ids=["empty", "nested", "odd text", "secrets", "deep", "long", "names"],
    )
    def test_they_come_back_as_they_were(self, store: PrismStore, value: dict[str, Any]) -> None:
        store.put(USERS, "k", value, index=False if "long" in value else None)
        item = store.get(USERS, "k")
        assert item is not None
        assert (item.value, item.key, item.namespace) == (value, "k", USERS)
        assert [found.value for found in store.search(("users",))] == [value]

    @pytest.mark.parametrize(
        "value",
        [{"a": object()}, {"a": {1: "x"}}, {"a": {1, 2}}, {"a": float("nan")}, {"a": datetime.now(UTC)}, "text"],
    )
    def test_what_is_not_json_is_refused_and_nothing_is_stored(self, store: PrismStore, value: Any) -> None:
        with pytest.raises(InvalidEventError, match="JSON"):
            store.batch([PutOp(USERS, "fine", {"a": 1}), PutOp(USERS, "k", value)])
        assert store.search(()) == []

    def test_equal_values_under_two_keys_are_two_items(self, store: PrismStore) -> None:
        for key in ("a", "b"):
            store.put(USERS, key, {"text": "same"})
        assert [item.key for item in store.search(USERS)] == ["a", "b"]
        assert sorted(item.key for item in store.search(USERS, query="same")) == ["a", "b"]

    def test_namespaces_and_keys_do_not_run_into_each_other(self, store: PrismStore) -> None:
        names: list[tuple[tuple[str, ...], str]] = [
            (("a", "b"), "c"),
            (("a",), 'b", "c'),
            (("a",), "b"),
            (("a b",), "c"),
        ]
        for number, (namespace, key) in enumerate(names):
            store.put(namespace, key, {"n": number})
        found = [store.get(namespace, key) for namespace, key in names]
        assert [item.value["n"] for item in found if item is not None] == [0, 1, 2, 3]

    def test_time_to_live_is_refused(self, store: PrismStore) -> None:
        with pytest.raises(NotImplementedError):
            store.put(USERS, "k", {}, ttl=5)
        with pytest.raises(NotImplementedError):
            store.batch([PutOp(USERS, "k", {}, ttl=5)])
        assert store.get(USERS, "k") is None


class TestOverwriting:
    def test_the_old_value_is_nowhere(self, store: PrismStore) -> None:
        store.put(USERS, "k", {"text": "marzipan"})
        first = store.get(USERS, "k")
        store.put(USERS, "k", {"text": "nougat"})
        second = store.get(USERS, "k")
        assert first is not None
        assert second is not None
        assert second.value == {"text": "nougat"}
        assert first.created_at == second.created_at == first.updated_at < second.updated_at
        assert "marzipan" not in ledger(store)
        assert [item.value["text"] for item in store.search((), query="marzipan")] == ["nougat"]
        assert len(store.memory.units(scope=SCOPE)) == 1

    def test_an_overwritten_item_may_leave_and_enter_the_index(self, store: PrismStore) -> None:
        store.put(USERS, "k", {"text": "marzipan"})
        store.put(USERS, "k", {"text": "marzipan"}, index=False)
        assert [item.score for item in store.search(USERS, query="marzipan")] == [None]
        store.put(USERS, "k", {"text": "marzipan"})
        assert [item.score is None for item in store.search(USERS, query="marzipan")] == [False]

    def test_a_deleted_item_is_erased(self, store: PrismStore) -> None:
        store.put(USERS, "k", {"text": "marzipan"})
        store.put(USERS, "other", {"text": "kept"})
        store.delete(USERS, "k")
        store.delete(USERS, "never was")
        assert store.get(USERS, "k") is None
        assert [item.key for item in store.search(())] == ["other"]
        assert "marzipan" not in ledger(store)
        assert store.memory.stats(SCOPE).position.epoch == 1
        store.put(USERS, "k", {"text": "again"})
        assert [item.key for item in store.search(())] == ["other", "k"]

    def test_emptied_and_only_read_namespaces_are_not_listed(self, store: PrismStore) -> None:
        store.put(USERS, "k", {})
        store.get(("nobody",), "k")
        store.search(("nobody", "else"))
        assert store.list_namespaces() == [USERS]
        store.delete(USERS, "k")
        assert store.list_namespaces() == []


class TestSearch:
    @pytest.fixture
    def filled(self, store: PrismStore) -> PrismStore:
        texts = ["likes green tea", "flies to Seattle on Friday", "has a garden with roses", "plays the cello"]
        for number, text in enumerate(texts):
            store.put(("users", f"u{number % 2}"), f"k{number}", {"content": text, "n": number, "odd": number % 2 == 1})
        return store

    def test_the_best_come_first_with_a_score(self, filled: PrismStore) -> None:
        found = filled.search((), query="who flies to Seattle?")
        assert (found[0].key, len(found)) == ("k1", 4)
        scores = [item.score or 0.0 for item in found]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)

    def test_prefix_filter_limit_and_offset_restrict_it(self, filled: PrismStore) -> None:
        assert {item.key for item in filled.search(("users", "u0"), query="Seattle")} == {"k0", "k2"}
        assert {item.key for item in filled.search((), query="Seattle", filter={"odd": False})} == {"k0", "k2"}
        assert {item.key for item in filled.search((), query="tea", filter={"n": {"$gte": 2}})} == {"k2", "k3"}
        every = [item.key for item in filled.search((), query="garden tea")]
        assert [item.key for item in filled.search((), query="garden tea", limit=2, offset=1)] == every[1:3]
        assert filled.search((), query="garden", limit=0) == []
        assert filled.search(("nobody",), query="garden") == []

    def test_the_paths_decide_what_an_item_is_found_by(self, filled: PrismStore) -> None:
        value = {"title": "marzipan", "body": {"parts": ["nougat", "praline"]}, "n": 9}
        filled.put(("sweets",), "titled", value, index=["title"])
        filled.put(("sweets",), "parts", value, index=["body.parts[*]"])
        units = {unit.metadata["store.key"]: unit.text for unit in filled.memory.units(scope=SCOPE)}
        assert (units["titled"], units["parts"]) == ("marzipan", "nougat\npraline")
        assert filled.search(("sweets",), query="marzipan")[0].key == "titled"
        assert filled.search(("sweets",), query="praline")[0].key == "parts"

    def test_the_store_has_paths_of_its_own(self, plain: PrismMemory) -> None:
        store = PrismStore(plain, SCOPE, fields=["content"])
        store.put(USERS, "k", {"content": "marzipan", "other": "nougat"})
        store.put(USERS, "none", {"other": "nougat"})
        assert [(item.key, item.score is None) for item in store.search(USERS, query="nougat")] == [
            ("k", False),
            ("none", True),
        ]

    def test_what_the_index_does_not_hold_comes_last_and_unscored(self, filled: PrismStore) -> None:
        filled.put(("users", "u0"), "blob", {"data": "Seattle Seattle"}, index=False)
        found = filled.search((), query="Seattle")
        assert [item.score is None for item in found] == [False] * 4 + [True]
        assert found[-1].key == "blob"
        assert len(filled.search((), query="Seattle", limit=4)) == 4

    def test_an_unknown_operator_is_named(self, filled: PrismStore) -> None:
        for query in (None, "tea"):
            with pytest.raises(ValueError, match=r"\$near"):
                filled.search((), query=query, filter={"n": {"$near": 3}})

    def test_what_is_no_number_is_neither_more_nor_less(self, filled: PrismStore) -> None:
        assert filled.search((), filter={"content": {"$gt": 1}}) == []
        assert filled.search((), filter={"missing": {"$lte": 1}}) == []


class TestSharing:
    def test_a_store_opened_later_sees_what_was_put(self, tmp_path: Path) -> None:
        with PrismMemory.open(tmp_path, embedder=HashedEmbedder()) as memory:
            PrismStore(memory, SCOPE).put(USERS, "k", {"text": "marzipan"})
        with PrismMemory.open(tmp_path, embedder=HashedEmbedder()) as memory:
            (item,) = PrismStore(memory, SCOPE).search((), query="marzipan")
            assert item.value == {"text": "marzipan"}

    def test_two_stores_over_one_scope_are_one_and_over_two_are_two(self, plain: PrismMemory) -> None:
        one, same, other = (PrismStore(plain, scope) for scope in (SCOPE, SCOPE, ("acme", "bob")))
        one.put(USERS, "k", {"n": 1})
        assert same.get(USERS, "k") == one.get(USERS, "k")
        assert other.get(USERS, "k") is None
        assert other.list_namespaces() == []

    def test_memories_of_an_agent_are_no_items(self, store: PrismStore) -> None:
        store.memory.write({"observation": "said something", "metadata": {"store": 1}}, scope=SCOPE)
        store.put(USERS, "k", {"text": "said something"})
        assert len(store.search(())) == len(store.search((), query="said something")) == 1
        assert store.list_namespaces() == [USERS]

    def test_processes_that_put_the_same_keys_leave_one_item_each(self, tmp_path: Path) -> None:
        code = (
            "import sys\n"
            "from prism_core import PrismMemory\n"
            "from prism_langchain import PrismStore\n"
            "store = PrismStore(PrismMemory.open(sys.argv[1], embedder=None), 's')\n"
            "for n in range(20):\n"
            "    store.put(('a',), f'k{n % 4}', {'by': sys.argv[2], 'n': n})\n"
            "    if n % 7 == 0:\n"
            "        store.delete(('a',), 'k3')\n"
        )
        writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in "xyz"]
        assert [writer.wait() for writer in writers] == [0, 0, 0]
        with PrismMemory.open(tmp_path, embedder=None) as memory:
            found = PrismStore(memory, "s").search(())
            assert sorted(item.key for item in found) == ["k0", "k1", "k2", "k3"]
            assert all(item.value["n"] % 4 == int(item.key[1]) for item in found)
            assert len(memory.units(scope="s")) == 4
            assert all(finding.ok for finding in memory.doctor())

    def test_threads_that_put_the_same_key_leave_one_item(self, store: PrismStore) -> None:
        def put() -> None:
            for n in range(10):
                PrismStore(store.memory, SCOPE).put(USERS, f"k{n % 2}", {"n": n})

        run_threads(*[put] * 4)
        assert [item.value["n"] for item in store.search(())] == [8, 9]


class TestAsync:
    async def test_both_kinds_of_calls_work_inside_a_running_loop(self, store: PrismStore) -> None:
        await store.aput(USERS, "k", {"text": "marzipan"})
        store.put(USERS, "sync", {"text": "nougat"})
        assert [item.key for item in store.search(USERS, query="marzipan", limit=1)] == ["k"]
        assert [item.key for item in await store.asearch(USERS, query="nougat", limit=1)] == ["sync"]
        assert await store.aget(USERS, "k") == store.get(USERS, "k")
        assert await store.alist_namespaces() == store.list_namespaces() == [USERS]
        await store.adelete(USERS, "k")
        assert store.get(USERS, "k") is None

    async def test_many_at_once(self, store: PrismStore) -> None:
        await asyncio.gather(*(store.aput(USERS, f"k{n % 5}", {"n": n}) for n in range(25)))
        assert len(await store.asearch(USERS, limit=100)) == 5

    def test_outside_a_loop(self, store: PrismStore) -> None:
        asyncio.run(store.aput(USERS, "k", {"n": 1}))
        assert asyncio.run(store.aget(USERS, "k")) == store.get(USERS, "k")


class TestLabels:
    def test_an_address_is_refused_as_it_is_and_taken_as_a_label(self, store: PrismStore) -> None:
        for namespace in (("users", "alice@example.com"), ("users", ""), (), ("langgraph", "a"), ("users", 42)):
            with pytest.raises(InvalidNamespaceError):
                store.put(namespace, "k", {})  # type: ignore[arg-type]  # the number is a part of the point
        for user in ("alice@example.com", 42, "langgraph", "50%.", "a%2Eb", "\x00"):
            store.put((to_label(user), "notes"), "k", {"user": user})
            item = store.get((to_label(user), "notes"), "k")
            assert item is not None
            assert from_label(item.namespace[0]) == str(user)
        assert len(store.list_namespaces()) == 6
        with pytest.raises(ValueError, match="empty"):
            to_label("")


class TestHosts:
    @pytest.fixture
    def langmem(self) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it imports what LangGraph deprecates
            return pytest.importorskip("langmem")

    def test_an_agents_tool_reads_and_writes_it(self, store: PrismStore) -> None:
        @tool
        def note(text: str, runtime: ToolRuntime) -> str:
            """Keep a note."""
            assert runtime.store is not None
            known = runtime.store.search(USERS, query=text)
            runtime.store.put(USERS, text, {"text": text})
            return f"{len(known)} known"

        def respond(messages: list[BaseMessage]) -> AIMessage:
            calls = [message for message in messages if message.type == "tool"]
            return AIMessage("done") if len(calls) == 2 else tool_call("note", text=f"marzipan {len(calls)}")

        agent = create_agent(ScriptedChatModel(responder=respond), tools=[note], store=store)
        state = agent.invoke({"messages": [HumanMessage("keep two notes")]})
        assert [message.content for message in state["messages"] if message.type == "tool"] == ["0 known", "1 known"]
        assert [item.key for item in store.search(USERS)] == ["marzipan 0", "marzipan 1"]

    async def test_langmems_tools_work_with_it(self, store: PrismStore, langmem: Any) -> None:
        manage = langmem.create_manage_memory_tool(namespace=USERS, store=store)
        search = langmem.create_search_memory_tool(namespace=USERS, store=store)
        manage.invoke({"content": "Alice likes marzipan", "action": "create"})
        await manage.ainvoke({"content": "Alice flies on Friday", "action": "create"})
        assert "Alice likes marzipan" in search.invoke({"query": "marzipan", "limit": 1})
        (first, second) = store.search(USERS)
        manage.invoke({"content": "Alice likes nougat", "action": "update", "id": first.key})
        assert "marzipan" not in await search.ainvoke({"query": "what does Alice like?"})
        manage.invoke({"action": "delete", "id": second.key})
        assert [item.value for item in store.search(USERS)] == [{"content": "Alice likes nougat"}]


@pytest.mark.parametrize(
    ("missing", "says"),
    [("langchain_core", "langchain-core is not installed"), ("langgraph", "langgraph-checkpoint is not installed")],
)
def test_a_missing_package_is_reported_with_its_extra(missing: str, says: str) -> None:
    code = (
        f"import sys\nsys.modules[{missing!r}] = None\n"
        "import prism_core.errors, prism_langchain\n"
        "try:\n"
        "    prism_langchain.PrismStore\n"
        "except prism_core.errors.MissingExtraError as error:\n"
        "    print(error)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == f"{says}; pip install 'prism-memory[langchain]'\n"
