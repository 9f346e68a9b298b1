"""One transaction: what it sees, what it leaves, what it refuses (format.md §6.1, §6.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.lakes import memory, new_lake, other
from tests.support.list_table import append, items, read
from trinitylake_spark.clock import ManualClock
from trinitylake_spark.errors import (
    AlreadyExistsError,
    InvalidInputError,
    Kind,
    NotFoundError,
    ReadOnlyError,
    TransactionStateError,
)
from trinitylake_spark.format.definitions_pb2 import ViewDef
from trinitylake_spark.lakehouse.transaction import Transaction, TransactionState

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.lakehouse.lakehouse import Lakehouse


@pytest.fixture
def lake() -> Lakehouse:
    """Version 1: namespace ``s`` with tables ``a`` and ``b``; version 2: a view ``v``."""
    lake = new_lake(memory("transaction"), tables=["a", "b"])
    with lake.transaction() as tx:
        tx.create_view("s", "v", sql="SELECT 1", properties={"p": "1"})
    return lake


def calls(*cases: tuple) -> list:
    """Name each case after the method that it calls."""
    return [
        pytest.param(*case, id=f"{number}-{'-'.join(case[0].__code__.co_names)}")
        for number, case in enumerate(cases)
    ]


def names(lake: Lakehouse) -> dict[str, list[str]]:
    """Return everything there is."""
    return {ns: lake.tables(ns) + lake.views(ns) for ns in lake.namespaces()}


def test_nothing_shows_before_the_commit_and_all_after(lake: Lakehouse) -> None:
    """Own changes are visible to the transaction alone, until its version exists."""
    before, pinned = names(lake), lake.snapshot()
    tx = lake.begin(message="all", author="ana")
    tx.create_namespace("n", {"k": "v"})
    tx.create_table("n", "t", schema=None, properties={"x": "y"})
    append(tx, "t", 1, 2, namespace="n")
    tx.create_view("n", "w", sql="SELECT 2")
    tx.drop_table("s", "b")
    assert tx.namespaces() == ["n", "s"]
    assert tx.tables("n") == ["t"]
    assert tx.views("n") == ["w"]
    assert tx.tables("s") == ["a"]
    assert dict(tx.namespace("n").properties) == {"k": "v"}
    assert items(tx.table("n", "t").definition) == [1, 2]
    assert tx.view("n", "w").definition.sql == "SELECT 2"
    assert names(lake) == before
    assert tx.version is None

    assert tx.commit() == 3
    assert tx.version == 3
    assert names(lake) == {"n": ["t", "w"], "s": ["a", "v"]}
    assert items(lake.snapshot().table("n", "t").definition) == [1, 2]
    assert pinned.tables("s") == ["a", "b"]
    info = lake.versions(1)[0]
    assert (info.author, info.message, info.transaction_id) == ("ana", "all", tx.id)
    assert [(c.object, c.name, c.operation) for c in info.changes] == [
        ("namespace", "n", "CREATE"),
        ("table", "n.t", "CREATE"),
        ("table", "n.t", "INSERT"),
        ("view", "n.w", "CREATE"),
        ("table", "s.b", "DROP"),
    ]


def test_commits_of_others_do_not_show(lake: Lakehouse) -> None:
    """A transaction keeps reading the version it began at, cached or not."""
    tx = lake.begin()
    with other(lake).transaction() as theirs:
        theirs.drop_table("s", "b")
        theirs.set_view_properties("s", "v", {"p": "2"})

    assert tx.tables("s") == ["a", "b"]
    assert dict(tx.view("s", "v").definition.properties) == {"p": "1"}
    assert tx.base.version == 2


def test_abort_leaves_nothing(lake: Lakehouse) -> None:
    """No version, no file."""
    files = lake.services.storage.list()

    def fail(tx: Transaction) -> None:
        with tx:
            tx.create_namespace("n")
            tx.create_table("n", "t", schema=None)
            raise ZeroDivisionError

    tx = lake.transaction()
    with pytest.raises(ZeroDivisionError):
        fail(tx)
    assert tx.state is TransactionState.ABORTED
    assert lake.services.storage.list() == files
    assert lake.version == 2


def test_a_transaction_without_changes_makes_no_version(lake: Lakehouse) -> None:
    """Also one whose changes cancel each other, and one that only read."""
    tx = lake.begin()
    tx.create_namespace("n")
    tx.create_table("n", "t", schema=None)
    tx.rename_table("n", "t", "s", "u")
    tx.drop_table("s", "u")
    tx.drop_namespace("n")
    assert not tx.has_changes
    assert tx.commit() is None
    assert tx.version is None

    with lake.transaction(isolation="serializable") as tx:
        assert tx.tables("s") == ["a", "b"]
    assert (tx.version, lake.version) == (None, 2)


@pytest.mark.parametrize("end", ["commit", "abort"])
@pytest.mark.parametrize(
    "use",
    calls(
        (lambda tx: tx.commit(),),
        (lambda tx: tx.abort(),),
        (lambda tx: tx.tables("s"),),
        (lambda tx: tx.table("s", "a"),),
        (lambda tx: tx.read_table("s", "a"),),
        (lambda tx: tx.has_namespace("s"),),
        (lambda tx: tx.create_namespace("x"),),
        (lambda tx: tx.drop_table("s", "a"),),
        (lambda tx: tx.set_property("p", "v"),),
        (lambda tx: tx.rollback_to(tx.savepoint()),),
    ),
)
def test_use_after_the_end_is_refused(
    lake: Lakehouse, end: str, use: Callable[[Transaction], object]
) -> None:
    """A transaction that is over answers every call with the same error."""
    tx = lake.begin()
    tx.create_namespace("n")
    getattr(tx, end)()

    with pytest.raises(TransactionStateError, match="Begin a new one") as caught:
        use(tx)
    assert caught.value.kind is Kind.TRANSACTION_FINISHED


def test_a_block_may_end_its_transaction_itself(lake: Lakehouse) -> None:
    """An explicit commit or abort inside the block is not repeated at its end."""
    with lake.transaction() as tx:
        tx.create_namespace("n")
        tx.commit()
    with lake.transaction() as tx:
        tx.create_namespace("m")
        tx.abort()
    assert lake.namespaces() == ["n", "s"]


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda tx: tx.rename_table("s", "a", "s", "b"), {"namespace": "s", "table": "b"}),
        (lambda tx: tx.rename_view("s", "v", "s", "a"), {"namespace": "s", "view": "a"}),
        (lambda tx: tx.rename_table("s", "x", "s", "y"), {"namespace": "s", "table": "x"}),
        (lambda tx: tx.rename_table("s", "a", "x", "y"), {"namespace": "x"}),
        (lambda tx: tx.view("s", "x"), {"namespace": "s", "view": "x"}),
        (lambda tx: tx.create_namespace("s"), {"namespace": "s"}),
    ],
)
def test_errors_name_what_is_wrong(
    lake: Lakehouse, edit: Callable[[Transaction], None], named: dict[str, str]
) -> None:
    """The fields ``namespace``, ``table`` and ``view`` name what is there or is missing."""
    with pytest.raises((AlreadyExistsError, NotFoundError)) as caught:
        edit(lake.begin())
    fields = caught.value.fields
    assert {key: fields[key] for key in fields if key in {"namespace", "table", "view"}} == named
    assert "name" not in fields


def test_an_old_transaction_cannot_commit() -> None:
    """After ``txn_ttl_millis`` a commit is refused, and nothing is written."""
    clock = ManualClock()
    lake = new_lake(memory("ttl"), clock=clock, definition={"txn_ttl_millis": 1000})
    tx = lake.begin()
    tx.create_namespace("n")
    clock.advance(1000)

    with pytest.raises(TransactionStateError) as caught:
        tx.commit()
    assert caught.value.kind is Kind.TRANSACTION_EXPIRED
    assert tx.state is TransactionState.ABORTED
    assert lake.version == 0


@pytest.mark.parametrize(
    ("edit", "kind"),
    calls(
        (lambda tx: tx.create_namespace("s"), Kind.NAMESPACE_ALREADY_EXISTS),
        (lambda tx: tx.create_table("s", "a", None), Kind.TABLE_ALREADY_EXISTS),
        (lambda tx: tx.create_table("s", "v", None), Kind.TABLE_ALREADY_EXISTS),
        (lambda tx: tx.create_view("s", "v", sql=""), Kind.VIEW_ALREADY_EXISTS),
        (lambda tx: tx.create_view("s", "a", sql=""), Kind.VIEW_ALREADY_EXISTS),
        (lambda tx: tx.create_view("s", "a", sql="", replace=True), Kind.VIEW_ALREADY_EXISTS),
        (lambda tx: tx.rename_table("s", "a", "s", "b"), Kind.TABLE_ALREADY_EXISTS),
        (lambda tx: tx.rename_table("s", "a", "s", "v"), Kind.TABLE_ALREADY_EXISTS),
        (lambda tx: tx.rename_view("s", "v", "s", "a"), Kind.VIEW_ALREADY_EXISTS),
        (lambda tx: tx.drop_namespace("s"), Kind.NAMESPACE_NOT_EMPTY),
    ),
)
def test_what_exists_is_in_the_way(
    lake: Lakehouse, edit: Callable[[Transaction], None], kind: Kind
) -> None:
    """Names are taken by tables and views alike; a refusal changes nothing."""
    tx = lake.begin()
    with pytest.raises(AlreadyExistsError) as caught:
        edit(tx)
    assert caught.value.kind is kind
    assert not tx.has_changes


@pytest.mark.parametrize(
    ("edit", "kind"),
    calls(
        (lambda tx: tx.namespace("x"), Kind.NAMESPACE_NOT_FOUND),
        (lambda tx: tx.tables("x"), Kind.NAMESPACE_NOT_FOUND),
        (lambda tx: tx.views("x"), Kind.NAMESPACE_NOT_FOUND),
        (lambda tx: tx.table("x", "t"), Kind.NAMESPACE_NOT_FOUND),
        (lambda tx: tx.table("s", "x"), Kind.TABLE_NOT_FOUND),
        (lambda tx: tx.table("s", "v"), Kind.TABLE_NOT_FOUND),
        (lambda tx: tx.view("s", "a"), Kind.VIEW_NOT_FOUND),
        (lambda tx: tx.view("x", "v"), Kind.NAMESPACE_NOT_FOUND),
        (lambda tx: tx.read_table("s", "x"), Kind.TABLE_NOT_FOUND),
        (lambda tx: tx.create_table("x", "t", None), Kind.NAMESPACE_NOT_FOUND),
        (lambda tx: tx.create_view("x", "t", sql=""), Kind.NAMESPACE_NOT_FOUND),
        (lambda tx: tx.set_namespace_properties("x", {}), Kind.NAMESPACE_NOT_FOUND),
        (lambda tx: tx.drop_namespace("x"), Kind.NAMESPACE_NOT_FOUND),
        (lambda tx: tx.set_table_properties("s", "x", {}), Kind.TABLE_NOT_FOUND),
        (lambda tx: tx.drop_table("s", "v"), Kind.TABLE_NOT_FOUND),
        (lambda tx: tx.drop_table("s", "A"), Kind.TABLE_NOT_FOUND),
        (lambda tx: tx.rename_table("s", "x", "s", "y"), Kind.TABLE_NOT_FOUND),
        (lambda tx: tx.rename_table("s", "a", "x", "y"), Kind.NAMESPACE_NOT_FOUND),
        (lambda tx: tx.set_view_properties("s", "x", {}), Kind.VIEW_NOT_FOUND),
        (lambda tx: tx.drop_view("s", "a"), Kind.VIEW_NOT_FOUND),
        (lambda tx: tx.rename_view("s", "x", "s", "y"), Kind.VIEW_NOT_FOUND),
    ),
)
def test_what_is_missing_is_named(
    lake: Lakehouse, edit: Callable[[Transaction], None], kind: Kind
) -> None:
    """A missing namespace is told from a missing table or view; a refusal changes nothing."""
    tx = lake.begin()
    with pytest.raises(NotFoundError) as caught:
        edit(tx)
    assert caught.value.kind is kind
    assert not tx.has_changes


@pytest.mark.parametrize("name", ["", "a b", "a\tb", "x" * 101, "é" * 51, "\x7f", "\ud800"])
def test_bad_names_are_refused(lake: Lakehouse, name: str) -> None:
    """For every kind of object; the message says what is wrong."""
    tx = lake.begin()
    for edit in (
        lambda: tx.create_namespace(name),
        lambda: tx.create_table("s", name, None),
        lambda: tx.create_view("s", name, sql=""),
        lambda: tx.rename_table("s", "a", "s", name),
        lambda: tx.rename_view("s", "v", "s", name),
        lambda: tx.table("s", name),
        lambda: tx.tables(name),
    ):
        with pytest.raises(InvalidInputError) as caught:
            edit()
        assert caught.value.kind is Kind.INVALID_NAME
    assert not tx.has_changes


@pytest.mark.parametrize("name", ["system", "System"])
def test_the_reserved_namespace_cannot_be_written(lake: Lakehouse, name: str) -> None:
    """``system`` is the lakehouse's own, in any case."""
    tx = lake.begin()
    for edit in (
        lambda: tx.create_namespace(name),
        lambda: tx.drop_namespace(name, cascade=True),
        lambda: tx.create_table(name, "t", None),
        lambda: tx.rename_table("s", "a", name, "t"),
        lambda: tx.drop_table(name, "versions"),
        lambda: tx.create_view(name, "v", sql="", replace=True),
    ):
        with pytest.raises(ReadOnlyError, match="reserved"):
            edit()


