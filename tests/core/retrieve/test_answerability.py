from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism_core import Confidence, Event, IntentQuery, PrismMemory
from prism_core.changes import FloatArray
from prism_core.embed import MiniLMEmbedder
from prism_core.protocols import Embedder
from prism_core.retrieve.answerability import Ground, answerability, pool_answerability, smallness
from prism_core.retrieve.options import Floor
from prism_core.retrieve.signals import Evidence
from prism_core.storage.state import ScopeState
from prism_core.testing import HashedEmbedder
from prism_core.text import analyze

MakeView = Callable[[Sequence[Event | str]], ScopeState]
SCOPE = "s"
GROUND = Ground(0.15, 0.1)


def floats(*values: float) -> FloatArray:
    return np.array(values, dtype=np.float32)


def said(text: str, speaker: str) -> Event:
    return Event(observation=text, speaker=speaker)


TALK = [
    said("My cat Tom sleeps on the boat all day.", "Ann"),
    said("We climbed a volcano in Iceland last summer.", "Bob"),
    said("I bake rye bread every Sunday.", "Ann"),
    said("The new sails for the boat were expensive.", "Bob"),
    said("Caroline called about the concert tickets.", "Ann"),
]


def judged(view: ScopeState, question: str) -> list[float]:
    terms = analyze(question)
    evidence = Evidence(view, np.arange(len(view)), view.lexical(terms), terms, None)
    return [float(value) for value in pool_answerability(evidence, None)]


class Shifted:
    """An embedder whose vectors all share a component: every cosine becomes `share` plus the rest of what it was."""

    def __init__(self, inner: Embedder, share: float) -> None:
        self.inner = inner
        self.share = share
        self.id = f"{inner.id} + {share}"
        self.dimension = inner.dimension + 1

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        rows = self.inner.embed_documents(texts) * np.float32((1 - self.share) ** 0.5)
        return np.hstack([rows, np.full((len(rows), 1), self.share**0.5, dtype=np.float32)])

    def embed_query(self, text: str) -> FloatArray:
        return np.asarray(self.embed_documents([text])[0], dtype=np.float32)


def test_more_of_the_question_and_more_similarity_speak_for_a_candidate() -> None:
    found = answerability(floats(0, 0.4, 0.8), floats(0.2, 0.2, 0.2), GROUND)
    assert list(found) == sorted(set(found))
    assert answerability(floats(0.4), floats(0.6), GROUND) > answerability(floats(0.4), floats(0.3), GROUND)


@given(st.floats(0, 1), st.floats(-1, 1), st.floats(-1, 1), st.floats(0.01, 1))
def test_it_lies_between_nothing_and_all(share: float, similarity: float, mean: float, spread: float) -> None:
    assert answerability(floats(share))[0] == np.float32(share)
    (found,) = answerability(floats(share), floats(similarity), Ground(mean, spread))
    assert 0.0 <= found <= 1.0


@given(st.floats(-1, 1), st.floats(0, 10))
def test_a_part_that_all_vectors_share_changes_nothing(similarity: float, shared: float) -> None:
    # With a common component of squared length `shared`, every cosine moves towards 1 and closer to the others.
    plain = answerability(floats(0.3), floats(similarity), GROUND)
    ground = Ground((GROUND.mean + shared) / (1 + shared), GROUND.spread / (1 + shared))
    moved = answerability(floats(0.3), floats((similarity + shared) / (1 + shared)), ground)
    assert moved == pytest.approx(plain, abs=1e-3)


def test_the_ground_is_what_unrelated_texts_have_in_common() -> None:
    ground = Ground.of(floats(0, 1, 0))
    assert ground is not None
    assert ground.mean == pytest.approx(1 / 3)
    assert ground.spread == pytest.approx(np.std([0, 1, 0]))


