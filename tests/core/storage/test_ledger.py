from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prism_core.changes import PutVector
from prism_core.errors import (
    FormatVersionError,
    LedgerError,
    StaleReadError,
    StoreNotFoundError,
    StoreUrlError,
    UnknownUnitError,
)
from prism_core.results import Position, Receipt, ReceiptStatus
from prism_core.storage.ledger import SqlLedger
from prism_core.storage.schema import FORMAT_VERSION
from prism_core.testing import LedgerContract
from prism_core.testing.scripted import ALICE, BOB, START, add, commit, make_unit, unit_vectors
from prism_core.types import Event


def url_of(directory: Path) -> str:
    return f"sqlite:///{directory / 'ledger.db'}"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqlLedger]:
    opened = SqlLedger.open(url_of(tmp_path))
    yield opened
    opened.close()


class TestSqlLedgerOnFile(LedgerContract):
    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Iterator[SqlLedger]:
        opened = SqlLedger.open(url_of(tmp_path))
        yield opened
        opened.close()


class TestSqlLedgerInMemory(LedgerContract):
    @pytest.fixture
    def ledger(self) -> Iterator[SqlLedger]:
        opened = SqlLedger.open("sqlite://")
        yield opened
        opened.close()


def python(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


WRITER = """
import sys
from prism_core.errors import StaleReadError
from prism_core.storage.ledger import SqlLedger
from prism_core.testing.scripted import add, commit

url, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
ledger = SqlLedger.open(url)
number = 0
while number < count:
    try:
        commit(ledger, add(f"{name}-{number}"))
    except StaleReadError:
        continue
    print(f"{name}-{number}", flush=True)
    number += 1
ledger.close()
"""


# Forks one writer after the other and kills each at a random moment after its first acknowledgement.
KILLED = """
import os, random, signal, sys, time
from prism_core.storage.ledger import SqlLedger
from prism_core.testing.scripted import add, commit

url, runs = sys.argv[1], int(sys.argv[2])
chance = random.Random(7)

def write(run, told):
    ledger = SqlLedger.open(url)
    for number in range(10**6):
        commit(ledger, add(f"run{run}-{number}"))
        os.write(1, f"run{run}-{number}\\n".encode())
        if number == 0:
            os.write(told, b".")

for run in range(runs):
    heard, told = os.pipe()
    pid = os.fork()
    if pid == 0:
        write(run, told)
    os.read(heard, 1)
    time.sleep(chance.uniform(0.0, 0.03))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
"""


class TestOpening:
    def test_what_was_committed_is_there_after_reopening(self, tmp_path: Path) -> None:
        first = SqlLedger.open(url_of(tmp_path))
        vector = unit_vectors(1)[0]
        commit(first, add("u1"), PutVector("u1", "e", vector), receipts=[Receipt("r1", ReceiptStatus.STORED, "u1")])
        [accepted] = first.accept(ALICE, [Event(observation="later")], received_at=START)
        first.close()
        again = SqlLedger.open(url_of(tmp_path), create=False)
        assert again.head(ALICE) == Position(2)
        assert again.units(ALICE, ["u1"]) == [make_unit("u1")]
        assert (again.vectors(ALICE, ["u1"])["u1"] == vector).all()
        assert again.receipt(ALICE, "r1").unit_id == "u1"
        assert again.receipt(ALICE, accepted.id).status is ReceiptStatus.ACCEPTED
        again.close()

    def test_a_missing_store_is_created_only_on_request(self, tmp_path: Path) -> None:
        url = url_of(tmp_path / "deep" / "er")
        with pytest.raises(StoreNotFoundError):
            SqlLedger.open(url, create=False)
        assert not (tmp_path / "deep").exists()
        SqlLedger.open(url).close()
        SqlLedger.open(url, create=False).close()

    def test_an_empty_file_is_no_store_yet(self, tmp_path: Path) -> None:
        (tmp_path / "ledger.db").touch()
        with pytest.raises(StoreNotFoundError):
            SqlLedger.open(url_of(tmp_path), create=False)
        SqlLedger.open(url_of(tmp_path)).close()

    @pytest.mark.parametrize(
        "url",
        [
            "postgresql://user:secret@host/db",
            "sqlite+aiosqlite:///x.db",
            "sqlite:///x.db?timeout=1",
            "sqlite:///file:x.db",
            "not a url",
            "",
        ],
    )
    def test_only_plain_sqlite_urls_are_taken(self, url: str) -> None:
        with pytest.raises(StoreUrlError) as caught:
            SqlLedger.open(url)
        assert "secret" not in str(caught.value)

    def test_a_database_of_something_else_is_left_alone(self, tmp_path: Path) -> None:
        connection = sqlite3.connect(tmp_path / "ledger.db")
        connection.execute("CREATE TABLE customers (name TEXT)")
        connection.close()
        before = (tmp_path / "ledger.db").read_bytes()
        with pytest.raises(StoreUrlError):
            SqlLedger.open(url_of(tmp_path))
        connection = sqlite3.connect(tmp_path / "ledger.db")
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("customers",)]
        connection.close()
        assert len(before) == (tmp_path / "ledger.db").stat().st_size

    def test_a_file_that_is_no_database_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "ledger.db").write_bytes(b"certainly not a database " * 100)
        with pytest.raises(LedgerError):
            SqlLedger.open(url_of(tmp_path))
        assert (tmp_path / "ledger.db").read_bytes().startswith(b"certainly")

    @pytest.mark.parametrize("version", ["1", "3", "0"])
    def test_another_format_version_is_refused(self, tmp_path: Path, version: str) -> None:
        SqlLedger.open(url_of(tmp_path)).close()
        connection = sqlite3.connect(tmp_path / "ledger.db")
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format_version'", (version,))
        connection.commit()
        connection.close()
        with pytest.raises(FormatVersionError) as caught:
            SqlLedger.open(url_of(tmp_path))
        assert (caught.value.stored, caught.value.supported) == (int(version), FORMAT_VERSION)

    def test_commits_are_flushed_to_the_disk(self, ledger: SqlLedger, tmp_path: Path) -> None:
        with ledger._database.reading("look") as connection:
            pragmas = ["journal_mode", "synchronous", "foreign_keys", "busy_timeout"]
            found = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in pragmas}
        assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}

    def test_processes_may_create_the_same_store_at_once(self, tmp_path: Path) -> None:
        children = [python(WRITER, url_of(tmp_path), name, 1) for name in "abc"]
        assert [(child.communicate()[0], child.returncode) for child in children] == [
            (f"{name}-0\n", 0) for name in "abc"
        ]


