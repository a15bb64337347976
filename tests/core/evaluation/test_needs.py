import json
from pathlib import Path
from typing import Any

import pytest

from prism_core.evaluation.datasets import TraceRun, load_traces
from prism_core.evaluation.needs import Need, arguments, needs, stands


def user(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]


def call(name: str, arguments: object, reply: str = "ok") -> list[dict[str, Any]]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "same", "function": function}]},
        {"role": "tool", "tool_call_id": "same", "content": reply},
    ]


def run_of(tmp_path: Path, *steps: list[dict[str, Any]]) -> TraceRun:
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps({"id": "r", "messages": [message for step in steps for message in step]}))
    return load_traces(path)[0]


def need_of(tmp_path: Path, *steps: list[dict[str, Any]]) -> Need | None:
    """What the last step needs."""
    found = needs(run_of(tmp_path, *steps))
    return found[-1] if found and found[-1].step == len(steps) - 1 else None


def test_a_value_from_before_the_last_two_steps_is_needed(tmp_path: Path) -> None:
    need = need_of(tmp_path, user("I am mia_3668"), user("one"), user("two"), call("find", {"id": "mia_3668"}))
    assert need is not None
    assert need.tool == "find"
    assert need.values == {"mia_3668"}
    assert not need.old
    assert need.question == "find two"


@pytest.mark.parametrize("position", [1, 2])
def test_a_value_in_one_of_the_last_two_steps_is_in_view(tmp_path: Path, position: int) -> None:
    steps = [user("I am mia_3668"), user("one"), user("two")]
    steps[position] = user("mia_3668 again")
    assert need_of(tmp_path, *steps, call("find", {"id": "mia_3668"})) is None


def test_a_value_that_never_occurred_is_not_needed(tmp_path: Path) -> None:
    assert need_of(tmp_path, user("a"), user("b"), user("c"), call("find", {"id": "mia_3668"})) is None


@pytest.mark.parametrize("text", ["xHAT136", "HAT1367", "HAT136_b", "hat136", "HAT 136"])
def test_a_value_adjoined_or_spelt_otherwise_does_not_stand(tmp_path: Path, text: str) -> None:
    assert not stands("HAT136", text)
    assert need_of(tmp_path, user(text), user("b"), user("c"), call("find", {"id": "HAT136"})) is None


@pytest.mark.parametrize("text", ["HAT136", '{"flight":"HAT136"}', "HAT136-B", "the HAT136.", "航班HAT136。"])
def test_a_value_stands_beside_anything_else(text: str) -> None:
    assert stands("HAT136", text)


def test_values_are_leaf_strings_with_a_digit_and_four_characters_and_no_white_space() -> None:
    raw = {
        "date": "2024-05-20",
        "short": "A1b",
        "spaced": "New York 1",
        "word": "Seattle",
        "number": 12345,
        "flag": True,
        "nested": [{"deep": {"code": "ZFA04Y"}}, "c@x.org1", None],
        "key1234": "x",
    }
    assert arguments(json.dumps(raw)) == {"2024-05-20", "ZFA04Y", "c@x.org1"}


@pytest.mark.parametrize("raw", ["", "{oops", "12345"])
def test_arguments_that_are_no_object_need_nothing(raw: str) -> None:
    assert arguments(raw) == set()


def test_replies_and_arguments_of_earlier_calls_count_as_seen(tmp_path: Path) -> None:
    steps = [call("list", {"day": "2024-05-20"}, '[{"flight": "HAT136"}]'), user("b"), user("c")]
    need = need_of(tmp_path, *steps, call("book", {"flight": "HAT136", "date": "2024-05-20"}))
    assert need is not None
    assert need.values == {"HAT136", "2024-05-20"}


@pytest.mark.parametrize(("between", "is_old"), [(7, False), (8, True)])
def test_a_value_is_old_when_it_last_stood_before_the_last_eight_steps(
    tmp_path: Path, between: int, is_old: bool
) -> None:
    # With n steps between, the value stands at i - n - 1.
    steps = [user("HAT136"), *[user("hm")] * between]
    need = need_of(tmp_path, *steps, call("find", {"id": "HAT136"}))
    assert need is not None
    assert (need.old == {"HAT136"}) is is_old


def test_steps_pair_replies_by_position_and_hold_all_they_say(tmp_path: Path) -> None:
    first = {"id": "same", "function": {"name": "one", "arguments": '{"a": 1}'}}
    second = {"id": "same", "function": {"name": "two", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Both.", "tool_calls": [first, second]}
    replies = [{"role": "tool", "tool_call_id": "same", "content": text} for text in ("R1", "R2", "R3")]
    run = run_of(tmp_path, user("go"), [message, *replies], user("thanks"))
    assert [step.text for step in run.steps] == ["go", 'Both.\none({"a": 1})\nR1', "two({})\nR2", "R3", "thanks"]
    assert [step.tool for step in run.steps] == [None, "one", "two", None, None]
    assert run.steps[1].arguments == '{"a": 1}'
    assert [len(step.item.events) for step in run.steps] == [1, 2, 2, 1, 1]


def test_a_reply_after_another_message_is_a_step_of_its_own(tmp_path: Path) -> None:
    lone_call, reply = call("find", {})
    run = run_of(tmp_path, [lone_call], user("wait"), [reply])
    assert [step.text for step in run.steps] == ["find({})", "wait", "ok"]


def test_the_benchmark_file_has_its_known_needs(data_dir: Path) -> None:
    found = [need for run in load_traces(data_dir / "tau-airline-dev.jsonl") for need in needs(run)]
    assert (len(found), sum(len(need.values) for need in found)) == (245, 692)
