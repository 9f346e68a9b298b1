"""Prepared transactions: they outlive their process, and end once (format.md §6.7)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.lakes import memory, new_lake, other
from tests.support.list_table import append, items, read, rewrite
from trinitylake_spark.errors import (
    AlreadyExistsError,
    CommitConflictError,
    InvalidInputError,
    Kind,
    NotFoundError,
    TransactionStateError,
    TrinityLakeError,
    UnsupportedError,
)
from trinitylake_spark.format.paths import FLOOR_PATH, prepared_path, root_path
from trinitylake_spark.lakehouse.history import CommitState
from trinitylake_spark.lakehouse.transaction import Transaction, TransactionState

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.lakehouse.lakehouse import Lakehouse
    from trinitylake_spark.lakehouse.pending import Pending

_HOUR = 3_600_000


@pytest.fixture
def lake() -> Lakehouse:
    """Version 1: namespace ``s`` with tables ``a`` and ``b``; version 2: ``a`` is [1]."""
    lake = new_lake(memory("prepared"), tables=["a", "b"])
    with lake.transaction() as tx:
        append(tx, "a", 1)
    return lake


def prepare(lake: Lakehouse, name: str = "load", **settings: Any) -> str:
    """Prepare an append of 2 to ``a`` and a new table ``c`` of [7]; return the id."""
    tx = lake.begin(**settings)
    append(tx, "a", 2)
    tx.create_table("s", "c", schema=None)
    append(tx, "c", 7)
    tx.prepare(name)
    return tx.id


def fails(kind: Kind, work: Callable[[], object]) -> TrinityLakeError:
    """Run ``work``, which must fail with one kind; return the error."""
    with pytest.raises(TrinityLakeError) as caught:
        work()
    assert caught.value.kind is kind, caught.value
    return caught.value


def states(lake: Lakehouse) -> dict[str, str]:
    """Return the state of every prepared transaction."""
    return {info.name: info.state for info in lake.transactions()}


def test_it_outlives_its_process(lake: Lakehouse) -> None:
    """Another process reads the staged state and commits it; until then nobody else sees it."""
    tx_id = prepare(lake, message="nightly", author="ana", isolation="serializable")
    assert lake.version == 2
    assert lake.tables("s") == ["a", "b"]

    auditor = other(lake)
    tx = auditor.resume("load")
    assert (tx.id, tx.message, tx.author, tx.isolation) == (
        tx_id,
        "nightly",
        "ana",
        "SERIALIZABLE",
    )
    assert tx.prepared_as == "load"
    assert tx.base.version == 2
    assert tx.tables("s") == ["a", "b", "c"]
    assert (read(tx, "a"), read(tx, "c")) == ([1, 2], [7])
    assert tx.commit() == 3

    for each in (lake, auditor, other(lake)):
        assert items(each.snapshot().table("s", "a").definition) == [1, 2]
        assert items(each.snapshot().table("s", "c").definition) == [7]
    info = lake.versions(1)[0]
    assert (info.transaction_id, info.message, info.author) == (tx_id, "nightly", "ana")
    assert [(c.name, c.operation) for c in info.changes] == [
        ("s.a", "INSERT"),
        ("s.c", "CREATE"),
        ("s.c", "INSERT"),
    ]
    assert lake.commit_status(tx_id).state is CommitState.COMMITTED
    assert lake.check(deep=True).problems == []


def test_the_preparing_transaction_is_over(lake: Lakehouse) -> None:
    """Whoever prepared has let go: nothing more can be done with that object."""
    tx = lake.begin()
    append(tx, "a", 2)
    tx.prepare("load")
    assert tx.state is TransactionState.PREPARED
    for use in (tx.commit, tx.abort, lambda: tx.tables("s"), lambda: tx.prepare("again")):
        fails(Kind.TRANSACTION_FINISHED, use)
    assert states(lake) == {"load": "prepared"}


def known(pending: Pending) -> Pending:
    """Return what must survive: all but payloads and the notes of what is stored."""
    steps = [replace(s, change=replace(s.change, payload=None, files={})) for s in pending.steps]
    return replace(pending, steps=steps, files={}, stored=frozenset())


def test_all_of_its_work_survives(lake: Lakehouse) -> None:
    """Writes, operations, reads, ranges, constraints and the definition are what they were."""
    with lake.transaction() as before:
        before.create_namespace("old")
        before.create_view("s", "v", sql="SELECT 1")
    tx = lake.begin(isolation="serializable")
    read(tx, "a")
    tx.tables("s")
    tx.has_table("s", "nothing")
    append(tx, "b", 5)
    tx.rename_table("s", "a", "s", "z")
    tx.create_namespace("n", {"k": "v"})
    tx.create_table("n", "t", schema=None)
    tx.drop_namespace("old")
    tx.set_view_properties("s", "v", {"x": "1"})
    tx.set_property("mine", "yes")
    tx.set_property("minimum_versions_to_keep", 5)
    expected = known(tx.savepoint())
    tx.prepare("load")

    resumed = other(lake).resume("load")
    assert known(resumed.savepoint()) == expected
    resumed.commit()
    now = lake.snapshot()
    assert now.layout.definition.properties["mine"] == "yes"
    assert now.namespaces() == ["n", "s"]
    assert items(now.table("s", "z").definition) == [1]


def test_a_coarse_read_set_survives(lake: Lakehouse) -> None:
    """Of a transaction that read very much, the tables whose data was read stay known."""
    with lake.transaction() as before:
        for number in range(1100):
            before.create_table("s", f"t{number:04}", schema=None)
    tx = lake.begin(isolation="serializable")
    for number in range(1100):
        tx.read_table("s", f"t{number:04}")
    append(tx, "b", 1)
    reads = tx.savepoint().reads
    assert reads.ranges
    tx.prepare("load")
    resumed = other(lake).resume("load").savepoint().reads
    assert resumed.data == reads.data
    assert resumed.ranges == reads.ranges


def test_it_is_rebased_like_any_other(lake: Lakehouse) -> None:
    """What others committed meanwhile is followed, not overwritten."""
    prepare(lake)
    with other(lake).transaction() as theirs:
        append(theirs, "a", 10)
        append(theirs, "b", 11)
    assert other(lake).commit_prepared("load") == 4
    now = lake.snapshot()
    assert items(now.table("s", "a").definition) == [1, 10, 2]
    assert items(now.table("s", "b").definition) == [11]
    assert states(lake) == {"load": "committed"}


def test_a_conflict_leaves_it_prepared(lake: Lakehouse) -> None:
    """All conflicting tables are named, nothing is lost, and it can still be read or given up."""
    tx = lake.begin()
    append(tx, "a", 2)
    append(tx, "b", 3)
    tx.prepare("load")
    with other(lake).transaction() as theirs:
        rewrite(theirs, "a", [9])
        rewrite(theirs, "b", [9])
    error = fails(Kind.COMMIT_CONFLICT, lambda: other(lake).commit_prepared("load"))
    assert isinstance(error, CommitConflictError)
    assert {c["table"] for c in error.fields["conflicts"]} == {"s.a", "s.b"}
    assert states(lake) == {"load": "prepared"}
    assert read(other(lake).resume("load"), "a") == [1, 2]
    fails(Kind.COMMIT_CONFLICT, lambda: other(lake).commit_prepared("load"))
    lake.rollback_prepared("load")
    assert states(lake) == {"load": "rolled back"}
    assert items(lake.snapshot().table("s", "a").definition) == [9]


@pytest.mark.parametrize(
    ("level", "mine", "theirs"),
    [
        ("serializable", lambda tx: read(tx, "b"), lambda tx: append(tx, "b", 1)),
        ("serializable", lambda tx: tx.tables("s"), lambda tx: tx.drop_table("s", "b")),
        ("snapshot", lambda tx: tx.create_namespace("x"), lambda tx: tx.create_namespace("x")),
        ("snapshot", lambda tx: tx.drop_namespace("e"), lambda tx: create_in(tx, "e")),
        ("snapshot", lambda tx: create_in(tx, "e"), lambda tx: tx.drop_namespace("e")),
        ("snapshot", lambda tx: tx.create_view("s", "n", sql=""), lambda tx: create_in(tx, "s")),
        ("snapshot", lambda tx: tx.set_property("p", "1"), lambda tx: tx.set_property("q", "1")),
    ],
    ids=["read", "range", "same-name", "empty", "present", "absent", "definition"],
)
def test_what_it_depends_on_survives(
    lake: Lakehouse,
    level: str,
    mine: Callable[[Transaction], object],
    theirs: Callable[[Transaction], object],
) -> None:
    """Reads, ranges and constraints are checked at COMMIT PREPARED as they would have been."""
    with lake.transaction() as before:
        before.create_namespace("e")
    tx = lake.begin(isolation=level)
    append(tx, "a", 2)
    mine(tx)
    tx.prepare("load")
    with other(lake).transaction() as meanwhile:
        theirs(meanwhile)
    fails(Kind.COMMIT_CONFLICT, lambda: other(lake).commit_prepared("load"))
    assert items(lake.snapshot().table("s", "a").definition) == [1]


def create_in(tx: Transaction, namespace: str) -> None:
    """Create a table ``n``."""
    tx.create_table(namespace, "n", schema=None)


def test_it_can_go_on_after_it_was_resumed(lake: Lakehouse) -> None:
    """More work, prepared again and again, then one commit with all of it."""
    prepare(lake)
    for number in (3, 4):
        tx = other(lake).resume("load")
        append(tx, "a", number)
        append(tx, "c", number)
        tx.prepare("load")
    tx = other(lake).resume("load")
    append(tx, "b", 5)
    with other(lake).transaction() as theirs:
        append(theirs, "a", 10)
    assert tx.commit() == 4
    now = lake.snapshot()
    assert items(now.table("s", "a").definition) == [1, 10, 2, 3, 4]
    assert items(now.table("s", "c").definition) == [7, 3, 4]
    assert items(now.table("s", "b").definition) == [5]
    assert lake.check(deep=True).problems == []


def test_one_of_two_that_resumed_wins(lake: Lakehouse) -> None:
    """The first to commit, abort or prepare again; the other is told, and what it did is not in."""
    ends: dict[str, Callable[[Transaction], object]] = {
        "committed": lambda tx: tx.commit(),
        "rolled back": lambda tx: tx.abort(),
        "prepared": lambda tx: tx.prepare("load"),
    }
    for state, first in ends.items():
        for second in ends.values():
            prepare(lake)
            one, two = other(lake).resume("load"), other(lake).resume("load")
            append(two, "b", 99)
            first(one)
            fails(Kind.TRANSACTION_MOVED, lambda: second(two))  # noqa: B023 - called at once
            assert states(lake) == {"load": state}
            assert 99 not in items(lake.snapshot().table("s", "b").definition)
            if state == "prepared":
                lake.rollback_prepared("load")
            if state == "committed":
                with lake.transaction() as tx:
                    tx.drop_table("s", "c")


def test_it_ends_once(lake: Lakehouse) -> None:
    """Whatever is asked of one that is over is refused, with how it ended."""
    prepare(lake, "one")
    assert lake.commit_prepared("one") == 3
    prepare_other = lake.begin()
    prepare_other.prepare("two")
    lake.rollback_prepared("two")
    for name, state, version in (("one", "committed", 3), ("two", "rolled back", None)):
        for work in (lake.resume, lake.commit_prepared, lake.rollback_prepared):
            error = fails(Kind.TRANSACTION_FINISHED, lambda: work(name))  # noqa: B023
            assert error.fields["state"] == state
            assert error.fields.get("version") == version
    assert lake.version == 3


def test_names(lake: Lakehouse) -> None:
    """A name is taken while its transaction lives, and free after that; odd ones are refused."""
    prepare(lake)
    error = fails(Kind.TRANSACTION_ALREADY_EXISTS, lambda: prepare(other(lake)))
    assert isinstance(error, AlreadyExistsError)
    for name in ("", "x" * 65, "a/b", "a b", "ä", "a\n", "../a"):
        with lake.transaction() as tx:
            append(tx, "a", 3)
            error = fails(Kind.INVALID_NAME, lambda: tx.prepare(name))  # noqa: B023
            assert isinstance(error, InvalidInputError)
            assert tx.state is TransactionState.OPEN
            tx.abort()
    for name in ("..", "a_00000001", "-", "x" * 64):
        prepare(lake, name)
        assert other(lake).resume(name).prepared_as == name
        lake.rollback_prepared(name)
    lake.rollback_prepared("load")
    first = set(lake.services.storage.list("_dtxn_load_"))
    prepare(lake)
    assert lake.commit_prepared("load") == 3
    assert first < set(lake.services.storage.list("_dtxn_load_"))


def test_another_name_for_a_resumed_one_is_refused(lake: Lakehouse) -> None:
    """One transaction has one name, or it could be committed under one and live under another."""
    prepare(lake)
    tx = lake.resume("load")
    fails(Kind.INVALID_ARGUMENT, lambda: tx.prepare("store"))
    tx.prepare("load")


def test_an_unknown_name(lake: Lakehouse) -> None:
    """Not found, and what to ask is in the message."""
    for work in (lake.resume, lake.commit_prepared, lake.rollback_prepared):
        error = fails(Kind.TRANSACTION_NOT_FOUND, lambda: work("nothing"))  # noqa: B023
        assert isinstance(error, NotFoundError)
        fails(Kind.INVALID_NAME, lambda: work("no/thing"))  # noqa: B023


def test_an_expired_one(lake: Lakehouse) -> None:
    """It cannot be resumed or committed; it can be given up, and its name taken over."""
    ttl = lake.snapshot().layout.definition.txn_ttl_millis
    prepare(lake)
    kept = other(lake).resume("load")
    lake.services.clock.sleep(ttl / 1000)
    for work in (
        lambda: lake.resume("load"),
        lambda: lake.commit_prepared("load"),
        kept.commit,
    ):
        error = fails(Kind.TRANSACTION_EXPIRED, work)
        assert isinstance(error, TransactionStateError)
    assert states(lake) == {"load": "expired"}
    prepare(lake)
    assert states(lake) == {"load": "prepared"}
    lake.rollback_prepared("load")
    assert lake.version == 2


def test_its_time_runs_from_its_beginning(lake: Lakehouse) -> None:
    """Preparing again does not prolong it."""
    ttl = lake.snapshot().layout.definition.txn_ttl_millis
    prepare(lake)
    lake.services.clock.sleep((ttl - _HOUR) / 1000)
    tx = other(lake).resume("load")
    append(tx, "a", 3)
    tx.prepare("load")
    late = other(lake).resume("load")
    lake.services.clock.sleep(_HOUR / 1000)
    fails(Kind.TRANSACTION_EXPIRED, late.commit)
    fails(Kind.TRANSACTION_EXPIRED, lambda: lake.commit_prepared("load"))


@pytest.mark.parametrize("deleted", [0, 2, 4])
def test_a_base_version_that_was_expired(lake: Lakehouse, deleted: int) -> None:
    """VERSION_EXPIRED, however many roots are gone already; nothing is committed."""
    prepare(lake)
    tx = other(lake).resume("load")
    for number in range(3):
        with lake.transaction() as theirs:
            append(theirs, "b", number)
    storage = lake.services.storage
    storage.write(FLOOR_PATH, b"4")
    for version in range(deleted):
        storage.delete(root_path(version))
    fresh = other(lake)
    for work in (lambda: fresh.resume("load"), lambda: fresh.commit_prepared("load"), tx.commit):
        fails(Kind.VERSION_EXPIRED, work)
    assert lake.version == 5
    assert states(lake) == {"load": "prepared"}
    fresh.rollback_prepared("load")


def test_an_error_in_a_block_leaves_it_prepared(lake: Lakehouse) -> None:
    """An audit that fails loses nothing; one that passes commits."""
    prepare(lake)

    def audit(expected: list[int]) -> None:
        with other(lake).resume("load") as tx:
            append(tx, "b", 1)
            assert read(tx, "a") == expected

    with pytest.raises(AssertionError):
        audit([1])
    assert states(lake) == {"load": "prepared"}
    assert read(other(lake).resume("load"), "b") == []
    audit([1, 2])
    assert states(lake) == {"load": "committed"}
    assert items(lake.snapshot().table("s", "b").definition) == [1]


def test_one_without_changes(lake: Lakehouse) -> None:
    """It commits without a version."""
    tx = lake.begin()
    tx.tables("s")
    tx.prepare("load")
    assert other(lake).commit_prepared("load") is None
    assert lake.version == 2
    assert fails(Kind.TRANSACTION_FINISHED, lambda: lake.resume("load")).fields["version"] is None


def test_a_change_of_layout_is_refused(lake: Lakehouse) -> None:
    """Every commit meanwhile would refuse it, so it is refused at once, and stays open."""
    with lake.transaction() as tx:
        tx.set_property("order", 64)
        error = fails(Kind.UNSUPPORTED, lambda: tx.prepare("load"))
        assert isinstance(error, UnsupportedError)
    assert lake.snapshot().layout.order == 64


def test_an_idempotency_key_survives(lake: Lakehouse) -> None:
    """The key's first version is reported, whoever committed it."""
    prepare(lake, idempotency_key="k")
    with other(lake).transaction(idempotency_key="k") as theirs:
        append(theirs, "b", 1)
    assert other(lake).commit_prepared("load") == 3
    assert lake.version == 3
    assert states(lake) == {"load": "committed"}