class TestOtherProcesses:
    def test_two_writers_lose_nothing(self, ledger: SqlLedger, tmp_path: Path) -> None:
        before = ledger.head(ALICE)
        children = [python(WRITER, url_of(tmp_path), name, 60) for name in "ab"]
        for child in children:
            child.communicate()
            assert child.returncode == 0
        assert before == Position()
        assert ledger.head(ALICE) == Position(120)
        delta = ledger.delta(ALICE, 0)
        assert {unit.id for unit, _ in delta.units} == {f"{name}-{number}" for name in "ab" for number in range(60)}
        assert [entry.seq for entry in ledger.log(ALICE)] == list(range(1, 121))

    def test_a_commit_elsewhere_makes_a_read_stale(self, ledger: SqlLedger, tmp_path: Path) -> None:
        head = commit(ledger, add("u1"))
        python(WRITER, url_of(tmp_path), "other", 1).communicate()
        with pytest.raises(StaleReadError) as caught:
            ledger.commit(ALICE, [add("u2")], based_on=head, recorded_at=START)
        assert (caught.value.based_on, caught.value.head) == (1, 2)

    def test_a_lock_that_is_not_given_up_is_reported(self, tmp_path: Path) -> None:
        ledger = SqlLedger.open(url_of(tmp_path), busy_seconds=0.05)
        blocker = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="locked"):
            commit(ledger, add("u1"))
        assert ledger.head(ALICE) == Position()
        blocker.execute("ROLLBACK")
        blocker.close()
        assert commit(ledger, add("u1")) == Position(1)
        ledger.close()

    def test_killed_writers_lose_nothing_they_acknowledged(self, tmp_path: Path) -> None:
        child = python(KILLED, url_of(tmp_path), 20)
        acknowledged = child.communicate()[0].splitlines()
        assert child.returncode == 0
        ledger = SqlLedger.open(url_of(tmp_path), create=False)
        assert {unit_id.partition("-")[0] for unit_id in acknowledged} == {f"run{run}" for run in range(20)}
        assert len(ledger.units(ALICE, acknowledged)) == len(set(acknowledged))
        assert [entry.seq for entry in ledger.log(ALICE)] == list(range(1, ledger.head(ALICE).seq + 1))
        assert all(finding.ok for finding in ledger.check())
        ledger.close()


