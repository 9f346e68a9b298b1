"""What a read at SERIALIZABLE depends on: a name, a definition, or data (format.md §6.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.lakes import memory, new_lake, other
from tests.support.list_table import append, items, read, rewrite
from trinitylake_spark.errors import CommitConflictError, NotFoundError
from trinitylake_spark.format.definitions import serialise
from trinitylake_spark.format.definitions_pb2 import ActionType, DataChange
from trinitylake_spark.format.nodefile import decode_node, encode_node
from trinitylake_spark.format.paths import root_path
from trinitylake_spark.lakehouse.actions import actions_of, type_name
from trinitylake_spark.lakehouse.formats import TableChange
from trinitylake_spark.lakehouse.readset import KeyRange, ReadSet

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.lakehouse.lakehouse import Lakehouse
    from trinitylake_spark.lakehouse.transaction import Transaction

    Edit = Callable[[Transaction], object]


@pytest.fixture
def lake() -> Lakehouse:
    """Version 1: tables ``t`` and ``u`` in ``s``; 2: a view ``v``, an empty namespace ``e``."""
    lake = new_lake(memory("reads"), tables=["t", "u"])
    with lake.transaction() as tx:
        tx.create_view("s", "v", sql="SELECT 1")
        tx.create_namespace("e")
    return lake


def _missed(look: Callable[..., object], *names: str) -> None:
    with pytest.raises(NotFoundError):
        look(*names)


def _write(tx: Transaction, operation: int, **detail: Any) -> None:
    """Do a data operation on t that records what it did."""
    definition = tx.table("s", "t", record=False).definition
    detail = {"operation": "WRITE", **detail}
    tx.change_table("s", "t", definition, TableChange(operation, serialise(DataChange(**detail))))


def _replace(tx: Transaction) -> None:
    tx.drop_table("s", "t")
    tx.create_table("s", "t", schema=None)


def _swap(tx: Transaction) -> None:
    """Put a table that this transaction made, and filled, in the place of t."""
    tx.create_table("s", "new", schema=None)
    append(tx, "new", 1)
    tx.drop_table("s", "t")
    tx.rename_table("s", "new", "s", "t")


READS: dict[str, Edit] = {
    "exists": lambda tx: tx.has_table("s", "t"),
    "list": lambda tx: tx.tables("s"),
    "describe": lambda tx: tx.table("s", "t"),
    "select": lambda tx: tx.read_table("s", "t"),
}
CHANGES: dict[str, tuple[Edit, set[str]]] = {
    # What they do to t, and the reads of t that no longer hold then.
    "insert": (lambda tx: append(tx, "t", 1), {"select"}),
    "update": (lambda tx: rewrite(tx, "t", [1]), {"select"}),
    "delete": (lambda tx: rewrite(tx, "t", [], operation=ActionType.TABLE_DELETE), {"select"}),
    "overwrite": (lambda tx: _write(tx, ActionType.INSERT_OVERWRITE), {"select"}),
    "truncate": (lambda tx: _write(tx, ActionType.TRUNCATE), {"select"}),
    "compact": (lambda tx: rewrite(tx, "t", [], operation=ActionType.MINOR_COMPACT), set()),
    "compact and insert": (
        lambda tx: (rewrite(tx, "t", [], operation=ActionType.MINOR_COMPACT), append(tx, "t", 1)),
        {"select"},
    ),
    "alter": (lambda tx: tx.set_table_properties("s", "t", {"a": "b"}), {"describe", "select"}),
    "add columns": (
        lambda tx: _write(tx, ActionType.TABLE_ALTER_ADD_COLUMNS, metadata_changed=True),
        {"describe", "select"},
    ),
    "insert new columns": (
        lambda tx: _write(tx, ActionType.TABLE_INSERT, metadata_changed=True),
        {"describe", "select"},
    ),
    "insert, new protocol": (
        lambda tx: _write(tx, ActionType.TABLE_INSERT, protocol_changed=True),
        {"describe", "select"},
    ),
    "insert, new domain": (
        lambda tx: _write(tx, ActionType.TABLE_INSERT, domains=["delta.clustering"]),
        {"describe", "select"},
    ),
    "replace": (
        lambda tx: _write(tx, ActionType.INSERT_OVERWRITE, metadata_changed=True),
        {"describe", "select"},
    ),
    "drop, create": (_replace, {"describe", "select"}),
    "swap": (_swap, {"describe", "select"}),
    "drop": (lambda tx: tx.drop_table("s", "t"), set(READS)),
    "rename": (lambda tx: tx.rename_table("s", "t", "s", "r"), set(READS)),
    "unknown": (lambda tx: _write(tx, 99), set(READS)),
}


VIEW_READS: dict[str, Edit] = {
    "exists": lambda tx: tx.has_view("s", "v"),
    "list": lambda tx: tx.views("s"),
    "describe": lambda tx: tx.view("s", "v"),
}
VIEW_CHANGES: dict[str, tuple[Edit, set[str]]] = {
    "properties": (lambda tx: tx.set_view_properties("s", "v", {"a": "b"}), {"describe"}),
    "replace": (lambda tx: tx.create_view("s", "v", sql="SELECT 2", replace=True), {"describe"}),
    "drop": (lambda tx: tx.drop_view("s", "v"), set(VIEW_READS)),
    "rename": (lambda tx: tx.rename_view("s", "v", "s", "r"), set(VIEW_READS)),
    "a table": (lambda tx: append(tx, "t", 1), set()),
}
NAMESPACE_READS: dict[str, Edit] = {
    "exists": lambda tx: tx.has_namespace("e"),
    "list": lambda tx: tx.namespaces(),
    "list tables": lambda tx: tx.tables("e"),
    "describe": lambda tx: tx.namespace("e"),
}
NAMESPACE_CHANGES: dict[str, tuple[Edit, set[str]]] = {
    "properties": (lambda tx: tx.set_namespace_properties("e", {"a": "b"}), {"describe"}),
    "drop": (lambda tx: tx.drop_namespace("e"), set(NAMESPACE_READS)),
    "fill": (lambda tx: tx.create_table("e", "t", None), {"list tables"}),
}
CASES = [
    pytest.param(reads[read], change, read in disturbed, id=f"{of}: {read}, {name}")
    for of, reads, changes in (
        ("table", READS, CHANGES),
        ("view", VIEW_READS, VIEW_CHANGES),
        ("namespace", NAMESPACE_READS, NAMESPACE_CHANGES),
    )
    for read in reads
    for name, (change, disturbed) in changes.items()
]


def _race(lake: Lakehouse, look: Edit, change: Edit, level: str) -> Transaction:
    """Look, and write elsewhere, while others commit a change; return what is to be committed."""
    mine = other(lake).begin(isolation=level)
    look(mine)
    mine.create_namespace("mine")
    with lake.transaction() as theirs:
        change(theirs)
    return mine


@pytest.mark.parametrize(("look", "change", "disturbed"), CASES)
def test_what_disturbs_a_read(
    lake: Lakehouse, look: Edit, change: Edit, *, disturbed: bool
) -> None:
    """A read is refused if what it looked at changed, and only then, and only at SERIALIZABLE."""
    mine = _race(lake, look, change, "serializable")
    if disturbed:
        with pytest.raises(CommitConflictError, match="SERIALIZABLE"):
            mine.commit()
        mine = other(lake).begin(isolation="snapshot", at=lake.at(version=2))
        look(mine)
        mine.create_namespace("mine")
    assert mine.commit() == 4


@pytest.mark.parametrize(
    "look",
    [
        lambda tx: tx.has_table("s", "new"),
        lambda tx: _missed(tx.table, "s", "new"),
        lambda tx: _missed(tx.read_table, "s", "new"),
        lambda tx: _missed(tx.drop_table, "s", "new"),
        lambda tx: tx.tables("s"),
    ],
    ids=["exists", "describe", "select", "drop", "list"],
)
def test_what_was_not_there_must_not_come(lake: Lakehouse, look: Edit) -> None:
    """Any look that found nothing depends on the name staying free."""
    mine = _race(lake, look, lambda tx: tx.create_table("s", "new", None), "serializable")
    with pytest.raises(CommitConflictError, match="SERIALIZABLE"):
        mine.commit()


def test_a_change_without_an_action_disturbs_every_read(lake: Lakehouse) -> None:
    """What a foreign writer did with a key is unknown, so even the name may be new."""
    for version, look in enumerate(READS.values(), start=3):
        mine = _race(lake, look, lambda tx: append(tx, "t", 1), "serializable")
        storage, path = lake.services.storage, root_path(version)
        node = decode_node(storage.read(path), path)
        node.system = {key: v for key, v in node.system.items() if "action" not in key}
        storage.write(path, encode_node(node, node.table_rows or 0))
        with pytest.raises(CommitConflictError, match="SERIALIZABLE"):
            mine.commit()


@pytest.mark.parametrize("order", [("select", "describe", "exists"), ("exists", "select")])
def test_the_strongest_read_of_a_table_counts(lake: Lakehouse, order: tuple[str, ...]) -> None:
    """Looking at the definition before or after takes nothing away from reading the data."""

    def look(tx: Transaction) -> None:
        for each in order:
            READS[each](tx)

    mine = _race(lake, look, lambda tx: append(tx, "t", 1), "serializable")
    with pytest.raises(CommitConflictError) as caught:
        mine.commit()
    assert caught.value.fields["my_operation"] == "SELECT"


@pytest.mark.parametrize(
    ("read", "operation"),
    [("exists", "EXISTS"), ("list", "SHOW TABLES"), ("describe", "DESCRIBE"), ("select", "SELECT")],
)
def test_a_conflict_says_what_was_read(lake: Lakehouse, read: str, operation: str) -> None:
    """The conflict names my look at the table, not just that there was one."""
    mine = _race(lake, READS[read], lambda tx: tx.drop_table("s", "t"), "serializable")
    with pytest.raises(CommitConflictError) as caught:
        mine.commit()
    assert caught.value.fields["my_operation"] == operation
    assert caught.value.fields["their_operation"] == "DROP"


# --- reads of tables that this transaction writes, too -------------------------------------------


@pytest.mark.parametrize(
    ("write", "sees"),
    [
        (lambda tx: append(tx, "t", 7), [7]),
        (lambda tx: tx.set_table_properties("s", "t", {"a": "b"}), []),
    ],
    ids=["insert", "alter"],
)
def test_a_read_after_an_own_write_counts(lake: Lakehouse, write: Edit, sees: list[int]) -> None:
    """INSERT INTO t, then SELECT count(*) FROM t: the rows of the base version were read."""

    def look(tx: Transaction) -> None:
        write(tx)
        assert read(tx, "t") == sees

    mine = _race(lake, look, lambda tx: append(tx, "t", 1), "serializable")
    with pytest.raises(CommitConflictError) as caught:
        mine.commit()
    assert caught.value.fields["my_operation"] == "SELECT"
    # The same without the read: both changes of the table are there.
    mine = _race(lake, write, lambda tx: append(tx, "t", 2), "serializable")
    assert mine.commit() == 5


def test_a_look_at_the_definition_after_an_own_write_counts(lake: Lakehouse) -> None:
    """INSERT INTO t, then DESCRIBE t: what was seen of its properties is the base version's."""

    def look(tx: Transaction) -> None:
        append(tx, "t", 7)
        tx.table("s", "t")

    def alter(tx: Transaction) -> None:
        tx.set_table_properties("s", "t", {"a": "b"})

    with pytest.raises(CommitConflictError, match="SERIALIZABLE"):
        _race(lake, look, alter, "serializable").commit()
    assert _race(lake, look, lambda tx: append(tx, "t", 1), "serializable").commit() == 5


