"""PREPARE TRANSACTION and what follows, in other sessions and other engines; fail-fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.bridge import Bridge, appending, compacting, raises_kind, replacing

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.bridge import Catalog


def prepare(catalog: Catalog, name: str = "load") -> str:
    """Prepare: t gets f3, f1 becomes f1b, a new table u; return the id."""
    [[transaction_id, _]] = catalog.procedure("begin", message="nightly")
    catalog.insert("t", "f3")
    catalog.update("t", "f1", "f1b")
    catalog.create("u", "u1")
    assert catalog.procedure("prepare_transaction", name=name) == [[name, transaction_id]]
    return transaction_id


def states(catalog: Catalog) -> dict[str, str]:
    """Return the state of each prepared transaction."""
    return {row[0]: row[2] for row in catalog.procedure("show_transactions")}


def test_another_engine_goes_on(catalog: Catalog, stranger: Catalog) -> None:
    """It reads the staged tables, writes more, and commits all of it as one version."""
    transaction_id = prepare(catalog)
    assert catalog.procedure("show_transaction") == []
    assert catalog.files("t") == stranger.files("t") == {"f1", "f2"}

    [[resumed, base]] = stranger.procedure("resume_transaction", name="load")
    assert (resumed, base) == (transaction_id, 2)
    assert stranger.files("t") == {"f1b", "f2", "f3"}
    assert stranger.files("u") == {"u1"}
    assert stranger.insert("u", "u2") is None
    assert stranger.insert("t", "f4") is None
    stranger.update("t", "f3", "f3b")
    assert catalog.files("t") == {"f1", "f2"}
    assert stranger.procedure("commit") == [[3, transaction_id]]
    for each in (catalog, stranger):
        assert each.files("t") == {"f1b", "f2", "f3b", "f4"}
        assert each.files("u") == {"u1", "u2"}
    assert states(catalog) == {"load": "committed"}


def test_commit_prepared_is_rebased(catalog: Catalog, stranger: Catalog) -> None:
    """Log entries of another process are read back and put on top of what was committed since."""
    prepare(catalog)
    catalog.insert("t", "g")
    catalog.statement().load("t", "live").commit(compacting("c", "f2", "g"))
    [[version, _]] = stranger.procedure("commit_prepared", name="load")
    assert version == 5
    assert catalog.files("t") == {"f1b", "c", "f3"}


def test_a_conflict_names_all_tables_and_loses_nothing(catalog: Catalog, stranger: Catalog) -> None:
    """It stays prepared, can be read, and given up."""
    catalog.create("v", "v1")
    catalog.procedure("begin")
    catalog.update("t", "f1", "mine")
    catalog.update("v", "v1", "mine")
    catalog.procedure("prepare_transaction", name="load")
    catalog.update("t", "f1", "theirs")
    catalog.update("v", "v1", "theirs")
    error = raises_kind(
        "COMMIT_CONFLICT", lambda: stranger.procedure("commit_prepared", name="load")
    )
    assert {c["table"] for c in error.fields["conflicts"]} == {"ns.t", "ns.v"}
    stranger.procedure("resume_transaction", name="load")
    assert stranger.files("t") == {"mine", "f2"}
    stranger.procedure("rollback")
    assert states(catalog) == {"load": "rolled back"}


def test_a_long_transaction_is_rebased(catalog: Catalog, stranger: Catalog) -> None:
    """Also when so many statements were made that most of their entries were sealed away."""
    catalog.procedure("begin")
    for number in range(140):
        catalog.insert("t", f"n{number}")
    catalog.procedure("prepare_transaction", name="load")
    catalog.insert("t", "g")
    stranger.procedure("commit_prepared", name="load")
    assert catalog.files("t") == {"f1", "f2", "g", *(f"n{number}" for number in range(140))}


def test_a_session_that_ends_leaves_it_prepared(catalog: Catalog, stranger: Catalog) -> None:
    """What it did since it resumed is forgotten; what was prepared stays."""
    prepare(catalog)
    stranger.procedure("resume_transaction", name="load")
    stranger.insert("t", "forgotten")
    stranger.call("catalog_close")
    assert states(catalog) == {"load": "prepared"}
    catalog.procedure("commit_prepared", name="load")
    assert catalog.files("t") == {"f1b", "f2", "f3"}


def test_two_sessions_resume_it(catalog: Catalog, other: Catalog) -> None:
    """Both read; one commits, the other is told, and is free for the next transaction."""
    prepare(catalog)
    for session in (catalog, other):
        session.procedure("resume_transaction", name="load")
        assert session.files("u") == {"u1"}
    other.insert("u", "late")
    catalog.procedure("commit")
    assert raises_kind("TRANSACTION_MOVED", lambda: other.procedure("commit")).sql_state == "25000"
    raises_kind("NO_TRANSACTION", lambda: other.procedure("rollback"))
    assert other.files("u") == {"u1"}


def test_prepare_again(catalog: Catalog, other: Catalog) -> None:
    """An auditor hands it back with a correction; one who resumed before is told."""
    prepare(catalog)
    other.procedure("resume_transaction", name="load")
    catalog.procedure("resume_transaction", name="load")
    catalog.insert("u", "u2")
    catalog.procedure("prepare_transaction", name="load")
    raises_kind("TRANSACTION_MOVED", lambda: other.procedure("prepare_transaction", name="load"))
    # PREPARE failed, so the transaction is still open, and can be given up by its session only.
    raises_kind("TRANSACTION_MOVED", lambda: other.procedure("rollback"))
    other.procedure("commit_prepared", name="load")
    assert catalog.files("u") == {"u1", "u2"}


def test_out_of_place(catalog: Catalog, other: Catalog) -> None:
    """Outside, inside, twice, unknown, taken, badly named: each its own error, nothing changed."""
    raises_kind("NO_TRANSACTION", lambda: catalog.procedure("prepare_transaction", name="x"))
    for procedure in ("resume_transaction", "commit_prepared", "rollback_prepared"):
        error = raises_kind("TRANSACTION_NOT_FOUND", lambda: catalog.procedure(procedure, name="x"))  # noqa: B023
        assert error.sql_state == "42704"
        raises_kind("INVALID_ARGUMENT", lambda: catalog.procedure(procedure))  # noqa: B023
    prepare(catalog)
    catalog.procedure("begin")
    for procedure in ("resume_transaction", "commit_prepared", "rollback_prepared"):
        raises_kind("TRANSACTION_ACTIVE", lambda: catalog.procedure(procedure, name="load"))  # noqa: B023
    catalog.insert("t", "f9")
    taken = raises_kind(
        "TRANSACTION_ALREADY_EXISTS", lambda: catalog.procedure("prepare_transaction", name="load")
    )
    assert taken.sql_state == "42710"
    raises_kind("INVALID_NAME", lambda: catalog.procedure("prepare_transaction", name="a/b"))
    catalog.procedure("prepare_transaction", name="second")
    other.procedure("resume_transaction", name="second")
    raises_kind("TRANSACTION_ACTIVE", lambda: other.procedure("resume_transaction", name="load"))
    other.procedure("rollback")
    raises_kind("TRANSACTION_FINISHED", lambda: other.procedure("commit_prepared", name="second"))
    assert states(other) == {"load": "prepared", "second": "rolled back"}


def test_the_table_of_transactions(catalog: Catalog) -> None:
    """``system.transactions`` shows what SHOW TRANSACTIONS shows."""
    transaction_id = prepare(catalog)
    answer = catalog.call("system_table", table="transactions", limit=None)
    assert answer["rows"] == catalog.procedure("show_transactions")
    row = dict(zip([c[0] for c in answer["columns"]], answer["rows"][0], strict=True))
    assert (row["transaction_id"], row["message"]) == (transaction_id, "nightly")
    assert [(c["name"], c["operation"]) for c in row["changes"]] == [
        ("ns.t", "INSERT"),
        ("ns.t", "UPDATE"),
        ("ns.u", "CREATE"),
    ]


def test_reads_that_found_nothing_are_prepared_too(catalog: Catalog, stranger: Catalog) -> None:
    """Under SERIALIZABLE an UPDATE that met no row has read the table, and that is kept."""
    catalog.procedure("begin", isolation="serializable")
    catalog.statement().load("t", "write").list()
    catalog.create("u", "u1")
    catalog.procedure("prepare_transaction", name="load")
    catalog.insert("t", "g")
    raises_kind("COMMIT_CONFLICT", lambda: stranger.procedure("commit_prepared", name="load"))


@pytest.fixture
def fast(catalog: Catalog, tmp_path: Path) -> Catalog:
    """A session with the fail-fast setting, of another engine."""
    assert catalog
    return Bridge().open(tmp_path / "lake", fail_fast=True)


def test_fail_fast_refuses_before_any_work(catalog: Catalog, fast: Catalog) -> None:
    """The next statement that writes fails when COMMIT would; so does COMMIT, with all tables."""
    catalog.create("v", "v1")
    fast.procedure("begin")
    fast.update("t", "f1", "mine")
    catalog.update("t", "f1", "theirs")
    raises_kind("COMMIT_CONFLICT", lambda: fast.statement().load("v", "write"))
    raises_kind("COMMIT_CONFLICT", lambda: fast.statement().stage("w"))
    raises_kind("COMMIT_CONFLICT", lambda: fast.create_namespace("n"))
    assert fast.files("v") == {"v1"}
    raises_kind("COMMIT_CONFLICT", lambda: fast.procedure("commit"))


def test_fail_fast_leaves_out_the_statement(catalog: Catalog, fast: Catalog) -> None:
    """A statement that conflicts by itself has no effect, and the transaction goes on."""
    catalog.create("v", "v1")
    fast.procedure("begin")
    fast.insert("v", "v2")
    log = fast.statement().load("t", "write")
    catalog.update("t", "f1", "theirs")
    raises_kind("COMMIT_CONFLICT", lambda: fast.update("t", "f1", "mine"))
    catalog.create("taken")
    raises_kind("COMMIT_CONFLICT", lambda: fast.create("taken"))
    live = fast.statement().load("t", "live")
    raises_kind("COMMIT_CONFLICT", lambda: live.commit(replacing("f1", "x")))
    raises_kind("COMMIT_CONFLICT", lambda: fast.statement().call("table_drop", table="t"))
    log.commit(appending("f3"))
    fast.procedure("commit")
    assert catalog.files("t") == {"theirs", "f2", "f3"}
    assert catalog.files("v") == {"v1", "v2"}


def test_without_fail_fast_only_commit_fails(catalog: Catalog, other: Catalog) -> None:
    """The setting is off unless somebody sets it."""
    other.procedure("begin")
    other.update("t", "f1", "mine")
    catalog.update("t", "f1", "theirs")
    other.create("w", "w1")
    raises_kind("COMMIT_CONFLICT", lambda: other.procedure("commit"))


def test_a_failure_in_two_threads_leaves_it_prepared(catalog: Catalog, stranger: Catalog) -> None:
    """A resumed transaction that cannot be repaired is over in its session, and only there."""
    prepare(catalog)
    stranger.procedure("resume_transaction", name="load")
    half = stranger.statement().load("t", "write")
    half.commit(appending("half"), execution="7")
    stranger.insert("u", "u2")
    half.take_back("7")
    raises_kind("TRANSACTION_FINISHED", lambda: stranger.procedure("commit"))
    assert states(catalog) == {"load": "prepared"}
    catalog.procedure("commit_prepared", name="load")
    assert catalog.files("u") == {"u1"}