def test_namespace_properties(lake: Lakehouse) -> None:
    """Set, replace and remove in one call; removing an absent one is nothing."""
    with lake.transaction() as tx:
        tx.set_namespace_properties("s", {"a": "1", "b": "2"})
        tx.set_namespace_properties("s", {"a": "3"}, unset=["b", "zzz"])
        assert dict(tx.namespace("s").properties) == {"a": "3"}
        tx.set_namespace_properties("s", {}, unset=["zzz"])
    assert dict(lake.snapshot().namespace("s").properties) == {"a": "3"}


def test_table_properties_go_through_the_format(lake: Lakehouse) -> None:
    """The format makes the new definition."""
    with lake.transaction() as tx:
        tx.set_table_properties("s", "a", {"x": "1", "y": "2"})
        tx.set_table_properties("s", "a", {"x": "3"}, unset=["y"])
    assert dict(lake.snapshot().table("s", "a").definition.properties) == {"x": "3"}


def test_drop_namespace_cascade(lake: Lakehouse) -> None:
    """Its tables and views go with it, and each is told."""
    with lake.transaction() as tx:
        tx.drop_namespace("s", cascade=True)
    assert lake.namespaces() == []
    assert {c.name for c in lake.versions(1)[0].changes} == {"s", "s.a", "s.b", "s.v"}
    assert lake.check(deep=True).problems == []