@pytest.mark.parametrize("unrelated", [floats(), floats(1, 1, 1)])
def test_an_embedder_that_finds_all_texts_equal_tells_nothing(unrelated: FloatArray) -> None:
    assert Ground.of(unrelated) is None
    assert answerability(floats(0, 0.4), floats(1, 1), None).tolist() == floats(0, 0.4).tolist()


def test_the_unit_that_holds_most_of_the_question_looks_most_like_an_answer(make_view: MakeView) -> None:
    values = judged(make_view(TALK), "Where does the cat Tom sleep?")
    assert values.index(max(values)) == 0
    assert values[1] == 0.0


def test_one_word_in_common_proves_less_than_many(make_view: MakeView) -> None:
    view = make_view(TALK)
    assert judged(view, "volcano?")[1] < judged(view, "climbed a volcano in Iceland?")[1]


def test_nobody_answers_all_of_a_long_message(make_view: MakeView) -> None:
    view = make_view(TALK)
    asked = "Did you climb a volcano in Iceland?"
    first, second, third = (
        judged(view, asked + more)[1]
        for more in ("", " Meanwhile quarterly invoices", " Meanwhile quarterly invoices pile up: taxes, rents, fees")
    )
    assert first > second == third


def test_what_a_scope_is_all_about_may_be_asked_for(make_view: MakeView) -> None:
    view = make_view([f"The deploy ran into the quota {n} times." for n in range(9)])
    assert min(judged(view, "deploy quota")) >= Floor().nothing


def test_names_of_speakers_prove_nothing(make_view: MakeView) -> None:
    view = make_view(TALK)
    assert judged(view, "Does Ann's cat sleep?") == judged(view, "Does the cat sleep?")
    assert judged(view, "Did Ann see a llama?") == [0.0] * 5


def test_a_question_of_names_only_is_about_what_they_said(make_view: MakeView) -> None:
    values = judged(make_view(TALK), "What did Ann do?")
    assert [value >= Floor().nothing for value in values] == [True, False, True, False, True]


def test_pairs_of_characters_that_straddle_words_say_nothing_against_a_unit(make_view: MakeView) -> None:
    view = make_view(["我喜欢吃苹果。", "他昨天去了海边放风筝。"])
    # 果吃 stands in no unit; every character of it does in the first.
    assert judged(view, "苹果吃") == pytest.approx(judged(view, "吃苹果"), abs=0.15)
    assert judged(view, "苹果吃")[0] > Floor().nothing > judged(view, "苹果吃")[1]


def test_labels_are_those_of_every_embedder_with_the_same_sense() -> None:
    plain = MiniLMEmbedder()
    questions = ["Where does the cat sleep?", "Which bread is baked on Sundays?", "Refund my credit card.", "Trips?"]
    found: list[list[tuple[str, Confidence, float]]] = []
    embedders: list[Embedder] = [plain, Shifted(plain, 0.8)]
    for embedder in embedders:
        memory = PrismMemory.open(embedder=embedder)
        memory.write_many(TALK, scope=SCOPE)
        hits = [hit for question in questions for hit in memory.search(question, scope=SCOPE, k=5)]
        found.append(sorted((hit.unit.text, hit.confidence, hit.candidate.answerability) for hit in hits))
        memory.close()
    same, shifted = found
    assert [hit[:2] for hit in shifted] == [hit[:2] for hit in same]
    assert [hit[2] for hit in shifted] == pytest.approx([hit[2] for hit in same], abs=0.005)
    assert {hit[1] for hit in same} == {Confidence.HIGH, Confidence.LOW}


def test_the_answerability_of_a_retrieval_is_that_of_its_best_candidate() -> None:
    memory = PrismMemory.open(embedder=None)
    assert memory.search("cat", scope=SCOPE).answerability == 0.0
    memory.write_many(TALK, scope=SCOPE)
    found = memory.search("Where does the cat Tom sleep?", scope=SCOPE, k=1)
    assert found.answerability == max(candidate.answerability for candidate in found.candidates) > Floor().high
    assert found[0].candidate.answerability == found.answerability
    assert found[0].confidence is Confidence.HIGH
    memory.close()


