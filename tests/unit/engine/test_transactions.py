"""BEGIN … COMMIT: staged in the session, seen by the session only, one version or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.bridge import appending, compacting, creation, raises_kind, replacing

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.bridge import Catalog


def test_all_tables_become_visible_in_one_version(catalog: Catalog, other: Catalog) -> None:
    """DDL and data of several tables: the session sees them at once, others at COMMIT."""
    [[transaction_id, base]] = catalog.procedure("begin")
    catalog.create_namespace("new")
    catalog.create("u", "u1")
    assert catalog.insert("u", "u2") is None
    assert catalog.update("t", "f1", "f1b") is None
    assert catalog.files("u") == {"u1", "u2"}
    assert catalog.files("t") == {"f1b", "f2"}
    assert other.files("t") == {"f1", "f2"}
    assert other.call("tables", namespace="ns", statement=None)["names"] == ["t"]
    raises_kind("TABLE_NOT_FOUND", lambda: other.files("u"))

    [[version, committed_id]] = catalog.procedure("commit")
    assert (version, committed_id) == (base + 1, transaction_id)
    assert other.files("u") == {"u1", "u2"}
    assert other.files("t") == {"f1b", "f2"}
    assert other.call("namespaces", statement=None)["names"] == ["new", "ns"]


def test_rollback_leaves_nothing(catalog: Catalog, other: Catalog) -> None:
    """The session sees what was there before, and the next statement writes on that."""
    catalog.procedure("begin")
    catalog.create("u", "u1")
    catalog.insert("t", "f3")
    catalog.procedure("rollback")

    assert catalog.files("t") == {"f1", "f2"}
    raises_kind("TABLE_NOT_FOUND", lambda: catalog.files("u"))
    catalog.insert("t", "f4")
    assert other.files("t") == {"f1", "f2", "f4"}


def test_transaction_reads_its_own_version(catalog: Catalog, other: Catalog) -> None:
    """What others commit meanwhile stays invisible, for listings too."""
    catalog.procedure("begin")
    other.insert("t", "f3")
    other.create("u", "u1")

    assert catalog.files("t") == {"f1", "f2"}
    assert catalog.statement().call("tables")["names"] == ["t"]
    catalog.procedure("rollback")
    assert catalog.files("t") == {"f1", "f2", "f3"}


def test_disjoint_work_is_rebased(catalog: Catalog, other: Catalog) -> None:
    """Several statements on one table follow another's insert; nothing is lost or copied."""
    catalog.procedure("begin")
    catalog.insert("t", "f3")
    catalog.update("t", "f3", "f4")
    catalog.update("t", "f1", "f1b")
    other.insert("t", "g")
    catalog.procedure("commit")

    assert other.files("t") == {"f1b", "f2", "f4", "g"}


def test_conflict_at_commit_ends_the_transaction(catalog: Catalog, other: Catalog) -> None:
    """All conflicting tables are named; nothing is kept; the next COMMIT finds no transaction."""
    catalog.create("u", "u1")
    catalog.procedure("begin")
    catalog.update("t", "f1", "mine")
    catalog.update("u", "u1", "mine")
    other.update("t", "f1", "theirs")
    other.update("u", "u1", "theirs")
    error = raises_kind("COMMIT_CONFLICT", lambda: catalog.procedure("commit"))

    assert {c["table"] for c in error.fields["conflicts"]} == {"ns.t", "ns.u"}
    assert catalog.files("t") == {"theirs", "f2"}
    assert raises_kind("NO_TRANSACTION", lambda: catalog.procedure("commit")).sql_state == "25P01"


