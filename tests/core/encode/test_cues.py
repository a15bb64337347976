import pytest

from prism_core.encode.cues import ACTION_WEIGHT, CueIndex
from prism_core.encode.taxonomy import IntentLabel

INDEX = CueIndex(
    [
        IntentLabel("change", "change something", cues=("cancel",)),
        IntentLabel("change/cancel", "call something off", cues=("cancellation", "call off", "取消")),
        IntentLabel("talk", "talk to somebody", cues=("call",)),
        IntentLabel("like", "what somebody likes", cues=("i like",)),
        IntentLabel("read", "read something", cues=("get_",)),
    ]
)


@pytest.mark.parametrize(
    ("text", "support"),
    [
        ("nothing of it", {}),
        ("Call her", {"talk": 1}),
        ("We have to call  off the picnic", {"talk": 1, "change": 1, "change/cancel": 1}),
        ("Call them, I am off", {"talk": 1}),
        ("I like it", {"like": 1}),
        ("I'd like it", {}),
        ("like I said", {}),
        ("请取消订单", {"change": 1, "change/cancel": 1}),
    ],
)
def test_phrases_stand_as_they_are_written_and_count_for_the_labels_above(text: str, support: dict[str, int]) -> None:
    assert INDEX.support(text) == support


def test_words_of_one_stem_are_one_cue() -> None:
    assert INDEX.support("the cancelled cancellation") == INDEX.support("cancel")


def test_cues_for_actions_count_in_their_names_alone() -> None:
    assert INDEX.support("get some rest") == {}
    assert INDEX.support("get_weather({})") == {}
    assert INDEX.support("get_weather({})", "get_weather") == {"read": ACTION_WEIGHT + ACTION_WEIGHT + 1}


def test_the_verb_of_an_action_counts_most() -> None:
    support = INDEX.support("", "cancel_call")
    assert support["change"] > support["talk"] > 0