def test_the_list(lake: Lakehouse) -> None:
    """Everything that SHOW TRANSACTIONS shows."""
    tx_id = prepare(lake, message="nightly", author="ana", isolation="serializable")
    [info] = other(lake).transactions()
    assert (info.name, info.transaction_id, info.state, info.version) == (
        "load",
        tx_id,
        "prepared",
        None,
    )
    assert (info.isolation_level, info.base_version) == ("SERIALIZABLE", 2)
    assert (info.author, info.message) == ("ana", "nightly")
    ttl = lake.snapshot().layout.definition.txn_ttl_millis
    assert (info.expires_at - info.began_at).total_seconds() * 1000 == ttl
    assert [(c.object, c.name, c.operation) for c in info.changes] == [
        ("table", "s.a", "INSERT"),
        ("table", "s.c", "CREATE"),
        ("table", "s.c", "INSERT"),
    ]
    lake.commit_prepared("load")
    [info] = lake.transactions()
    assert (info.state, info.version) == ("committed", 3)


def test_the_files(lake: Lakehouse) -> None:
    """A chain of records, each created once, and a root that any reader of roots can read."""
    prepare(lake)
    lake.commit_prepared("load")
    assert lake.services.storage.list("_dtxn_") == [prepared_path("load", n) for n in range(3)]


