from prism_core.embed import MiniLMEmbedder
from prism_core.encode.ground import GroundSentences
from prism_core.testing import HashedEmbedder


def test_every_sentence_is_asked_with_every_other_one() -> None:
    texts = GroundSentences.texts()
    assert len(set(texts)) == len(texts) == 21
    embedder = MiniLMEmbedder()
    similarities = GroundSentences(embedder).similarities()
    assert similarities.shape == (21 * 20,)
    first = embedder.embed_query(texts[0]) @ embedder.embed_documents([texts[1]])[0]
    assert abs(similarities[0] - first) < 0.02


def test_an_embedder_that_is_down_is_asked_again_and_one_that_answered_is_not() -> None:
    embedder = HashedEmbedder()
    ground = GroundSentences(embedder)
    embedder.down = True
    assert ground.similarities().shape == (0,)
    embedder.down = False
    assert len(ground.similarities()) == 21 * 20
    embedder.down = True
    assert len(ground.similarities()) == 21 * 20
    assert GroundSentences(None).similarities().shape == (0,)
