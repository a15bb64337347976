"""Contract tests for parts you bring, and scripted stand-ins for the clock and for ids.

Inherit a contract class in your own test suite and say with a fixture what is to be tested:

    class TestMyIndex(VectorIndexContract):
        @pytest.fixture
        def index(self) -> MyIndex:
            return MyIndex()
"""

from prism_core.errors import MissingExtraError

try:
    import pytest  # noqa: F401  (asked for first, so that its absence is explained)
except ImportError as error:
    raise MissingExtraError("dev", "pytest") from error

from prism_core.testing.embedder import EmbedderContract
from prism_core.testing.exact import ExactIndex
from prism_core.testing.ledger import LedgerContract
from prism_core.testing.scripted import (
    CountingIds,
    HashedEmbedder,
    ScriptedClock,
    ScriptedLLM,
    make_unit,
    run_threads,
    unit_vectors,
)
from prism_core.testing.vectors import VectorIndexContract

__all__ = [
    "CountingIds",
    "EmbedderContract",
    "ExactIndex",
    "HashedEmbedder",
    "LedgerContract",
    "ScriptedClock",
    "ScriptedLLM",
    "VectorIndexContract",
    "make_unit",
    "run_threads",
    "unit_vectors",
]
