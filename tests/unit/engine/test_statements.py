"""Single statements: one version each, committed by the engine, conflicts decided by the engine."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from tests.support.bridge import (
    Bridge,
    appending,
    compacting,
    creation,
    overwriting,
    raises_kind,
    replacing,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.bridge import Catalog


def test_table_and_data_become_visible_together(catalog: Catalog, other: Catalog) -> None:
    """CTAS is one version: before its entry there is no table, after it the table has its rows."""
    statement = catalog.statement()
    log = statement.stage("new")
    raises_kind("OBJECT_NOT_FOUND", log.list)
    raises_kind("TABLE_NOT_FOUND", lambda: other.files("new"))
    version = log.commit(creation("x"))

    assert other.files("new") == {"x"}
    assert catalog.call("tables", namespace="ns", statement=None)["names"] == ["new", "t"]
    assert version == 3


def test_statement_sees_one_version(catalog: Catalog, other: Catalog) -> None:
    """Tables loaded late in a statement show its version; a new statement shows the newest."""
    catalog.create("u", "u1")
    statement = catalog.statement()
    assert statement.files("t") == {"f1", "f2"}
    other.insert("t", "f3")
    other.insert("u", "u2")

    assert statement.files("u") == {"u1"}
    assert statement.files("t") == {"f1", "f2"}
    assert catalog.files("u") == {"u1", "u2"}
    assert catalog.files("t") == {"f1", "f2", "f3"}


def test_concurrent_inserts_are_renumbered(catalog: Catalog, other: Catalog) -> None:
    """Two statements pinned at one version: both commit, nothing is copied, all rows are there."""
    mine, theirs = catalog.statement().load("t", "write"), other.statement().load("t", "write")
    first, second = theirs.commit(appending("f3")), mine.commit(appending("f4"))
    assert (first, second) == (3, 4)

    read = catalog.statement().load("t")
    assert read.files() == {"f1", "f2", "f3", "f4"}
    assert [n for n in read.list() if "_1.json" in n[0]], "renumbered, not copied"
    staged = read.physical("_staged_commits")
    assert len(list(staged.iterdir())) == 2


def test_private_numbers_stay_private(catalog: Catalog, other: Catalog) -> None:
    """The writing view keeps its own numbering; every other view shows committed numbers."""
    mine = catalog.statement().load("t", "write")
    other.insert("t", "f3")
    mine.commit(appending("f4"))

    assert mine.version() == 1
    assert mine.files() == {"f1", "f2", "f4"}
    live = catalog.statement().load("t", "live")
    assert live.version() == 2
    stream = type(live)(catalog.bridge, live.answer["stream_path"], {})
    assert stream.version() == 2
    assert stream.files() == live.files() == {"f1", "f2", "f3", "f4"}


def test_conflict_is_typed(catalog: Catalog, other: Catalog) -> None:
    """Two updates of one file: the second is refused with all facts, and leaves nothing."""
    mine = catalog.statement().load("t", "write")
    other.update("t", "f1", "f1b")
    error = raises_kind("COMMIT_CONFLICT", lambda: mine.commit(replacing("f1", "f1c")))

    assert error.sql_state == "40001"
    assert error.fields["table"] == "ns.t"
    assert (error.fields["my_operation"], error.fields["their_version"]) == ("UPDATE", 3)
    assert {"rule", "advice", "author", "time", "their_operation", "key"} <= error.fields.keys()
    assert catalog.files("t") == {"f1b", "f2"}


def test_conflicting_entry_is_not_retried(catalog: Catalog, other: Catalog) -> None:
    """A conflict in a writing view is no FileAlreadyExists: Delta must not retry by itself."""
    mine = catalog.statement().load("t", "write")
    other.update("t", "f1", "f1b")
    raises_kind("COMMIT_CONFLICT", lambda: mine.commit(replacing("f1", "f1c")))
    raises_kind("TRANSACTION_FINISHED", lambda: mine.commit(replacing("f1", "f1c")))


def test_statement_may_commit_twice(catalog: Catalog) -> None:
    """A statement's hooks (auto compaction) commit again through the same view."""
    log = catalog.statement().load("t", "write")
    log.commit(appending("f3"))
    log.commit(compacting("c", "f1", "f3"))

    assert log.files() == catalog.files("t") == {"f2", "c"}


def test_second_commit_minds_what_came_between(catalog: Catalog, other: Catalog) -> None:
    """The second commit is checked from the statement's version on, its own first one apart."""
    log = catalog.statement().load("t", "write")
    other.update("t", "f1", "f1b")
    log.commit(appending("f3"))
    log.commit(compacting("c", "f2", "f3"))
    assert catalog.files("t") == {"f1b", "c"}

    log = catalog.statement().load("t", "write")
    other.update("t", "f1b", "f1c")
    log.commit(appending("f4"))
    log.commit(replacing("f4", "f5"))
    raises_kind("COMMIT_CONFLICT", lambda: log.commit(replacing("f1b", "f6")))
    assert catalog.files("t") == {"f1c", "c", "f5"}


def test_second_commit_of_a_statement_that_creates(catalog: Catalog, other: Catalog) -> None:
    """CTAS and its hooks: the second commit stands on the table that the first one made."""
    log = catalog.statement().stage("new")
    log.commit(creation("x", "y"))
    other.insert("new", "z")
    log.commit(compacting("c", "x", "y"))

    assert catalog.files("new") == {"c", "z"}