FULL_DISK = """
import resource, sys
from prism_core.errors import LedgerError
from prism_core.results import Position
from prism_core.storage.ledger import SqlLedger
from prism_core.testing.scripted import ALICE, add, commit

ledger = SqlLedger.open(sys.argv[1])
commit(ledger, add("u0"))
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
number = 0
try:
    while True:
        commit(ledger, add(f"u{number + 1}", "word " * 2000), add(f"v{number + 1}"))
        number += 1
except LedgerError as error:
    print(error.cause)
assert ledger.head(ALICE).seq == 2 * number + 1, (ledger.head(ALICE), number)
assert ledger.stats(ALICE).units == 2 * number + 1
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
assert commit(ledger, add("after")).seq == 2 * number + 2
assert all(finding.ok for finding in ledger.check())
ledger.close()
"""


def test_a_full_disk_stores_nothing_and_is_survived(tmp_path: Path) -> None:
    child = python(FULL_DISK, url_of(tmp_path))
    said = child.communicate()[0]
    assert child.returncode == 0
    assert "disk" in said


def test_the_same_name_in_other_case_or_form_is_another_key(ledger: SqlLedger) -> None:
    commit(ledger, add("u1", idempotency_key="é"), add("u2", idempotency_key="e\u0301"), add("U1"))
    assert (ledger.find_key(ALICE, "é"), ledger.find_key(ALICE, "e\u0301")) == ("u1", "u2")
    assert [unit.id for unit in ledger.units(ALICE, ["U1", "u1"])] == ["U1", "u1"]
    with pytest.raises(UnknownUnitError):
        ledger.units(ALICE, ["U2"])


class TestCheck:
    def problems(self, ledger: SqlLedger) -> list[str]:
        return [finding.check for finding in ledger.check() if not finding.ok]

    def damage(self, directory: Path, statement: str) -> None:
        connection = sqlite3.connect(directory / "ledger.db")
        connection.execute(statement)
        connection.commit()
        connection.close()

    def test_a_sound_store_has_no_problem(self, ledger: SqlLedger) -> None:
        assert self.problems(ledger) == []
        commit(ledger, add("u1"), PutVector("u1", "e", None))
        commit(ledger, receipts=[Receipt("r", ReceiptStatus.DUPLICATE, "u1")], scope=BOB)
        findings = ledger.check()
        assert all(finding.ok for finding in findings)
        assert "1 waiting" in findings[-1].detail

    @pytest.mark.parametrize(
        ("statement", "check"),
        [
            ("DELETE FROM log WHERE seq = 2", "log"),
            ("UPDATE scopes SET seq = 9", "log"),
            ("DELETE FROM vectors WHERE unit_id = 'u1'", "vectors"),
            ("UPDATE vectors SET unit_id = 'gone' WHERE unit_id = 'u1'", "references"),
        ],
    )
    def test_damage_is_found(self, ledger: SqlLedger, tmp_path: Path, statement: str, check: str) -> None:
        vectors = [PutVector(unit_id, "e", None) for unit_id in ("u1", "u2")]
        commit(ledger, add("u1"), add("u2"), *vectors)
        self.damage(tmp_path, statement)
        assert check in self.problems(ledger)

    def test_a_torn_file_is_found(self, tmp_path: Path) -> None:
        ledger = SqlLedger.open(url_of(tmp_path))
        commit(ledger, *(add(f"u{number}", "text " * 200) for number in range(100)))
        ledger.close()
        with (tmp_path / "ledger.db").open("r+b") as file:
            file.seek((tmp_path / "ledger.db").stat().st_size // 2)
            file.write(os.urandom(40_000))
        reopened = SqlLedger.open(url_of(tmp_path))
        assert "database file" in self.problems(reopened) or "file is sound" in self.problems(reopened)
        reopened.close()
