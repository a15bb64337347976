"""Case C22: small models think aloud, answer with bare lists, rename keys and repeat the schema."""

import json

import pytest
from pydantic import BaseModel, Field

from prism_core.encode.reading import EventReading
from prism_core.llm.replies import UnusableReplyError, parsed


class Tags(BaseModel):
    """What the tests ask for."""

    labels: list[str]
    reason: str = ""
    confidence: float = Field(default=0.5, ge=0, le=1)


GOOD = '{"labels": ["search"], "reason": "looks for options", "confidence": 0.9}'


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"<think>The user wants {{braces}} and [lists].</think>\n{GOOD}",
        f"The labels could be several... </think>{GOOD}",
        f"```json\n{GOOD}\n```",
        f"Sure! Here is the JSON:\n```\n{GOOD}\n```\nLet me know if you need more.",
        f'First try:\n```json\n{{"labels": [}}\n```\nCorrected:\n```json\n{GOOD}\n```',
        f"Here you go: {GOOD} Hope that helps.",
        f"[{GOOD}]",
        f'{{"answer": {GOOD}}}',
        '{"Labels": ["search"], "Reason": "looks for options", "Confidence": 0.9}',
        '{"label": ["search"], "reasons": "looks for options", "confidence": 0.9}',
        '{"labels": ["search",], "reason": "looks for options", "confidence": 0.9,}',
        "{'labels': ['search'], 'reason': 'looks for options', 'confidence': 0.9}",
        '{"labels": ["search"], "reason": "looks for options", "confidence": 0.9',
        '{"labels": ["search"], "reason": "looks for options", "confidence": 0.9, "more": {"x": 1}}',
        '{"properties": {"labels": ["search"], "reason": "looks for options", "confidence": 0.9}, "type": "object"}',
    ],
)
def test_c22_what_is_wrapped_otherwise_is_read(reply: str) -> None:
    assert parsed(reply, Tags) == Tags(labels=["search"], reason="looks for options", confidence=0.9)


def test_c22_a_bare_list_goes_under_the_only_list_of_the_schema() -> None:
    assert parsed('["search", "read"]', Tags).labels == ["search", "read"]
    assert parsed('{"labels": ["search"]}', Tags) == Tags(labels=["search"])
    with pytest.raises(UnusableReplyError, match="is a list"):
        parsed('["search"]', EventReading)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("<think>I cannot decide</think>", "empty"),
        ("I am sorry, I cannot help with that.", "no JSON"),
        (json.dumps(Tags.model_json_schema()), "repeats the schema"),
        ('{"confidence": 0.4}', "labels: Field required"),
        ('{"labels": ["search"], "confidence": 7}', "confidence: Input should be less than"),
        ('"search"', "no JSON"),
    ],
)
def test_c22_what_cannot_be_read_says_why(reply: str, problem: str) -> None:
    with pytest.raises(UnusableReplyError, match=problem):
        parsed(reply, Tags)


def test_c22_a_reading_bears_what_small_models_do_to_it() -> None:
    reading = parsed(
        '{"Intents": "search, read", "entities": null, "importance": "4.0", "facts": ["x", {"entity": "user",'
        '"attribute": "age", "value": 34}], "relation": [{"candidate": "12", "relation": "premise", "confidence": 2}]}',
        EventReading,
    )
    assert reading.intents == ["search", "read"]
    assert reading.entities == []
    assert reading.importance == 4
    assert [fact.value for fact in reading.facts] == ["34"]
    assert [(each.candidate, each.confidence) for each in reading.relations] == [("12", 1.0)]


def test_deep_and_long_replies_do_no_harm() -> None:
    for reply in ("[" * 5_000, '{"labels": ' * 2_000, "{" * 100_000, GOOD + "x" * 500_000):
        try:
            parsed(reply, Tags)
        except UnusableReplyError:
            continue