def test_creating_statement_commits_again_after_others(catalog: Catalog, other: Catalog) -> None:
    """The lake moved before the creation: its second commit still finds the table."""
    log = catalog.statement().stage("new")
    other.insert("t", "f3")
    log.commit(creation("x", "y"))
    other.insert("new", "z")
    log.commit(compacting("c", "x", "y"))

    assert catalog.files("new") == {"c", "z"}


def test_replace_keeps_the_table(catalog: Catalog, other: Catalog) -> None:
    """CREATE OR REPLACE writes on: older versions of the table stay readable."""
    statement = catalog.statement()
    log = statement.stage("t", "create_or_replace")
    assert log.answer["exists"]
    log.commit(overwriting("g1", "f1", "f2"))

    assert other.files("t") == {"g1"}
    assert other.files("t", version="2") == {"f1", "f2"}


def test_create_or_replace_creates(catalog: Catalog) -> None:
    """Where there is no table, it is a creation."""
    log = catalog.statement().stage("n", "create_or_replace")
    assert not log.answer["exists"]
    log.commit(creation("x"))
    assert catalog.files("n") == {"x"}


def test_two_creations_of_one_name(catalog: Catalog, other: Catalog) -> None:
    """One wins; the other is a conflict, and its rows are nowhere."""
    mine, theirs = catalog.statement().stage("n"), other.statement().stage("n")
    theirs.commit(creation("x"))
    raises_kind("COMMIT_CONFLICT", lambda: mine.commit(creation("y")))
    assert catalog.files("n") == {"x"}


def test_statement_goes_on_after_its_commit(catalog: Catalog) -> None:
    """What a statement loads after it committed shows its own work, and nothing fails."""
    statement = catalog.statement()
    statement.insert("t", "f3")

    assert statement.files("t") == {"f1", "f2", "f3"}
    statement.call("table_load", table="t", mode="write")
    assert statement.call("tables")["names"] == ["t"]


def test_statement_goes_on_after_a_change_of_names(catalog: Catalog) -> None:
    """The same after DDL: a rename, then a load in the same statement."""
    statement = catalog.statement()
    statement.files("t")
    statement.call("table_rename", table="t", to_namespace="ns", to_table="t2")

    assert statement.files("t2") == {"f1", "f2"}
    assert statement.call("table_drop", table="t2")["dropped"]
    assert statement.call("tables")["names"] == []


def test_serializable_minds_tables_read(catalog: Catalog, other: Catalog, tmp_path: Path) -> None:
    """INSERT INTO u SELECT FROM t: refused if t changed, allowed under SNAPSHOT."""
    catalog.create("u")
    strict = catalog.bridge.open(tmp_path / "lake", isolation="serializable")
    for session, allowed in ((strict, False), (catalog, True)):
        statement = session.statement()
        files = statement.files("t")
        target = statement.load("u", "write")
        other.insert("t", f"more-{allowed}")
        if allowed:
            target.commit(appending(*files))
        else:
            error = raises_kind("COMMIT_CONFLICT", lambda log=target: log.commit(appending("x")))
            assert error.fields["table"] == "ns.t"


def test_serializable_statement_on_an_unmoved_lake(catalog: Catalog, tmp_path: Path) -> None:
    """Nothing came between: reads and writes of one table commit."""
    strict = catalog.bridge.open(tmp_path / "lake", isolation="serializable")
    statement = strict.statement()
    statement.files("t")
    statement.update("t", "f1", "f1b")

    assert strict.files("t") == {"f1b", "f2"}


def test_author_is_the_sessions(tmp_path: Path) -> None:
    """Each version says who made it."""
    catalog = Bridge().open(tmp_path / "lake", author="ada")
    catalog.create_namespace()
    rows = catalog.call("system_table", table="versions")
    names = [column[0] for column in rows["columns"]]

    assert rows["rows"][0][names.index("author")] == "ada"


def test_threads_of_one_session_do_not_shift_each_other(
    catalog: Catalog, other: Catalog, stranger: Catalog
) -> None:
    """Statements of several threads see one version each, whatever is committed meanwhile.

    Transactions of another session and of another engine add a file to two tables at once, so a
    statement that finds more in one than in the other has mixed versions. The session writes too.
    """
    for name in ("a", "b", "own"):
        catalog.create(name)
    done = threading.Event()
    mixed: list[tuple[int, int]] = []

    def read() -> int:
        """Count statements until the writers are done."""
        statements = 0
        while not done.is_set():
            statement = catalog.statement()
            first, second = len(statement.files("a")), len(statement.files("b"))
            if first != second or len(statement.files("a")) != first:
                mixed.append((first, second))
            statements += 1
        return statements

    def write(session: Catalog, files: str) -> None:
        """Add files to both tables, in one transaction each time."""
        for number in range(12):
            session.procedure("begin")
            for table in ("b", "a"):
                session.insert(table, f"{files}{number}")
            session.procedure("commit")

    def insert() -> None:
        """Write with single statements of the session that is being read through."""
        for number in range(12):
            catalog.insert("own", f"own{number}")

    with ThreadPoolExecutor() as pool:
        readers = [pool.submit(read) for _ in range(3)]
        writers = [
            pool.submit(write, other, "x"),
            pool.submit(write, stranger, "y"),
            pool.submit(insert),
        ]
        try:
            for writer in writers:
                writer.result()
        finally:
            done.set()
        assert all(reader.result() > 3 for reader in readers)
    assert mixed == []
    assert len(catalog.files("a")) == len(catalog.files("b")) == 24
    assert len(catalog.files("own")) == 12
