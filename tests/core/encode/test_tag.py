import numpy as np

from prism_core.embed import MiniLMEmbedder
from prism_core.encode.tag import MAX_LABELS, RuleTagger
from prism_core.encode.taxonomy import IntentTaxonomy
from prism_core.testing import HashedEmbedder

TAGGER = RuleTagger(IntentTaxonomy.default())


def test_actions_and_words_give_labels() -> None:
    assert TAGGER.tag("search_direct_flight({})", action_type="search_direct_flight")[0] == "search"
    assert "buy" in TAGGER.tag("book_reservation({})", action_type="book_reservation")
    assert "preference" in TAGGER.tag("I really love jazz")
    assert "compare" in TAGGER.tag("请比较这两篇论文")
    assert TAGGER.tag("zzz qqq") == ()
    assert len(TAGGER.tag("plan search read analyse compare decide write")) == MAX_LABELS


def test_without_a_cue_the_nearest_description_counts() -> None:
    embedder = MiniLMEmbedder()
    tagger = RuleTagger(IntentTaxonomy.default(), embedder)
    text = "Jogging before breakfast helps with insomnia and meals."
    assert tagger.tag(text, vector=embedder.embed_query(text)) == ("health",)
    similarities = tagger.similarities(embedder.embed_query(text))
    assert set(similarities) == {label.name for label in IntentTaxonomy.default().labels}
    assert TAGGER.similarities(np.ones(3, dtype=np.float32)) == {}


def test_descriptions_of_different_labels_are_unrelated() -> None:
    tagger = RuleTagger(IntentTaxonomy.default(), MiniLMEmbedder())
    labels = len(IntentTaxonomy.default().labels)
    unrelated = tagger.unrelated()
    assert unrelated.shape == (labels * (labels - 1),)
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
