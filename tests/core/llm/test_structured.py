import threading
from pathlib import Path

import pytest
from pydantic import BaseModel

from prism_core.errors import LLMBudgetError, LLMError, LLMReplyError, PromptError
from prism_core.llm import FileReplyCache, LLMBudget, LLMMeter, MemoryReplyCache, ReplyCache, StructuredLLM
from prism_core.prompts import Prompts
from prism_core.testing import ScriptedLLM, run_threads


class Tags(BaseModel):
    """What the tests ask for."""

    labels: list[str]


GOOD, BAD = '{"labels": ["search"]}', "no idea"


def ask(model: StructuredLLM, text: str = "look it up") -> list[str]:
    return model.ask("tag", Tags, {"text": text}, {"labels": "- search: look something up"}).labels


def test_a_usable_answer_costs_one_call_and_the_next_one_none() -> None:
    llm = ScriptedLLM(GOOD, GOOD)
    model = StructuredLLM(llm)
    assert ask(model) == ask(model) == ["search"]
    assert len(llm.prompts) == 1
    usage = model.meter.stages()["tag"]
    assert (usage.calls, usage.cached, usage.repairs, usage.failures) == (1, 1, 0, 0)
    assert usage.prompt_tokens > 50
    assert ask(model, "something else") == ["search"]
    assert len(llm.prompts) == 2


def test_an_unusable_answer_is_mended_once() -> None:
    llm = ScriptedLLM(BAD, GOOD)
    model = StructuredLLM(llm)
    assert ask(model) == ["search"]
    assert "it holds no JSON" in llm.prompts[1]
    assert BAD in llm.prompts[1]
    assert "look it up" in llm.prompts[1]
    assert model.meter.total().repairs == 1


def test_two_unusable_answers_are_an_error_and_not_kept() -> None:
    llm = ScriptedLLM(BAD, BAD, GOOD)
    model = StructuredLLM(llm)
    with pytest.raises(LLMReplyError, match="cannot be used"):
        ask(model)
    assert model.meter.total().failures == 1
    assert ask(model) == ["search"]


def test_a_model_that_is_down_is_an_error() -> None:
    llm = ScriptedLLM(LLMError("scripted", "it is down"), GOOD)
    model = StructuredLLM(llm)
    with pytest.raises(LLMError, match="it is down"):
        ask(model)
    assert (model.meter.total().calls, model.meter.total().failures) == (1, 1)
    assert ask(model) == ["search"]


def test_a_budget_is_hard() -> None:
    llm = ScriptedLLM(GOOD, BAD, GOOD)
    model = StructuredLLM(llm, budget=LLMBudget(max_calls=2))
    ask(model)
    with pytest.raises(LLMBudgetError, match="2 calls"):
        ask(model, "its answer needs mending, for which no call is left")
    assert len(llm.prompts) == 2
    tokens = StructuredLLM(ScriptedLLM(GOOD, GOOD), budget=LLMBudget(max_tokens=10))
    ask(tokens)
    with pytest.raises(LLMBudgetError, match="10 tokens"):
        ask(tokens, "again")
    with pytest.raises(ValueError, match="max_calls=-1"):
        LLMBudget(max_calls=-1)


def test_threads_never_go_over_a_budget() -> None:
    llm = ScriptedLLM(lambda prompt: GOOD)
    model = StructuredLLM(llm, budget=LLMBudget(max_calls=5))
    refused: list[str] = []
    lock = threading.Lock()

    def one(number: int) -> None:
        try:
            ask(model, f"text {number}")
        except LLMBudgetError as error:
            with lock:
                refused.append(str(error))

    run_threads(*(lambda number=number: one(number) for number in range(20)))
    assert len(llm.prompts) == 5
    assert len(refused) == 15
    assert model.meter.total().calls == 5


@pytest.mark.parametrize("durable", [False, True])
def test_caches_keep_by_model_prompt_and_content(tmp_path: Path, durable: bool) -> None:
    def opened() -> ReplyCache:
        return FileReplyCache(tmp_path / "cache" / "replies.db") if durable else cache

    cache: ReplyCache = MemoryReplyCache()
    ask(StructuredLLM(ScriptedLLM(GOOD), cache=opened()))
    assert ask(StructuredLLM(ScriptedLLM(), cache=opened())) == ["search"]
    other = ScriptedLLM(GOOD, name="another model")
    ask(StructuredLLM(other, cache=opened()))
    worded = ScriptedLLM(GOOD)
    reworded = Prompts({**Prompts.bundled().templates, "tag.en": "Label $text by $labels"})
    ask(StructuredLLM(worded, cache=opened(), prompts=reworded))
    assert len(other.prompts) == len(worded.prompts) == 1
    opened().clear()
    again = ScriptedLLM(GOOD)
    ask(StructuredLLM(again, cache=opened()))
    assert len(again.prompts) == 1


def test_an_erased_reply_is_not_in_the_file(tmp_path: Path) -> None:
    cache = FileReplyCache(tmp_path / "replies.db")
    cache.put("k", "the secret password is hunter2")
    cache.clear()
    assert b"hunter2" not in (tmp_path / "replies.db").read_bytes()
    assert cache.get("k") is None


def test_a_full_cache_forgets_what_was_used_least_recently() -> None:
    cache = MemoryReplyCache(max_entries=2)
    cache.put("a", "1")
    cache.put("b", "2")
    assert cache.get("a") == "1"
    cache.put("c", "3")
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ("1", None, "3")


def test_the_meter_prints_a_table() -> None:
    meter = LLMMeter()
    model = StructuredLLM(ScriptedLLM(GOOD), meter=meter)
    ask(model)
    lines = meter.render().splitlines()
    assert lines[0].split() == ["stage", "calls", "cached", "repairs", "failures", "tokens", "seconds"]
    assert lines[1].split()[:2] == ["tag", "1"]
    assert lines[-1].startswith("total")


def test_an_unknown_task_is_refused() -> None:
    with pytest.raises(PromptError, match="is unknown"):
        StructuredLLM(ScriptedLLM()).ask("no such task", Tags, {})