def test_a_corrupt_record(lake: Lakehouse) -> None:
    """Named, with its file; a record cannot make its reader open files elsewhere."""
    lake.services.storage.write(prepared_path("load", 0), b"\xff\xff")
    assert fails(Kind.CORRUPT, lambda: lake.resume("load")).fields["path"] == prepared_path(
        "load", 0
    )
    from trinitylake_spark.format.definitions_pb2 import DistributedTransactionDef

    bad = DistributedTransactionDef(id="x", running_root_node_file_path="s3://other/node.ipc")
    lake.services.storage.write(prepared_path("load", 0), bad.SerializeToString())
    fails(Kind.CORRUPT, lambda: lake.resume("load"))
    bad = DistributedTransactionDef(
        id="x", running_root_node_file_path="node", expire_at_millis=9**15
    )
    lake.services.storage.write(prepared_path("load", 0), bad.SerializeToString())
    fails(Kind.CORRUPT, lambda: lake.resume("load"))


def test_a_commit_of_10000_tables(lake: Lakehouse) -> None:
    """Created, prepared, read by another process and committed: one version with all of them."""
    tx = lake.begin()
    for number in range(10_000):
        tx.create_table("s", f"t{number:05}", schema=None)
    tx.prepare("many")
    auditor = other(lake)
    assert len(auditor.resume("many").tables("s")) == 10_002
    with lake.transaction() as theirs:
        append(theirs, "a", 5)
    assert auditor.commit_prepared("many") == 4
    fresh = other(lake)
    assert len(fresh.tables("s")) == 10_002
    assert items(fresh.snapshot().table("s", "t09999").definition) == []
    assert fresh.check().problems == []