def test_a_question_nobody_can_answer_gets_nothing_under_a_budget_and_k_doubtful_ones() -> None:
    memory = PrismMemory.open(embedder=None)
    memory.write_many(TALK, scope=SCOPE)
    asked = "When does the quarterly tax return of the boat company fall due?"
    context = memory.context(asked, scope=SCOPE, budget=500)
    assert context.text == ""
    assert 0 < context.retrieval.answerability < Floor().nothing
    assert all("floor" in candidate.reason for candidate in context.retrieval.candidates)
    found = memory.search(asked, scope=SCOPE, k=3)
    assert {hit.confidence for hit in found} == {Confidence.LOW}
    assert len(found) == 3
    memory.close()


def test_what_holds_little_of_the_question_comes_along_with_an_answer_only() -> None:
    memory = PrismMemory.open()
    reply = "At the Golden Heron, a lovely restaurant."
    for speaker, text in (("Ann", "Where will the anniversary dinner take place?"), ("Bob", reply), ("Bob", "Bye!")):
        memory.write(Event(observation=text, speaker=speaker, session_id="s"), scope=SCOPE)
    found = memory.search("Where did the anniversary dinner take place?", scope=SCOPE, budget=200)
    floor = Floor()
    values = {hit.unit.observation: hit.candidate.answerability for hit in found}
    assert len(values) == 2
    assert floor.faint < values[reply] < floor.nothing < found.answerability
    (bye,) = (candidate for candidate in found.candidates if not candidate.kept)
    assert bye.answerability < floor.faint
    memory.close()


def test_an_action_is_not_held_to_the_words_of_a_question() -> None:
    memory = PrismMemory.open(embedder=None)
    memory.write_many(
        [
            Event(observation="The reservation is ZFA04Y.", task_id="trip"),
            Event(observation="Fine, go on with ZFA04Y.", task_id="trip"),
        ],
        scope=SCOPE,
    )
    active = [memory.search("go on", scope=SCOPE, k=1)[0].unit.id]
    asked = {"text": "entirely different words", "active": active}
    idle, acting = (
        memory.search(IntentQuery.model_validate(asked | more), scope=SCOPE, budget=300)
        for more in ({}, {"action_type": "cancel_reservation"})
    )
    assert len(idle) == 0
    assert "ZFA04Y" in acting[0].unit.text
    assert all(hit.confidence is Confidence.MEDIUM for hit in acting)
    memory.close()


def test_an_embedder_without_ground_leaves_the_words_to_decide() -> None:
    class Same(HashedEmbedder):
        def embed_documents(self, texts: Sequence[str]) -> FloatArray:
            return np.tile(np.eye(1, self.dimension, dtype=np.float32), (len(texts), 1))

    values: list[float] = []
    for embedder in (None, Same()):
        memory = PrismMemory.open(embedder=embedder)
        memory.write_many(TALK, scope=SCOPE)
        values.append(memory.search("Where does the cat Tom sleep?", scope=SCOPE).answerability)
        memory.close()
    assert values[0] == values[1] > 0


def test_in_a_small_scope_less_is_as_much_a_sign() -> None:
    lowered = [smallness(units) for units in (0, 1, 2, 5, 10, 30, 99, 100, 5000)]
    assert lowered == sorted(lowered, reverse=True)
    assert lowered[0] == lowered[1] <= 0.13
    assert lowered[-2:] == [0.0, 0.0]


def test_a_small_memory_gives_what_a_question_only_hints_at() -> None:
    with PrismMemory.open() as memory:
        memory.write_many(["My sister is allergic to hazelnuts.", "It rains today."], scope="s")
        assert "hazelnuts" in memory.context("Which cake shall I bake for my sister?", scope="s", budget=200).text
        assert memory.context("Change my flight to Denver, please.", scope="s", budget=200).text == ""