def test_a_namespace_emptied_by_the_transaction_can_be_dropped(lake: Lakehouse) -> None:
    """Own drops count."""
    with lake.transaction() as tx:
        tx.drop_table("s", "a")
        tx.drop_table("s", "b")
        tx.drop_view("s", "v")
        tx.drop_namespace("s")
    assert lake.namespaces() == []


def test_rename_keeps_content(lake: Lakehouse) -> None:
    """Data, properties and own changes move along; both names are told."""
    with lake.transaction() as tx:
        tx.create_namespace("archive")
        append(tx, "a", 7)
        tx.rename_table("s", "a", "archive", "old")
        append(tx, "old", 8, namespace="archive")
        tx.rename_view("s", "v", "archive", "w")
        assert tx.tables("s") == ["b"]
    snapshot = lake.snapshot()
    assert read(snapshot, "old", "archive") == [7, 8]
    assert dict(snapshot.view("archive", "w").definition.properties) == {"p": "1"}
    assert [(c.name, c.operation) for c in lake.versions(1)[0].changes] == [
        ("archive", "CREATE"),
        ("s.a", "INSERT"),
        ("s.a", "RENAME TO archive.old"),
        ("archive.old", "RENAME FROM s.a"),
        ("archive.old", "INSERT"),
        ("s.v", "RENAME TO archive.w"),
        ("archive.w", "RENAME FROM s.v"),
    ]


