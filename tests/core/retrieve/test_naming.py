"""Names of speakers among the words of a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from prism_core import Event, PrismMemory
from prism_core.retrieve.naming import NAME_WEIGHT, name_aware_lexical, speaker_terms
from prism_core.storage.state import ScopeState

MakeView = Callable[[Sequence[Event | str]], ScopeState]


def talk() -> list[Event]:
    return [
        Event(observation="Thanks, Caroline, that is kind of you.", speaker="Melanie"),
        Event(observation="I went to the pottery class.", speaker="Caroline"),
        Event(observation="It rains.", speaker="Melanie"),
    ]


def test_a_speaker_s_name_counts_less_beside_other_words(make_view: MakeView) -> None:
    view = make_view(talk())
    assert {"carolin", "melani"} <= speaker_terms(view)
    both = name_aware_lexical(view, ["carolin", "potteri"])
    assert np.allclose(both, view.lexical(["potteri"]) + NAME_WEIGHT * view.lexical(["carolin"]))


def test_a_question_of_names_or_of_other_words_only_is_taken_as_it_is(make_view: MakeView) -> None:
    view = make_view(talk())
    for terms in (["carolin"], ["potteri", "class"], []):
        assert np.array_equal(name_aware_lexical(view, terms), view.lexical(terms))


def test_what_was_done_comes_before_who_was_thanked() -> None:
    with PrismMemory.open(embedder=None) as memory:
        memory.write_many(talk(), scope="s")
        assert "pottery" in memory.search("Did Caroline go to a pottery class?", scope="s", k=1)[0].unit.text
