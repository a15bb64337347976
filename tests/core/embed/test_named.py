import pytest

from prism_core.cli.options import Embedder as Option
from prism_core.embed import DEFAULT_EMBEDDER, EMBEDDERS, MiniLMEmbedder, make_embedder
from prism_core.errors import QueryError


def test_the_default_is_the_bundled_one() -> None:
    assert isinstance(make_embedder(DEFAULT_EMBEDDER), MiniLMEmbedder)


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(QueryError, match="minilm, multilingual"):
        make_embedder("bert")


def test_the_command_line_offers_every_one() -> None:
    assert [option.value for option in Option] == list(EMBEDDERS)
