"""Which transactions may follow which (format.md §6.3, §6.5, §6.6)."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.support.lakes import memory, new_lake, other
from tests.support.list_table import append, read, rewrite
from trinitylake_spark.errors import CommitConflictError, Kind, NotFoundError
from trinitylake_spark.format.definitions_pb2 import ActionType
from trinitylake_spark.format.paths import FLOOR_PATH, root_path
from trinitylake_spark.lakehouse.transaction import Transaction

if TYPE_CHECKING:
    from trinitylake_spark.lakehouse.lakehouse import Lakehouse

LEVELS = ["snapshot", "serializable"]
Edit = Callable[[Transaction], object]


@pytest.fixture
def lake() -> Lakehouse:
    """Version 1: tables ``t1``, ``t2``, ``t3`` in ``s``; 2: a view ``v``, empty namespace ``e``."""
    lake = new_lake(memory("conflicts"), tables=["t1", "t2", "t3"])
    with lake.transaction() as tx:
        tx.create_view("s", "v", sql="SELECT 1")
        tx.create_namespace("e")
    return lake


def race(lake: Lakehouse, theirs: Edit, mine: Edit, level: str = "snapshot") -> int | None:
    """Run both from the same version, commit theirs first, then mine."""
    tx = other(lake).begin(isolation=level)
    with lake.transaction(author="ana") as first:
        theirs(first)
    mine(tx)
    return tx.commit()


def not_found(look: Callable[..., object], *names: str) -> None:
    """Look for something that is not there."""
    with pytest.raises(NotFoundError):
        look(*names)


def test_t1_and_t2() -> None:
    """Two transactions on two tables that both begin at 3 end as versions 4 and 5."""
    lake = new_lake(memory("t1t2"), tables=["t1", "t2"])
    for value in (1, 2):
        with lake.transaction() as tx:
            append(tx, "t1", value)
    t1, t2 = other(lake).begin(), other(lake).begin()
    assert (t1.base.version, t2.base.version) == (3, 3)
    append(t1, "t1", 10)
    append(t2, "t2", 20)

    assert (t1.commit(), t2.commit()) == (4, 5)
    assert (read(lake.snapshot(), "t1"), read(lake.snapshot(), "t2")) == ([1, 2, 10], [20])


@pytest.mark.parametrize("level", LEVELS)
def test_a_table_computed_from_another(lake: Lakehouse, level: str) -> None:
    """INSERT INTO t2 SELECT … FROM t1: fine under SNAPSHOT, refused under SERIALIZABLE."""

    def mine(tx: Transaction) -> None:
        append(tx, "t2", len(read(tx, "t1")))

    if level == "snapshot":
        assert race(lake, lambda tx: append(tx, "t1", 1), mine, level) == 4
        return
    with pytest.raises(CommitConflictError) as caught:
        race(lake, lambda tx: append(tx, "t1", 1), mine, level)
    assert caught.value.fields["table"] == "s.t1"
    assert caught.value.fields["my_operation"] == "SELECT"
    assert lake.version == 3


@pytest.mark.parametrize("level", LEVELS)
def test_write_skew(lake: Lakehouse, level: str) -> None:
    """Both read two tables, each writes one: SNAPSHOT allows it, SERIALIZABLE does not."""

    def writer(name: str) -> Edit:
        return lambda tx: append(tx, name, len(read(tx, "t1")) + len(read(tx, "t2")))

    if level == "snapshot":
        assert race(lake, writer("t1"), writer("t2"), level) == 4
    else:
        with pytest.raises(CommitConflictError):
            race(lake, writer("t1"), writer("t2"), level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("look", "change"),
    [
        (lambda tx: tx.tables("s"), lambda tx: tx.create_table("s", "new", None)),
        (lambda tx: tx.views("s"), lambda tx: tx.drop_view("s", "v")),
        (lambda tx: tx.namespaces(), lambda tx: tx.create_namespace("new")),
        (lambda tx: tx.has_table("s", "new"), lambda tx: tx.create_table("s", "new", None)),
        (lambda tx: tx.has_namespace("new"), lambda tx: tx.create_namespace("new")),
        (lambda tx: tx.has_view("s", "v"), lambda tx: tx.drop_view("s", "v")),
        (lambda tx: tx.namespace("s"), lambda tx: tx.set_namespace_properties("s", {"a": "b"})),
        (lambda tx: tx.table("s", "t1"), lambda tx: tx.set_table_properties("s", "t1", {"a": "b"})),
        (lambda tx: tx.view("s", "v"), lambda tx: tx.set_view_properties("s", "v", {"a": "b"})),
        (lambda tx: not_found(tx.table, "s", "new"),
         lambda tx: tx.create_table("s", "new", None)),
        (lambda tx: not_found(tx.tables, "new"),
         lambda tx: tx.create_namespace("new")),
    ],
    ids=[
        "tables", "views", "namespaces", "missing table", "missing namespace", "view exists",
        "namespace properties", "table properties", "view properties", "failed lookup",
        "failed listing",
    ],
)  # fmt: skip
def test_what_was_read_must_not_change(
    lake: Lakehouse, level: str, look: Edit, change: Edit
) -> None:
    """Lookups (misses too) and listings are read sets: they matter under SERIALIZABLE alone."""

    def mine(tx: Transaction) -> None:
        look(tx)
        append(tx, "t3", 1)

    if level == "snapshot":
        assert race(lake, change, mine, level) == 4
    else:
        with pytest.raises(CommitConflictError, match="SERIALIZABLE"):
            race(lake, change, mine, level)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "look",
    [
        lambda tx: tx.tables("s", record=False),
        lambda tx: tx.table("s", "t1", record=False),
        lambda tx: tx.base.table("s", "t1"),
    ],
    ids=["listing", "target of a write", "time travel"],
)
def test_what_is_not_recorded_does_not_matter(lake: Lakehouse, level: str, look: Edit) -> None:
    """Targets of own writes and time travel are no reads."""

    def mine(tx: Transaction) -> None:
        look(tx)
        append(tx, "t2", 1)

    assert race(lake, lambda tx: append(tx, "t1", 1), mine, level) == 4


def test_reads_of_own_objects_are_not_recorded(lake: Lakehouse) -> None:
    """What only the transaction itself made cannot be changed by others."""

    def mine(tx: Transaction) -> None:
        tx.create_table("s", "mine", None)
        append(tx, "mine", 1)
        assert read(tx, "mine") == [1]

    assert race(lake, lambda tx: append(tx, "t1", 1), mine, "serializable") == 4


def test_compaction_changes_nothing_that_was_read(lake: Lakehouse) -> None:
    """A physical commit does not conflict with a reader, a mixed one only where it is logical."""

    def compaction(tx: Transaction) -> None:
        rewrite(tx, "t1", [], operation=ActionType.MINOR_COMPACT)

    def mixed(tx: Transaction) -> None:
        compaction(tx)
        append(tx, "t2", 5)

    def mine(tx: Transaction) -> None:
        append(tx, "t3", len(read(tx, "t1")))

    assert race(lake, compaction, mine, "serializable") == 4
    assert lake.at(version=3).root.info.commit_kind == "physical"
    assert race(lake, mixed, mine, "serializable") == 6


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("theirs", "mine", "survives"),
    [
        ("create", "create", False),
        ("alter", "alter", False),
        ("alter", "data", True),
        ("alter", "drop", False),
        ("alter", "rename", False),
        ("alter", "replace", False),
        ("data", "alter", True),
        ("data", "data", True),
        ("data", "update", False),
        ("data", "drop", False),
        ("data", "rename", False),
        ("update", "data", False),
        ("drop", "alter", False),
        ("drop", "data", False),
        ("drop", "drop", False),
        ("drop", "rename", False),
        ("rename", "alter", False),
        ("rename", "data", False),
        ("rename", "rename", False),
        ("replace", "data", False),
        ("replace", "alter", False),
    ],
)
def test_two_writes_on_one_table(
    lake: Lakehouse, level: str, theirs: str, mine: str, *, survives: bool
) -> None:
    """The cells of format.md §6.6, at both levels; two data operations go to the format."""
    edits: dict[str, Edit] = {
        "create": lambda tx: tx.create_table("s", "new", None),
        "alter": lambda tx: tx.set_table_properties("s", "t1", {"by": tx.id}),
        "data": lambda tx: append(tx, "t1", 1),
        "update": lambda tx: rewrite(tx, "t1", [9]),
        "drop": lambda tx: tx.drop_table("s", "t1"),
        "rename": lambda tx: tx.rename_table("s", "t1", "s", f"r{tx.id[:4]}"),
        "replace": lambda tx: (tx.drop_table("s", "t1"), tx.create_table("s", "t1", None)),
    }
    if survives:
        assert race(lake, edits[theirs], edits[mine], level) == 4
        return
    before = lake.services.storage.list("table-")
    with pytest.raises(CommitConflictError) as caught:
        race(lake, edits[theirs], edits[mine], level)
    assert caught.value.fields["their_version"] == 3
    assert caught.value.fields["author"] == "ana"
    assert lake.version == 3
    assert len(lake.services.storage.list("table-")) - len(before) <= 1


def test_rebased_content_has_both(lake: Lakehouse) -> None:
    """Appends follow each other; an alteration keeps the data that came before it."""
    race(lake, lambda tx: append(tx, "t1", 1), lambda tx: append(tx, "t1", 2))
    race(
        lake,
        lambda tx: append(tx, "t1", 3),
        lambda tx: tx.set_table_properties("s", "t1", {"p": "q"}),
    )
    table = lake.snapshot().table("s", "t1")
    assert read(lake.snapshot(), "t1") == [1, 2, 3]
    assert dict(table.definition.properties) == {"p": "q"}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        (lambda tx: tx.drop_namespace("e"), lambda tx: tx.create_table("e", "t", None)),
        (lambda tx: tx.drop_namespace("e"), lambda tx: tx.create_view("e", "v", sql="")),
        (lambda tx: tx.drop_namespace("e"), lambda tx: tx.rename_table("s", "t1", "e", "t1")),
        (lambda tx: tx.create_table("e", "t", None), lambda tx: tx.drop_namespace("e")),
        (lambda tx: tx.create_view("e", "v", sql=""), lambda tx: tx.drop_namespace("e")),
        (lambda tx: tx.create_table("e", "t", None),
         lambda tx: tx.drop_namespace("e", cascade=True)),
        (lambda tx: tx.rename_view("s", "v", "e", "v"), lambda tx: tx.drop_namespace("e")),
        (lambda tx: tx.drop_namespace("e"), lambda tx: tx.drop_namespace("e")),
        (lambda tx: tx.drop_namespace("e"), lambda tx: tx.set_namespace_properties("e", {"a": ""})),
        (lambda tx: tx.create_namespace("n"), lambda tx: tx.create_namespace("n")),
        (lambda tx: tx.create_view("s", "n", sql=""), lambda tx: tx.create_table("s", "n", None)),
        (lambda tx: tx.create_table("s", "n", None), lambda tx: tx.create_view("s", "n", sql="")),
        (lambda tx: tx.rename_view("s", "v", "s", "n"),
         lambda tx: tx.rename_table("s", "t1", "s", "n")),
        (lambda tx: tx.set_view_properties("s", "v", {"a": ""}), lambda tx: tx.drop_view("s", "v")),
        (lambda tx: tx.drop_view("s", "v"), lambda tx: tx.set_view_properties("s", "v", {"a": ""})),
        (lambda tx: tx.create_view("s", "v", sql="2", replace=True),
         lambda tx: tx.create_view("s", "v", sql="3", replace=True)),
        (lambda tx: tx.drop_namespace("s", cascade=True), lambda tx: append(tx, "t1", 1)),
        (lambda tx: append(tx, "t1", 1), lambda tx: tx.drop_namespace("s", cascade=True)),
    ],
    ids=[str(n) for n in range(18)],
)  # fmt: skip
def test_facts_that_must_hold_at_both_levels(
    lake: Lakehouse, level: str, theirs: Edit, mine: Edit
) -> None:
    """Namespaces exist, dropped ones are empty, names are taken once, dropped objects are gone."""
    with pytest.raises(CommitConflictError):
        race(lake, theirs, mine, level)
    assert lake.version == 3
    assert lake.check(deep=True).problems == []


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        (lambda tx: tx.create_table("s", "n1", None), lambda tx: tx.create_table("s", "n2", None)),
        (lambda tx: tx.create_table("s", "n1", None), lambda tx: tx.create_table("e", "n1", None)),
        (lambda tx: tx.create_namespace("n1"), lambda tx: tx.create_namespace("n2")),
        (lambda tx: tx.drop_namespace("e"), lambda tx: tx.create_table("s", "n", None)),
        (lambda tx: tx.create_table("e", "t", None),
         lambda tx: tx.set_namespace_properties("e", {"a": "b"})),
        (lambda tx: tx.set_namespace_properties("e", {"a": "b"}),
         lambda tx: tx.create_table("e", "t", None)),
        (lambda tx: tx.drop_table("s", "t1"), lambda tx: append(tx, "t2", 1)),
        (lambda tx: tx.drop_view("s", "v"), lambda tx: tx.create_table("s", "n", None)),
        (lambda tx: tx.set_property("p", "q"), lambda tx: append(tx, "t2", 1)),
        (lambda tx: append(tx, "t2", 1), lambda tx: tx.set_property("order", "64")),
    ],
    ids=[str(n) for n in range(10)],
)  # fmt: skip
def test_what_is_disjoint_commits(lake: Lakehouse, level: str, theirs: Edit, mine: Edit) -> None:
    """Work on different objects never conflicts, and both are there afterwards."""
    assert race(lake, theirs, mine, level) == 4
    assert lake.check(deep=True).problems == []


@pytest.mark.parametrize("level", LEVELS)
def test_a_change_of_the_layout_conflicts_with_everything(lake: Lakehouse, level: str) -> None:
    """Order and sizes are what a transaction was built for."""
    with pytest.raises(CommitConflictError, match="order, sizes of names"):
        race(lake, lambda tx: tx.set_property("order", "8"), lambda tx: append(tx, "t1", 1), level)


def test_two_changes_of_the_definition_conflict(lake: Lakehouse) -> None:
    """Even of different properties."""
    with pytest.raises(CommitConflictError, match="both change the lakehouse definition"):
        race(lake, lambda tx: tx.set_property("a", "1"), lambda tx: tx.set_property("b", "2"))


def test_a_definition_changed_by_another_is_taken_over(lake: Lakehouse) -> None:
    """A data commit keeps the newer definition, not the one it began with."""
    race(lake, lambda tx: tx.set_property("p", "q"), lambda tx: append(tx, "t1", 1))
    assert lake.snapshot().layout.definition.properties["p"] == "q"


@pytest.mark.parametrize("level", LEVELS)
def test_a_rollback_conflicts_with_everything(lake: Lakehouse, level: str) -> None:
    """A transaction that began before a rollback cannot follow it, whatever it touches."""
    tx = other(lake).begin(isolation=level)
    tx.create_namespace("unrelated")
    lake.rollback(to_version=1, author="eve")

    with pytest.raises(CommitConflictError, match="ROLLBACK in version 3 by eve"):
        tx.commit()


@pytest.mark.parametrize("level", LEVELS)
def test_a_tree_compaction_conflicts_with_nothing(lake: Lakehouse, level: str) -> None:
    """It has no messages."""
    tx = other(lake).begin(isolation=level)
    tx.tables("s")
    append(tx, "t1", 1)
    lake.compact_tree()
    assert tx.commit() == 4


def test_every_version_between_is_checked(lake: Lakehouse) -> None:
    """A conflict hides neither behind later versions nor behind earlier ones."""
    for at in range(5):
        mine = other(lake).begin()
        rewrite(mine, "t1", [at])
        for version in range(5):
            with lake.transaction() as tx:
                append(tx, "t1" if version == at else "t2", version)
        with pytest.raises(CommitConflictError) as caught:
            mine.commit()
        assert caught.value.fields["their_version"] == mine.base.version + 1 + at


def test_all_conflicts_are_told(lake: Lakehouse) -> None:
    """COMMIT names every table that conflicts, with fields for each."""
    tx = other(lake).begin()
    for name in ("t1", "t2", "t3"):
        rewrite(tx, name, [1])
    for name, author in (("t1", "ana"), ("t3", "bob")):
        with lake.transaction(author=author) as theirs:
            append(theirs, name, 1)

    with pytest.raises(CommitConflictError) as caught:
        tx.commit()
    error = caught.value
    assert [(c["table"], c["their_version"], c["author"]) for c in error.fields["conflicts"]] == [
        ("s.t1", 3, "ana"),
        ("s.t3", 4, "bob"),
    ]
    assert "s.t1" in error.message
    assert "s.t3" in error.message
    assert "Nothing was committed" in error.message
    fields = {"table", "key", "my_operation", "their_operation", "their_version", "author",
              "time", "rule", "advice", "conflicts", "transaction_id", "object"}  # fmt: skip
    assert set(error.fields) == fields
    assert error.fields["my_operation"] == "UPDATE"
    assert error.fields["their_operation"] == "INSERT"
    assert error.sql_state == "40001"
    assert pickle.loads(pickle.dumps(error)).fields == error.fields  # noqa: S301 - our own bytes


def test_a_conflict_of_both_kinds_is_told_once(lake: Lakehouse) -> None:
    """A table that was read and written shows once, by its write."""

    def mine(tx: Transaction) -> None:
        rewrite(tx, "t1", [*read(tx, "t1"), 1])

    with pytest.raises(CommitConflictError) as caught:
        race(lake, lambda tx: tx.drop_table("s", "t1"), mine, "serializable")
    assert len(caught.value.fields["conflicts"]) == 1
    assert caught.value.fields["rule"] == "both wrote: DROP × data operation (format.md §6.6)"


def test_a_missing_version_proves_nothing(lake: Lakehouse) -> None:
    """If a root between is gone the commit is refused; an expired base is told as such."""
    second = other(lake)
    tx, late = second.begin(), other(lake).begin()
    append(tx, "t1", 1)
    append(late, "t1", 1)
    for value in range(8):
        with lake.transaction() as theirs:
            append(theirs, "t2", value)
    assert second.version == 10
    storage = lake.services.storage
    storage.delete(root_path(7))
    with pytest.raises(CommitConflictError, match="nothing can be proved"):
        tx.commit()

    storage.write(FLOOR_PATH, b"8")
    for version in range(7):
        storage.delete(root_path(version))
    with pytest.raises(NotFoundError, match="run the transaction again") as caught:
        late.commit()
    assert caught.value.kind is Kind.VERSION_EXPIRED
    assert lake.version == 10


def test_reads_are_recorded_in_the_root(lake: Lakehouse) -> None:
    """Keys, misses, ranges and tables read are in the version's actions, apart from its writes."""
    with lake.transaction(isolation="serializable") as tx:
        tx.tables("s")
        tx.has_table("s", "zzz")
        append(tx, "t2", *read(tx, "t1"), 1)
    info = lake.versions(1)[0]
    assert [(c.name, c.operation) for c in info.changes] == [("s.t2", "INSERT")]
    root = lake.snapshot().root
    assert len(root.info.actions) == 1 + 4  # namespace, range, miss, table


def test_a_huge_read_set_is_kept_as_ranges(lake: Lakehouse) -> None:
    """Thousands of lookups end in a few ranges that still find every conflict."""

    def mine(tx: Transaction) -> None:
        for number in range(2500):
            tx.has_table("s", f"x{number:04}")
        append(tx, "t2", 1)

    with pytest.raises(CommitConflictError):
        race(lake, lambda tx: tx.create_table("s", "x2345", None), mine, "serializable")
    assert race(lake, lambda tx: tx.create_table("s", "x2346", None), mine) == 5
    assert len(lake.snapshot().root.info.actions) < 1100
