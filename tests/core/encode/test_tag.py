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
    text = "Jogging before breakfast helps with insomnia and meals."
    assert tagger.tag(text, vector=embedder.embed_query(text)) == ("health",)
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
    text = "Jogging before breakfast helps with insomnia and meals."
    assert 0 < tagger.judge(text, vector=embedder.embed_query(text)).confidence <= 0.5


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