def test_only_own_tables_need_no_record(lake: Lakehouse) -> None:
    """A table made in the transaction is read without a record, under whatever name."""
    tx = lake.begin(isolation="serializable")
    tx.create_table("s", "mine", schema=None)
    tx.rename_table("s", "mine", "s", "own")
    append(tx, "own", 1)
    assert (read(tx, "own"), tx.has_table("s", "own")) == ([1], True)
    assert tx.table("s", "own").name == "own"
    reads = tx.savepoint().reads
    assert (reads.keys, reads.data) == ({}, set())


def test_the_data_read_is_told_to_the_format(lake: Lakehouse) -> None:
    """The rebase of a table knows that its data was read, own writes or not."""
    for work, known in (
        ((lambda tx: append(tx, "t", 1),), False),
        ((lambda tx: append(tx, "t", 1), READS["exists"], READS["describe"]), False),
        ((lambda tx: append(tx, "t", 1), READS["select"]), True),
    ):
        tx = lake.begin(isolation="serializable")
        for each in work:
            each(tx)
        key = lake.snapshot().layout.keys.table_key("s", "t")
        assert (key in tx.savepoint().reads.data) == known


# --- the record ----------------------------------------------------------------------------------


def test_what_was_read_is_recorded_in_the_root(lake: Lakehouse) -> None:
    """Each key with the strongest look at it, each range with the listing that it was."""
    with lake.transaction(isolation="serializable") as tx:
        READS["select"](tx)
        READS["exists"](tx)
        tx.table("s", "u")
        tx.has_table("s", "v")
        tx.has_view("s", "v")
        tx.tables("s")
        append(tx, "u", 1)
    recorded = [action for action in actions_of(lake.snapshot().root) if action.read]
    keys = lake.snapshot().layout.keys
    names = {
        keys.decode(action.start_key.decode()).name: type_name(action.type)
        for action in recorded
        if not action.HasField("end_key") and action.object_def.namespaceObjectName != "v"
    }
    assert names == {"t": "SELECT", "u": "DESCRIBE", None: "EXISTS"}
    assert [type_name(a.type) for a in recorded if a.HasField("end_key")] == ["SHOW TABLES"]