def test_rename_of_an_own_table_leaves_no_trace_of_the_old_name(lake: Lakehouse) -> None:
    """A table made and renamed in one transaction was never there under the first name."""
    with lake.transaction() as tx:
        tx.create_table("s", "tmp", schema=None)
        append(tx, "tmp", 1)
        tx.rename_table("s", "tmp", "s", "final")
    assert read(lake.snapshot(), "final") == [1]
    assert [(c.name, c.operation) for c in lake.versions(1)[0].changes] == [
        ("s.final", "CREATE"),
        ("s.final", "INSERT"),
    ]


def test_swap_two_tables(lake: Lakehouse) -> None:
    """Three renames in one transaction swap names; a reader sees both or neither."""
    with lake.transaction() as tx:
        append(tx, "a", 1)
        append(tx, "b", 2)
    with lake.transaction() as tx:
        tx.rename_table("s", "a", "s", "tmp")
        tx.rename_table("s", "b", "s", "a")
        tx.rename_table("s", "tmp", "s", "b")
    snapshot = lake.snapshot()
    assert (read(snapshot, "a"), read(snapshot, "b")) == ([2], [1])
    assert snapshot.tables("s") == ["a", "b"]
    assert lake.check(deep=True).problems == []


def test_drop_and_create_again(lake: Lakehouse) -> None:
    """A name can be reused at once, by a table or a view."""
    with lake.transaction() as tx:
        append(tx, "a", 1)
        tx.drop_table("s", "a")
        tx.create_table("s", "a", schema=None)
        tx.drop_table("s", "b")
        tx.create_view("s", "b", sql="SELECT 3")
    assert read(lake.snapshot(), "a") == []
    assert lake.snapshot().view("s", "b").definition.sql == "SELECT 3"