def test_a_statement_that_fails_after_an_entry_is_taken_back(
    catalog: Catalog, other: Catalog
) -> None:
    """All of its entries and nothing else, also in the view that shows the session's tables."""
    catalog.procedure("begin")
    catalog.insert("t", "f3")
    half = catalog.statement().load("t", "write")
    half.commit(appending("h1"), "7")
    half.commit(appending("h2"), "7")
    assert catalog.files("t") == {"f1", "f2", "f3", "h1", "h2"}
    half.take_back("7")
    half.take_back("7")
    assert catalog.files("t") == {"f1", "f2", "f3"}
    live = catalog.statement().load("t", "live")
    live.commit(compacting("c", "f1", "f2"), "8")
    live.take_back("8")
    half.take_back("never wrote")
    created = catalog.statement().stage("u")
    created.commit(creation("u1"), "9")
    created.take_back("9")
    raises_kind("TABLE_NOT_FOUND", lambda: catalog.files("u"))
    catalog.update("t", "f3", "f4")
    catalog.procedure("commit")
    half.take_back("7")

    assert other.files("t") == catalog.files("t") == {"f1", "f2", "f4"}


def test_two_statements_of_one_transaction(catalog: Catalog, other: Catalog) -> None:
    """Two threads write to one table: the later statement fails alone, and can be run again."""
    catalog.procedure("begin")
    slow, fast = catalog.statement().load("t", "write"), catalog.statement().load("t", "write")
    fast.commit(appending("f3"))
    error = raises_kind("STATEMENT_CONFLICT", lambda: slow.commit(replacing("f1", "f1b")))
    assert error.sql_state == "55006"
    assert error.fields["table"] == "ns.t"
    assert catalog.files("t") == {"f1", "f2", "f3"}
    catalog.update("t", "f1", "f1b")
    catalog.procedure("commit")

    assert other.files("t") == {"f1b", "f2", "f3"}


def test_what_others_built_on_cannot_be_taken_back(catalog: Catalog, other: Catalog) -> None:
    """Two threads of one transaction: if the first statement fails, all of it ends."""
    for follow, goes_on in (
        (lambda: catalog.insert("t", "f3"), False),
        (lambda: catalog.create_namespace("later"), False),
        (lambda: catalog.create("u", "u1"), True),
    ):
        catalog.procedure("begin")
        half = catalog.statement().load("t", "write")
        half.commit(appending("h1"), "7")
        follow()
        if goes_on:
            half.commit(appending("h2"), "7")
        half.take_back("7")
        raises_kind("TRANSACTION_FINISHED", lambda: catalog.files("t"))
        raises_kind("TRANSACTION_FINISHED", lambda: catalog.procedure("commit"))
        assert other.files("t") == catalog.files("t") == {"f1", "f2"}
    catalog.procedure("begin")
    catalog.procedure("rollback")


def test_a_failed_edit_is_taken_back(catalog: Catalog) -> None:
    """DDL that fails leaves the transaction as it was, and open."""
    catalog.procedure("begin")
    catalog.create_namespace("kept")
    catalog.insert("t", "f3")
    raises_kind("NAMESPACE_NOT_EMPTY", lambda: catalog.call("namespace_drop", namespace="ns"))
    catalog.procedure("commit")
    assert catalog.files("t") == {"f1", "f2", "f3"}
    assert catalog.call("namespaces", statement=None)["names"] == ["kept", "ns"]


def test_failing_statement_leaves_the_transaction_as_it_was(catalog: Catalog) -> None:
    """Only log entries change anything, so a statement that fails before its entry did nothing."""
    catalog.procedure("begin")
    catalog.insert("t", "f3")
    catalog.statement().load("t", "write").list()
    statement = catalog.statement()
    statement.call("table_unstage", path=statement.stage("u").path)
    raises_kind("TABLE_NOT_FOUND", lambda: catalog.insert("nothing", "x"))
    catalog.procedure("commit")

    assert catalog.files("t") == {"f1", "f2", "f3"}
    raises_kind("TABLE_NOT_FOUND", lambda: catalog.files("u"))


def test_view_of_an_ended_transaction_writes_nothing(catalog: Catalog) -> None:
    """A statement that outlives its transaction is refused, not committed by itself."""
    catalog.procedure("begin")
    log = catalog.statement().load("t", "write")
    catalog.procedure("rollback")
    raises_kind("TRANSACTION_FINISHED", lambda: log.commit(appending("late")))

    catalog.procedure("begin")
    raises_kind("TRANSACTION_FINISHED", lambda: log.commit(appending("late")))
    catalog.procedure("rollback")
    assert catalog.files("t") == {"f1", "f2"}


