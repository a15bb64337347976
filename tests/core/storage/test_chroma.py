from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from prism_core.errors import IndexFailedError, IndexLockedError
from prism_core.storage.chroma import ChromaIndex
from prism_core.testing import VectorIndexContract, unit_vectors
from prism_core.testing.scripted import ALICE


class TestChromaIndex(VectorIndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[ChromaIndex]:
        opened = ChromaIndex.open(tmp_path / "index")
        yield opened
        opened.close()


def filled(directory: Path, count: int = 3) -> ChromaIndex:
    index = ChromaIndex.open(directory)
    index.upsert(ALICE, [f"u{row}" for row in range(count)], unit_vectors(count))
    return index


def manifest(directory: Path) -> dict[str, object]:
    stored: dict[str, object] = json.loads((directory / "index.json").read_text(encoding="utf-8"))
    return stored


def generations(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir() if entry.is_dir())


def test_vectors_are_there_after_a_clean_close(tmp_path: Path) -> None:
    index = filled(tmp_path)
    name = index.id
    index.close()
    again = ChromaIndex.open(tmp_path)
    assert again.id == name
    assert again.count(ALICE) == 3
    assert again.search(ALICE, unit_vectors(3)[2], 1)[0][0] == "u2"
    again.upsert(ALICE, ["u3"], unit_vectors(4)[3:])
    assert again.count(ALICE) == 4
    again.close()


def test_reading_leaves_no_mark(tmp_path: Path) -> None:
    filled(tmp_path).close()
    index = ChromaIndex.open(tmp_path)
    index.search(ALICE, unit_vectors(1)[0], 2)
    index.search(("nobody",), unit_vectors(1)[0], 2)
    index.upsert(ALICE, [], np.empty((0, 8), dtype=np.float32))
    index.drop(("nobody",))
    assert manifest(tmp_path)["dirty"] is False
    index.upsert(ALICE, ["u1"], unit_vectors(1))
    assert manifest(tmp_path)["dirty"] is True
    index.close()
    assert manifest(tmp_path)["dirty"] is False


KILLED = """
import os, signal, sys
from pathlib import Path
from prism_core.storage.chroma import ChromaIndex
from prism_core.testing import unit_vectors

index = ChromaIndex.open(Path(sys.argv[1]))
index.upsert(("acme", "alice"), ["u1", "u2"], unit_vectors(2))
print(index.id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_a_kill_the_index_starts_over(tmp_path: Path) -> None:
    child = subprocess.run([sys.executable, "-c", KILLED, tmp_path], capture_output=True, text=True, check=False)
    assert manifest(tmp_path)["dirty"] is True
    before = generations(tmp_path)
    index = ChromaIndex.open(tmp_path)
    assert index.id != child.stdout.strip() != ""
    assert index.count(ALICE) == 0
    assert len(generations(tmp_path)) == 1
    assert generations(tmp_path) != before
    index.upsert(ALICE, ["u1"], unit_vectors(1))
    index.close()
    again = ChromaIndex.open(tmp_path)
    assert (again.id, again.count(ALICE)) == (index.id, 1)
    again.close()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 2, "generation": 1, "id": "x", "dirty": false}'])
def test_a_manifest_that_cannot_be_read_starts_over(tmp_path: Path, content: str) -> None:
    index = filled(tmp_path)
    index.close()
    (tmp_path / "index.json").write_text(content, encoding="utf-8")
    again = ChromaIndex.open(tmp_path)
    assert again.id != index.id
    assert again.count(ALICE) == 0
    assert generations(tmp_path) == ["chroma-2"]
    again.close()


def test_a_lost_directory_starts_over(tmp_path: Path) -> None:
    index = filled(tmp_path)
    index.close()
    (tmp_path / "chroma-1").rename(tmp_path / "chroma-old")
    again = ChromaIndex.open(tmp_path)
    assert again.id != index.id
    assert again.count(ALICE) == 0
    again.close()


def test_only_directories_of_its_own_are_removed(tmp_path: Path) -> None:
    for name in ("chroma-backup", "other", "chroma-7"):
        (tmp_path / name).mkdir()
    filled(tmp_path).close()
    assert generations(tmp_path) == ["chroma-8", "chroma-backup", "other"]


def test_one_owner_at_a_time(tmp_path: Path) -> None:
    index = filled(tmp_path)
    with pytest.raises(IndexLockedError):
        ChromaIndex.open(tmp_path)
    code = (
        "import sys; from pathlib import Path; from prism_core.storage.chroma import ChromaIndex\n"
        "ChromaIndex.open(Path(sys.argv[1]))"
    )
    child = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False)
    assert "IndexLockedError" in child.stderr
    assert index.count(ALICE) == 3
    index.close()
    ChromaIndex.open(tmp_path).close()


FORKED = """
import os, sys
from pathlib import Path
from prism_core.errors import IndexLockedError
from prism_core.storage.chroma import ChromaIndex
from prism_core.testing import unit_vectors

index = ChromaIndex.open(Path(sys.argv[1]))
index.upsert(("acme", "alice"), ["u1"], unit_vectors(1))
pid = os.fork()
if pid == 0:
    try:
        index.search(("acme", "alice"), unit_vectors(1)[0], 1)
    except IndexLockedError:
        os._exit(7)
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
assert index.count(("acme", "alice")) == 1
index.close()
sys.exit(code)
"""


def test_a_forked_child_is_told_and_does_not_hang(tmp_path: Path) -> None:
    child = subprocess.run([sys.executable, "-c", FORKED, tmp_path], timeout=60, check=False)
    assert child.returncode == 7
    assert manifest(tmp_path)["dirty"] is False


def test_more_vectors_than_one_batch_takes(tmp_path: Path) -> None:
    index = ChromaIndex.open(tmp_path)
    vectors = unit_vectors(6000)
    index.upsert(ALICE, [f"u{row}" for row in range(6000)], vectors)
    assert index.count(ALICE) == 6000
    assert index.search(ALICE, vectors[5999], 1)[0][0] == "u5999"
    index.close()


def test_a_collection_of_another_space_is_not_believed(tmp_path: Path) -> None:
    index = filled(tmp_path)
    name = index._collections[ALICE].collection.name
    index._client.delete_collection(name)
    index._client.create_collection(name, embedding_function=None, metadata={"dimension": 8})
    index._collections.clear()
    with pytest.raises(IndexFailedError, match="l2"):
        index.search(ALICE, unit_vectors(1)[0], 1)
    index.close()
    again = ChromaIndex.open(tmp_path)
    assert again.id != index.id
    again.close()


def test_a_damaged_index_is_reported_and_starts_over(tmp_path: Path) -> None:
    filled(tmp_path).close()
    index = ChromaIndex.open(tmp_path)
    index._client.delete_collection(index._known(ALICE).collection.name)  # type: ignore[union-attr]
    with pytest.raises(IndexFailedError):
        index.search(ALICE, unit_vectors(1)[0], 1)
    index.close()
    again = ChromaIndex.open(tmp_path)
    assert again.id != index.id
    assert again.search(ALICE, unit_vectors(1)[0], 1) == []
    again.close()


def test_a_directory_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(IndexFailedError):
        ChromaIndex.open(tmp_path / "file" / "index")
