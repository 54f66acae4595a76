"""A journal of JSON documents in collections, in one SQLite database.

Changes are collected in memory and saved by `Journal.commit`, all or none. What was committed is there after the
process is killed at any moment, also in the middle of a commit (SQLite documentation, "Write-Ahead Logging"). After a
power failure the last commits may be missing, as a commit does not wait for the disk (``synchronous=NORMAL``).
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from headway_sandbox.errors import JournalDamaged, JournalFull, JournalInUse, JournalOfOtherVersion

FILE = "journal.db"
"""Name of the database in the state directory."""
VERSION = 1
"""Version of the database's schema."""

_SCHEMA = """
CREATE TABLE documents (collection TEXT, name TEXT, document TEXT, PRIMARY KEY (collection, name)) WITHOUT ROWID
"""
_SERVER, _STATE, _RUNNING, _STOPPED = "server", "state", "running", "stopped"
_REMOVED = object()
_LEAST_FREE_BYTES = 2**24
"""What a disk has to have for a call of the queue: room for a few changes, and for the files of a function."""

_PRIMARY = 0xFF
"""An extended code of SQLite has the primary one in its lowest byte."""

Document = Any
"""A JSON value. It is serialized by the commit, so a later change of a mutable one is committed, too."""


class Journal:
    """The journal of a state directory, which one process has open at a time.

    Args:
        path: the database. It is created if it does not exist.

    Attributes:
        was_killed: whether the process that last served did not close it.

    Raises:
        JournalInUse: another process has it open.
        JournalDamaged: it is not a journal, or is damaged.
        JournalOfOtherVersion: another version of Headway created it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._changes: dict[tuple[str, str], Document] = {}
        self._replaced: dict[str, Callable[[], Mapping[str, Document]]] = {}
        with self._errors():
            # No waiting: a process has the journal open as long as it runs.
            self._database = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            with self._errors():
                self._open()
            self.was_killed = self.read(_SERVER).get(_STATE) == _RUNNING
            # A disk that is full is reported at the start.
            self.put(_SERVER, _STATE, _RUNNING if self.was_killed else _STOPPED)
            self.commit()
        except BaseException:
            self._database.close()
            raise

    def mark_running(self) -> None:
        """Record, with the next commit, that the process serves; one that ends earlier does not count as killed."""
        self.put(_SERVER, _STATE, _RUNNING)

    def _open(self) -> None:
        # Held until the database is closed or the process ends.
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute("BEGIN EXCLUSIVE")
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if not version:
            self._database.execute(_SCHEMA)
            self._database.execute(f"PRAGMA user_version = {VERSION}")
        elif version != VERSION:
            raise JournalOfOtherVersion(
                f"{self._path} is of another version of Headway (schema {version}, this one has {VERSION}). Start the "
                f"sandbox with that version, or remove {self._path.parent} to begin with an empty sandbox."
            )
        self._database.execute("COMMIT")

    def put(self, collection: str, name: str, document: Document) -> None:
        """Add or replace a document.

        Args:
            collection: the name of its collection.
            name: its name in the collection.
        """
        with self._lock:
            self._changes[collection, name] = document

    def remove(self, collection: str, name: str) -> None:
        """Remove a document, if it exists.

        Args:
            collection: the name of its collection.
            name: its name in the collection.
        """
        self.put(collection, name, _REMOVED)

    def replace(self, collection: str, documents: Callable[[], Mapping[str, Document]]) -> None:
        """Replace a whole collection.

        Args:
            collection: its name.
            documents: returns its documents by name; called by the commit.
        """
        with self._lock:
            self._changes = {key: document for key, document in self._changes.items() if key[0] != collection}
            self._replaced[collection] = documents

    def read(self, collection: str) -> dict[str, Document]:
        """Return the committed documents of a collection by name.

        Args:
            collection: its name.

        Raises:
            JournalDamaged: the database is damaged.
        """
        with self._errors():
            rows = self._database.execute(
                "SELECT name, document FROM documents WHERE collection = ? ORDER BY name", (collection,)
            )
            return {name: _decoded(document, name) for name, document in rows}

    def counts(self) -> dict[str, int]:
        """Return the number of committed documents of each collection; raises JournalDamaged."""
        with self._errors():
            return dict(self._database.execute("SELECT collection, COUNT(*) FROM documents GROUP BY collection"))

    def commit(self) -> None:
        """Save all changes since the last commit.

        Raises:
            JournalFull: the disk is full. The changes are kept for the next commit.
            JournalDamaged: they cannot be saved for another reason. They are kept, too.
        """
        with self._lock:
            changes, self._changes = self._changes, {}
            replaced, self._replaced = self._replaced, {}
        if not changes and not replaced:
            return
        try:
            with self._errors():
                self._write(changes, replaced)
        except BaseException:
            with self._lock:
                kept = {key: document for key, document in changes.items() if key[0] not in self._replaced}
                self._changes = {**kept, **self._changes}
                self._replaced = {**replaced, **self._replaced}
            raise

    def lack_of_space(self) -> JournalFull | None:
        """Return the error of a disk that is as good as full; None if it has space."""
        free = shutil.disk_usage(self._path.parent).free
        return self._full(f"{free:,} bytes are left") if free < _LEAST_FREE_BYTES else None

    def close(self) -> None:
        """Save all changes, record that the process has not been killed, and close the database.

        Raises:
            JournalFull: the disk is full.
            JournalDamaged: the changes cannot be saved for another reason.
        """
        self.put(_SERVER, _STATE, _STOPPED)
        try:
            self.commit()
        finally:
            self._database.close()

    def _write(
        self, changes: Mapping[tuple[str, str], Document], replaced: Mapping[str, Callable[[], Mapping[str, Document]]]
    ) -> None:
        put = [(*key, json.dumps(document)) for key, document in changes.items() if document is not _REMOVED]
        removed = [key for key, document in changes.items() if document is _REMOVED]
        execute, execute_each = self._database.execute, self._database.executemany
        execute("BEGIN")
        try:
            for collection, documents in replaced.items():
                execute("DELETE FROM documents WHERE collection = ?", (collection,))
                rows = ((collection, name, json.dumps(document)) for name, document in documents().items())
                execute_each("INSERT INTO documents VALUES (?, ?, ?)", rows)
            execute_each("INSERT OR REPLACE INTO documents VALUES (?, ?, ?)", put)
            execute_each("DELETE FROM documents WHERE collection = ? AND name = ?", removed)
            execute("COMMIT")
        except BaseException:
            # SQLite has rolled back already after some errors.
            if self._database.in_transaction:
                execute("ROLLBACK")
            raise

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError as error:
            # The message of an error, which names what is damaged.
            raise self._damaged(error) from error
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
            if code == sqlite3.SQLITE_BUSY:
                raise JournalInUse(
                    f"Another server has {self._path} open. Stop it with `headway sandbox down`, or end its process."
                ) from error
            if code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}:
                raise self._full(error) from error
            raise self._damaged(error) from error

    def _full(self, why: object) -> JournalFull:
        return JournalFull(
            f"{self._path} cannot be written ({why}): free space on its disk. Nothing that was accepted is lost while "
            f"the sandbox runs."
        )

    def _damaged(self, error: Exception) -> JournalDamaged:
        return JournalDamaged(
            f"{self._path} cannot be used ({error}). Remove {self._path.parent} to begin with an empty sandbox."
        )


def is_open(path: Path) -> bool:
    """Return whether a process has a journal open. What is no journal is not open.

    Args:
        path: the database, which this process does not have open.
    """
    if not path.is_file():
        return False
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=0)) as database:
            database.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        return getattr(error, "sqlite_errorcode", 0) & _PRIMARY == sqlite3.SQLITE_BUSY
    return False


def _decoded(document: object, name: object) -> Document:
    try:
        return json.loads(str(document))
    except (ValueError, RecursionError) as error:
        raise JournalDamaged(
            f"The document {name!r:.60} of the journal is no JSON. Remove its folder to begin with an empty sandbox."
        ) from error