def test_statement_begun_before_stays_outside(catalog: Catalog, other: Catalog) -> None:
    """A view made outside of a transaction commits by itself, whatever was begun since."""
    log = catalog.statement().load("t", "write")
    catalog.procedure("begin")
    assert log.commit(appending("f3")) == 3
    assert other.files("t") == {"f1", "f2", "f3"}
    assert catalog.files("t") == {"f1", "f2"}


def test_live_view_follows_the_transaction(catalog: Catalog, other: Catalog) -> None:
    """OPTIMIZE inside a transaction sees and changes the staged table; streams never see it."""
    live = catalog.statement().load("t", "live")
    catalog.procedure("begin")
    catalog.insert("t", "f3")
    assert live.files() == {"f1", "f2", "f3"}
    live.commit(compacting("c", "f1", "f3"))
    stream = type(live)(catalog.bridge, live.answer["stream_path"], {})
    assert stream.files() == {"f1", "f2"}
    assert catalog.files("t") == {"c", "f2"}
    other.insert("t", "g")
    catalog.procedure("commit")

    assert other.files("t") == stream.files() == live.files() == {"c", "f2", "g"}


def test_stream_writes_outside_of_the_transaction(catalog: Catalog, other: Catalog) -> None:
    """A running stream commits its batches while the session has a transaction open."""
    live = catalog.statement().load("t", "live")
    stream = type(live)(catalog.bridge, live.answer["stream_path"], {})
    catalog.procedure("begin")
    assert stream.commit(appending("s")) == 3

    assert other.files("t") == {"f1", "f2", "s"}
    assert catalog.files("t") == {"f1", "f2"}


def test_create_drop_rename_inside(catalog: Catalog, other: Catalog) -> None:
    """DDL × DML on names inside one transaction ends as a reader of the statements expects."""
    catalog.procedure("begin")
    catalog.create("u", "u1")
    catalog.insert("u", "u2")
    catalog.statement().call("table_rename", table="u", to_namespace="ns", to_table="w")
    catalog.insert("w", "u3")
    catalog.statement().call("table_drop", table="t")
    catalog.create("t", "again")
    catalog.procedure("commit")

    assert other.files("w") == {"u1", "u2", "u3"}
    assert other.files("t") == {"again"}
    assert other.call("tables", namespace="ns", statement=None)["names"] == ["t", "w"]


def test_serializable_transaction(catalog: Catalog, other: Catalog) -> None:
    """Write skew: both read t and u, one writes t, the other u; the second is refused."""
    catalog.create("u", "u1")
    for session in (catalog, other):
        session.procedure("begin", isolation="serializable")
        session.files("t")
        session.files("u")
    catalog.insert("t", "x")
    other.insert("u", "y")
    catalog.procedure("commit")
    raises_kind("COMMIT_CONFLICT", lambda: other.procedure("commit"))


def test_snapshot_transaction_allows_write_skew(catalog: Catalog, other: Catalog) -> None:
    """The same under SNAPSHOT commits, as that level promises no more."""
    catalog.create("u", "u1")
    for session in (catalog, other):
        session.procedure("begin", isolation="snapshot")
        session.files("t")
        session.files("u")
    catalog.insert("t", "x")
    other.insert("u", "y")
    catalog.procedure("commit")
    other.procedure("commit")


def test_empty_transaction_makes_no_version(catalog: Catalog) -> None:
    """COMMIT of a transaction that only read answers without a version."""
    catalog.procedure("begin")
    catalog.files("t")
    [[version, _]] = catalog.procedure("commit")

    assert version is None


def test_transactions_do_not_nest(catalog: Catalog, other: Catalog) -> None:
    """BEGIN inside is refused; two sessions have one each."""
    catalog.procedure("begin")
    assert raises_kind("TRANSACTION_ACTIVE", lambda: catalog.procedure("begin")).sql_state == (
        "25001"
    )
    other.procedure("begin")
    raises_kind("NO_TRANSACTION", lambda: (other.procedure("rollback"), other.procedure("commit")))


