from collections.abc import Sequence

import numpy as np
import pytest

from prism_core.embed import MiniLMEmbedder
from prism_core.encode.tag import MAX_LABELS, CascadeTagger, LLMTagger, RuleTagger
from prism_core.encode.taxonomy import IntentLabel, IntentTaxonomy
from prism_core.llm import StructuredLLM
from prism_core.testing import HashedEmbedder, ScriptedLLM

TAGGER = RuleTagger(IntentTaxonomy.default())


def top(labels: Sequence[str]) -> list[str]:
    return [label.partition("/")[0] for label in labels]


def test_actions_and_words_give_labels() -> None:
    assert top(TAGGER.tag("search_direct_flight({})", action_type="search_direct_flight"))[0] == "search"
    assert "buy" in top(TAGGER.tag("book_reservation({})", action_type="book_reservation"))
    assert "preference" in top(TAGGER.tag("I really love jazz"))
    assert "compare" in top(TAGGER.tag("请比较这两篇论文"))
    assert TAGGER.tag("zzz qqq") == ()
    assert len(TAGGER.tag("plan search read analyse compare decide write")) == MAX_LABELS


def test_without_a_cue_the_nearest_description_counts() -> None:
    embedder = MiniLMEmbedder()
    tagger = RuleTagger(IntentTaxonomy.default(), embedder)
    text = "Running along the lake clears my head."
    assert tagger.tag(text, vector=embedder.embed_query(text)) == ("health/exercise",)
    assert tagger.tag(text) == ()
    similarities = tagger.similarities(embedder.embed_query(text))
    assert set(similarities) == {label.name for label in IntentTaxonomy.default().children()}
    assert TAGGER.similarities(np.ones(3, dtype=np.float32)) == {}


def test_what_is_unrelated_does_not_depend_on_the_taxonomy() -> None:
    tagger = RuleTagger(IntentTaxonomy.default(), MiniLMEmbedder())
    unrelated = tagger.unrelated()
    assert unrelated.shape == (21 * 20,)
    other = RuleTagger(IntentTaxonomy([IntentLabel("bake", "bake a cake")]), MiniLMEmbedder())
    assert (other.unrelated() == unrelated).all()
    assert 0.1 < unrelated.mean() < 0.3
    assert unrelated.max() < 0.9
    assert TAGGER.unrelated().shape == (0,)


def test_an_embedder_that_is_down_knows_no_similarities_until_it_is_back() -> None:
    embedder = HashedEmbedder()
    tagger = RuleTagger(IntentTaxonomy.default(), embedder)
    embedder.down = True
    assert tagger.unrelated().shape == (0,)
    embedder.down = False
    assert len(tagger.unrelated())
    embedder.down = True
    assert len(tagger.unrelated())


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Implement and refactor the code of the client", "code/"),
        ("I have a nut allergy, never forget it", "constraint/diet"),
        ("cancel_reservation({})", "change/cancel"),
        ("我对花生过敏，必须避免", "constraint/diet"),
    ],
)
def test_a_label_further_down_is_chosen_by_its_own_cues(text: str, label: str) -> None:
    assert any(each.startswith(label) for each in TAGGER.tag(text))


def test_confidence_grows_with_the_cues() -> None:
    once, often = TAGGER.judge("compare them"), TAGGER.judge("compare the difference, a comparison of A versus B")
    assert 0 < once.confidence < often.confidence < 1
    assert TAGGER.judge("zzz qqq").confidence == 0
    embedder = MiniLMEmbedder()
    tagger = RuleTagger(IntentTaxonomy.default(), embedder)
    text = "Running along the lake clears my head."
    assert 0 < tagger.judge(text, vector=embedder.embed_query(text)).confidence <= 0.5
    assert tagger.judge("zzz qqq", vector=np.zeros(embedder.dimension, dtype=np.float32)).confidences == ()


def test_further_labels_need_more_than_half_of_the_cues_of_the_first() -> None:
    even = TAGGER.judge("compare and decide")
    assert top(even.labels) == ["compare", "decide"]
    assert even.confidences[0] == even.confidences[1] < TAGGER.judge("compare them").confidence
    assert top(TAGGER.tag("compare the difference, a comparison of A versus B, and decide")) == ["compare"]


def test_an_action_is_for_what_its_verb_says() -> None:
    assert TAGGER.tag("book_flight({})", action_type="book_flight") == ("buy/book",)
    assert top(TAGGER.tag("get_weather({})", action_type="get_weather")) == ["read"]
    assert TAGGER.tag("Do get some rest") == ()


def test_labels_without_examples_or_descriptions_an_embedder_reads_still_have_a_meaning() -> None:
    embedder = MiniLMEmbedder()
    tagger = RuleTagger(
        IntentTaxonomy([IntentLabel("bake", "bake bread"), IntentLabel("sail", "sail a boat")]), embedder
    )
    text = "The loaf is in the oven"
    assert tagger.tag(text, vector=embedder.embed_query(text)) == ("bake",)


class TestLLM:
    def test_the_model_chooses_from_the_labels_by_name_or_by_what_they_are_called(self) -> None:
        llm = ScriptedLLM('{"labels": ["重构", "bogus", "Test"], "confidence": 0.9, "reason": "restructures"}')
        tagged = LLMTagger(StructuredLLM(llm), TAGGER).judge("tidy up client.py")
        assert tagged.labels == ("code/refactor", "test")
        assert (tagged.confidence, tagged.reason, tagged.degraded) == (0.9, "restructures", "")
        assert "- code/refactor: " in llm.prompts[0]

    def test_rules_do_the_work_of_a_model_that_fails(self) -> None:
        tagged = LLMTagger(StructuredLLM(ScriptedLLM("?", "?")), TAGGER).judge("compare them")
        assert tagged.labels == TAGGER.tag("compare them")
        assert "cannot be used" in tagged.degraded

    def test_the_cascade_asks_only_where_rules_are_unsure_and_once_per_text(self) -> None:
        llm = ScriptedLLM('{"labels": ["plan"]}', '{"labels": ["buy"]}')
        cascade = CascadeTagger(TAGGER, LLMTagger(StructuredLLM(llm), TAGGER))
        sure = "compare the difference, a comparison of A versus B"
        assert cascade.tag(sure) == TAGGER.tag(sure)
        assert not llm.prompts
        assert cascade.tag("zzz qqq") == cascade.tag("ZZZ  qqq") == ("plan",)
        assert cascade.tag("zzz rrr") == ("buy",)
        assert len(llm.prompts) == 2

    def test_what_rules_did_for_the_model_is_not_remembered(self) -> None:
        llm = ScriptedLLM("?", "?", '{"labels": ["plan"]}')
        cascade = CascadeTagger(TAGGER, LLMTagger(StructuredLLM(llm), TAGGER))
        assert cascade.judge("zzz qqq").degraded
        assert cascade.tag("zzz qqq") == ("plan",)
