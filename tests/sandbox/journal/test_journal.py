"""The journal: what was committed is there after a kill at any moment, and each problem has its error."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway_sandbox.errors import JournalDamaged, JournalError, JournalFull, JournalInUse, JournalOfOtherVersion
from headway_sandbox.journal.journal import Journal, is_open

WRITER = """
import sys
from pathlib import Path
from headway_sandbox.journal.journal import Journal

journal = Journal(Path(sys.argv[1]))
print("open", flush=True)
for number in range(100_000):
    journal.put("numbers", str(number % 7), number)
    journal.put("numbers", "newest", number)
    journal.commit()
    print(number, flush=True)
"""


def left_by_a_kill(path: Path) -> Journal:
    """Return the journal of a copy of the files, which are those that a kill at this moment leaves."""
    folder = path.parent / f"killed-{time.monotonic_ns()}"
    folder.mkdir()
    for file in path.parent.glob(f"{path.name}*"):
        shutil.copy(file, folder)
    return Journal(folder / path.name)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def test_what_is_committed_survives_a_kill_and_nothing_else(path: Path):
    journal = Journal(path)
    journal.mark_running()
    journal.put("jobs", "a", {"state": "running"})
    journal.put("jobs", "b", [1, None, "é"])
    journal.put("others", "a", 1)
    journal.commit()
    journal.put("jobs", "c", 1)
    left = left_by_a_kill(path)
    assert left.read("jobs") == {"a": {"state": "running"}, "b": [1, None, "é"]}
    assert left.read("others") == {"a": 1}
    assert left.counts() == {"jobs": 2, "others": 1, "server": 1}
    assert left.was_killed


def test_a_closed_journal_was_not_killed_and_has_all_changes(path: Path):
    journal = Journal(path)
    assert not journal.was_killed
    journal.put("jobs", "a", 1)
    journal.close()
    again = Journal(path)
    assert (again.was_killed, again.read("jobs")) == (False, {"a": 1})


def test_a_kill_right_after_the_start_is_known(path: Path):
    journal = Journal(path)
    journal.mark_running()
    journal.commit()
    assert left_by_a_kill(path).was_killed
    journal.close()
    assert not Journal(path).was_killed


def test_a_process_that_ends_before_it_serves_was_not_killed(path: Path):
    Journal(path).close()
    journal = Journal(path)
    assert not left_by_a_kill(path).was_killed
    journal.close()


def test_a_kill_is_known_until_a_later_process_is_stopped(path: Path):
    journal = Journal(path)
    journal.mark_running()
    journal.commit()
    failed = left_by_a_kill(path)
    again = left_by_a_kill(failed._path)
    assert again.was_killed
    again.close()
    assert not Journal(again._path).was_killed


def test_removed_documents_are_gone(path: Path):
    journal = Journal(path)
    journal.put("jobs", "a", 1)
    journal.put("jobs", "b", 2)
    journal.commit()
    journal.remove("jobs", "a")
    journal.remove("jobs", "c")
    journal.commit()
    assert left_by_a_kill(path).read("jobs") == {"b": 2}


def test_a_document_is_saved_as_it_is_at_the_commit(path: Path):
    journal = Journal(path)
    document = {"state": "pending"}
    journal.put("jobs", "a", document)
    document["state"] = "running"
    journal.commit()
    assert journal.read("jobs") == {"a": {"state": "running"}}


def test_a_replaced_collection_has_its_new_documents_and_later_changes(path: Path):
    journal = Journal(path)
    journal.put("jobs", "old", 1)
    journal.put("others", "kept", 1)
    journal.commit()
    journal.put("jobs", "earlier", 2)
    journal.replace("jobs", lambda: {"new": 3, "gone": 4})
    journal.put("jobs", "later", 5)
    journal.remove("jobs", "gone")
    journal.commit()
    assert journal.read("jobs") == {"new": 3, "later": 5}
    assert journal.read("others") == {"kept": 1}


# --------------------------------------------------------------------------------------------------- a kill


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abc"), st.integers()),
        st.tuples(st.just("remove"), st.sampled_from("abc"), st.none()),
        st.tuples(st.just("replace"), st.just(""), st.dictionaries(st.sampled_from("abcd"), st.integers(), max_size=3)),
        st.tuples(st.just("commit"), st.just(""), st.none()),
    ),
    max_size=25,
)


@settings(max_examples=60)
@given(changes=CHANGES, cut=st.floats(0, 1))
def test_a_torn_file_has_the_documents_of_one_commit(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, str, Any]], cut: float
):
    path = tmp_path_factory.mktemp("torn") / "journal.db"
    journal = Journal(path)
    now: dict[str, Any] = {}
    committed: list[dict[str, Any]] = [{}]
    for kind, name, value in changes:
        match kind:
            case "put":
                journal.put("numbers", name, value)
                now[name] = value
            case "remove":
                journal.remove("numbers", name)
                now.pop(name, None)
            case "replace":
                journal.replace("numbers", lambda value=value: value)  # type: ignore[misc]
                now = dict(value)
            case _:
                journal.commit()
                committed.append(dict(now))
    assert left_by_a_kill(path).read("numbers") == committed[-1]
    log = path.with_name("journal.db-wal")
    with log.open("r+b") as file:
        file.truncate(int(log.stat().st_size * cut))
    assert left_by_a_kill(path).read("numbers") in committed


@pytest.mark.parametrize("seed", range(8))
def test_a_killed_process_has_lost_nothing_that_it_reported(path: Path, seed: int):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    time.sleep(random.Random(seed).uniform(0, 0.2))
    process.send_signal(signal.SIGKILL)
    reported = [int(line) for line in process.stdout.read().split("\n")[:-1]]
    process.wait()
    process.stdout.close()
    newest = Journal(path).read("numbers").get("newest", -1)
    # A commit may have succeeded without its report.
    assert newest - (reported[-1] if reported else -1) in {0, 1}


# ------------------------------------------------------------------------------------------------- problems


def test_changes_of_a_failed_commit_are_saved_by_the_next_one(path: Path):
    journal = Journal(path)
    journal.put("jobs", "old", 0)
    journal.commit()
    (pages,) = journal._database.execute("PRAGMA page_count").fetchone()
    journal._database.execute(f"PRAGMA max_page_count = {pages}")
    journal.put("jobs", "large", "x" * 100_000)
    journal.put("jobs", "small", 1)
    with pytest.raises(JournalFull, match="free space on its disk"):
        journal.commit()
    assert left_by_a_kill(path).read("jobs") == {"old": 0}
    journal.put("jobs", "small", 2)
    journal._database.execute("PRAGMA max_page_count = 100000")
    journal.commit()
    assert journal.read("jobs") == {"old": 0, "large": "x" * 100_000, "small": 2}


def test_later_changes_count_if_a_commit_fails_meanwhile(path: Path):
    journal = Journal(path)
    journal.put("jobs", "changed", 1)
    journal.put("jobs", "same", 1)
    journal.put("tables", "old", 1)

    def fail() -> dict[str, Any]:
        # Items expire on another thread.
        journal.put("jobs", "changed", 2)
        journal.replace("tables", lambda: {"new": 1})
        raise ZeroDivisionError

    journal.replace("others", fail)
    with pytest.raises(ZeroDivisionError):
        journal.commit()
    journal.replace("others", dict)
    journal.commit()
    assert journal.read("jobs") == {"changed": 2, "same": 1}
    assert journal.read("tables") == {"new": 1}


def test_a_journal_is_open_in_one_process(path: Path):
    first = Journal(path)
    with pytest.raises(JournalInUse, match="headway sandbox down"):
        Journal(path)
    first.close()
    Journal(path)


def test_whether_a_process_has_a_journal_open_is_known_without_opening_it(path: Path):
    assert not is_open(path)
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "open\n"
        writer.send_signal(signal.SIGSTOP)
        assert is_open(path)
        writer.kill()
    assert not is_open(path)
    Journal(path).close()
    assert not is_open(path)
    path.write_text("not a database")
    assert not is_open(path)


@pytest.mark.parametrize(
    ("content", "error"),
    [(b"not a database" * 100, JournalDamaged), (b"SQLite format 3\0" + b"\xff" * 8000, JournalDamaged)],
)
def test_another_file_is_refused(path: Path, content: bytes, error: type[JournalError]):
    path.write_bytes(content)
    with pytest.raises(error, match="begin with an empty sandbox"):
        Journal(path)
    assert path.read_bytes() == content


def test_a_schema_that_is_no_utf_8_is_reported(path: Path):
    Journal(path).close()
    path.write_bytes(
        path.read_bytes().replace(b"CREATE TABLE documents (collection", b"CREATE \xffABLE documents (collection")
    )
    with pytest.raises(JournalDamaged):
        Journal(path)


def test_a_damaged_page_is_reported(path: Path):
    journal = Journal(path)
    for number in range(100):
        journal.put("jobs", str(number), "x" * 1000)
    journal.close()
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 6] = b"\xa5" * 4096 * 3
    path.write_bytes(content)
    with pytest.raises(JournalDamaged):
        Journal(path).read("jobs")


def test_the_journal_of_another_version_is_refused(path: Path):
    Journal(path).close()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 7")
    database.close()
    with pytest.raises(JournalOfOtherVersion, match="schema 7, this one has 1"):
        Journal(path)


@pytest.mark.parametrize("document", ["{", "[" * 100_000, ""])
def test_a_document_that_is_no_json_is_reported(path: Path, document: str):
    Journal(path).close()
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO documents VALUES ('jobs', 'a', ?)", (document,))
    database.close()
    journal = Journal(path)
    with pytest.raises(JournalDamaged, match="'a' of the journal is no JSON"):
        journal.read("jobs")
    journal.close()


def test_a_journal_that_cannot_be_read_is_not_kept_open(path: Path):
    Journal(path).close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE documents SET document = '{'")
    with pytest.raises(JournalDamaged):
        Journal(path)
    # The error, which pytest keeps, keeps the journal: only its database is closed.
    with closing(sqlite3.connect(path, timeout=0)) as database:
        assert database.execute("SELECT COUNT(*) FROM documents").fetchone() == (1,)