def test_show_transaction(catalog: Catalog) -> None:
    """What is open, since which version, and what it would change."""
    assert catalog.procedure("show_transaction") == []
    catalog.procedure("begin", isolation="serializable", message="nightly")
    catalog.insert("t", "f3")
    [row] = catalog.procedure("show_transaction")

    assert "nightly" in row
    assert "SERIALIZABLE" in row
    assert row[-1] == [{"object": "table", "name": "ns.t", "operation": "INSERT"}]


def test_message_and_author_are_in_the_history(catalog: Catalog) -> None:
    """A version says what it was for."""
    catalog.procedure("begin", message="load flights")
    catalog.insert("t", "f3")
    catalog.procedure("commit")
    answer = catalog.call("system_table", table="versions", limit=1)
    row = dict(zip([c[0] for c in answer["columns"]], answer["rows"][0], strict=True))

    assert row["message"] == "load flights"
    assert row["changes"] == [{"object": "table", "name": "ns.t", "operation": "INSERT"}]


def test_closing_the_catalog_rolls_back(catalog: Catalog, other: Catalog) -> None:
    """A session that ends without COMMIT leaves nothing, and is unknown from then on."""
    catalog.procedure("begin")
    catalog.insert("t", "f3")
    catalog.call("catalog_close")

    assert other.files("t") == {"f1", "f2"}
    raises_kind("ENGINE", lambda: catalog.files("t"))


def test_files_of_a_transaction_are_there_before_commit(catalog: Catalog) -> None:
    """Executors read staged entries by the naming rules, without asking anybody."""
    catalog.procedure("begin")
    catalog.insert("t", "f3")
    log = catalog.statement().load("t")

    assert all(path.exists() for path in log.commits().values())


def test_other_process_sees_all_or_nothing(catalog: Catalog, stranger: Catalog) -> None:
    """Another engine sees the old version until COMMIT, then all tables at once."""
    catalog.procedure("begin")
    catalog.create("u", "u1")
    catalog.update("t", "f1", "f1b")
    assert stranger.files("t") == {"f1", "f2"}
    catalog.procedure("commit")
    statement = stranger.statement()

    assert (statement.files("t"), statement.files("u")) == ({"f1b", "f2"}, {"u1"})


def test_dropped_table_under_a_writer(catalog: Catalog, other: Catalog) -> None:
    """DROP and DML conflict either way."""
    catalog.procedure("begin")
    catalog.insert("t", "f3")
    other.statement().call("table_drop", table="t")
    raises_kind("COMMIT_CONFLICT", lambda: catalog.procedure("commit"))

    catalog.create("v", "v1")
    log = catalog.statement().load("v", "write")
    other.statement().call("table_drop", table="v")
    raises_kind("COMMIT_CONFLICT", lambda: log.commit(replacing("v1", "v2")))


def test_same_name_created_twice(catalog: Catalog, other: Catalog) -> None:
    """A name that another transaction took meanwhile is a conflict at COMMIT."""
    catalog.procedure("begin")
    catalog.create("n", "mine")
    other.create("n", "theirs")
    raises_kind("COMMIT_CONFLICT", lambda: catalog.procedure("commit"))
    assert catalog.files("n") == {"theirs"}


def test_namespace_dropped_under_a_creation(catalog: Catalog, other: Catalog) -> None:
    """CREATE TABLE in a namespace that is dropped meanwhile cannot commit."""
    catalog.create_namespace("gone")
    statement = catalog.statement()
    statement.namespace = "gone"
    log = statement.stage("n")
    other.call("namespace_drop", namespace="gone", cascade=False)
    raises_kind("COMMIT_CONFLICT", lambda: log.commit(creation("x")))


def test_idempotency_key(catalog: Catalog, tmp_path: Path) -> None:
    """A second commit with the same key reports the first one's version and changes nothing."""
    assert tmp_path
    versions = []
    for _ in range(2):
        catalog.procedure("begin", idempotency_key="load-7")
        catalog.insert("t", "once")
        versions.append(catalog.procedure("commit")[0][0])

    assert versions == [3, 3]
    assert catalog.files("t") == {"f1", "f2", "once"}