def test_views(lake: Lakehouse) -> None:
    """Replace, properties, drop."""
    with lake.transaction() as tx:
        tx.bind_view("s", "v", ViewDef(sql="SELECT 9"), replace=True)
        tx.set_view_properties("s", "v", {"q": "1", "r": "2"})
        tx.set_view_properties("s", "v", unset=["r"])
    view = lake.snapshot().view("s", "v")
    assert (view.definition.sql, dict(view.definition.properties)) == ("SELECT 9", {"q": "1"})
    assert [c.operation for c in lake.versions(1)[0].changes] == ["REPLACE", "ALTER"]
    with lake.transaction() as tx:
        tx.drop_view("s", "v")
    assert lake.views("s") == []


def test_savepoints(lake: Lakehouse) -> None:
    """A statement that fails half-way can be undone without losing what came before."""
    with lake.transaction() as tx:
        append(tx, "a", 1)
        savepoint = tx.savepoint()
        append(tx, "a", 2)
        tx.drop_table("s", "b")
        tx.rollback_to(savepoint)
        tx.rollback_to(savepoint)
        append(tx, "a", 3)
    assert read(lake.snapshot(), "a") == [1, 3]
    assert lake.tables("s") == ["a", "b"]


def test_definitions_are_copies(lake: Lakehouse) -> None:
    """Changing a definition that was read changes nothing else."""
    snapshot = lake.snapshot()
    snapshot.table("s", "a").definition.properties["x"] = "1"
    snapshot.layout.definition.properties  # noqa: B018 - reading is all that is allowed
    assert "x" not in snapshot.table("s", "a").definition.properties


def test_an_unknown_isolation_level_is_refused(lake: Lakehouse) -> None:
    """The message names the two there are; the lakehouse's own default is used otherwise."""
    with pytest.raises(InvalidInputError, match="serializable"):
        lake.begin(isolation="read committed")
    assert lake.begin().isolation == "SNAPSHOT"
    lake.set_property("txn_isolation_level", "serializable")
    assert lake.begin().isolation == "SERIALIZABLE"
    assert lake.begin(isolation="Snapshot").isolation == "SNAPSHOT"


def test_a_transaction_may_read_an_older_version(lake: Lakehouse) -> None:
    """``at`` pins a statement's version; what was committed since is judged at the commit."""
    old = lake.at(version=1)
    tx = lake.begin(at=old)
    assert tx.views("s") == []
    append(tx, "a", 1)
    assert tx.commit() == 3
    assert lake.views("s") == ["v"]