def test_a_coarse_read_set_keeps_the_strongest_read() -> None:
    """Of very many names one range is kept, as strong as the strongest look among them."""
    for action in (ActionType.TABLE_EXISTS, ActionType.TABLE_DESCRIBE, ActionType.TABLE_SELECT):
        reads = ReadSet()
        reads.add_key("C===a", action)
        for number in range(1001):
            reads.add_key(f"C===b{number:04}", ActionType.TABLE_EXISTS)
            reads.add_key(f"D===b{number:04}", ActionType.VIEW_EXISTS)
        reads.add_range("C===a", "C===b", ActionType.NAMESPACE_SHOW_TABLES)
        assert reads.read_of("C===b0500") == action
        assert reads.read_of("C===a") == action
        assert reads.read_of("D===b0500") == ActionType.VIEW_EXISTS
        assert reads.read_of("B===a") is None


def test_a_range_that_was_read_twice_keeps_the_stronger_read() -> None:
    """As with keys, the weaker look takes nothing away."""
    reads = ReadSet()
    reads.add_range("C===a", "C===b", ActionType.TABLE_SELECT)
    reads.add_range("C===a", "C===b", ActionType.NAMESPACE_SHOW_TABLES)
    assert reads.ranges == {KeyRange("C===a", "C===b"): ActionType.TABLE_SELECT}


@pytest.mark.parametrize("operation", [99, ActionType.TABLE_SELECT, ActionType.TABLE_INSERT])
def test_an_unknown_read_counts_as_one_of_data(operation: int) -> None:
    """A later library may read in ways of its own; nothing weaker is assumed."""
    reads = ReadSet()
    reads.add_key("C===a", operation)
    reads.add_key("C===a", ActionType.TABLE_DESCRIBE)
    assert reads.read_of("C===a") == operation


def test_a_prepared_transaction_keeps_what_kind_of_read_it_was(lake: Lakehouse) -> None:
    """Resumed by another process it is refused by the same changes as before."""
    for number, (name, look) in enumerate(READS.items()):
        tx = lake.begin(isolation="serializable")
        look(tx)
        tx.create_namespace(f"n{number}")
        tx.prepare("load")
        with lake.transaction() as theirs:
            append(theirs, "t", number)
        if name == "select":
            with pytest.raises(CommitConflictError, match="SERIALIZABLE"):
                other(lake).commit_prepared("load")
        else:
            other(lake).commit_prepared("load")
    assert items(lake.snapshot().table("s", "t").definition) == [0, 1, 2, 3]
