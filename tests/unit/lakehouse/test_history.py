"""What the versions tell: status of transactions, idempotency keys, foreign writers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.lakes import memory, new_lake, open_lake, other
from tests.support.list_table import append, read, rewrite
from trinitylake_spark.errors import CommitConflictError, CommitUnknownError
from trinitylake_spark.format.definitions_pb2 import ActionType
from trinitylake_spark.format.nodefile import NodeFile, decode_node, encode_node
from trinitylake_spark.format.paths import FLOOR_PATH, root_path
from trinitylake_spark.format.system import IDEMPOTENCY_KEY
from trinitylake_spark.testing.counting import CountingStorage
from trinitylake_spark.testing.faulty import Effect, Fault, FaultyStorage

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.lakehouse.lakehouse import Lakehouse


@pytest.fixture
def lake() -> Lakehouse:
    """Version 1: table ``t``."""
    return new_lake(memory("history"), tables=["t"])


def test_kinds_of_commits(lake: Lakehouse) -> None:
    """Logical, physical, definition, rollback; a mixed one takes the strongest."""
    with lake.transaction() as tx:
        append(tx, "t", 1)
    with lake.transaction() as tx:
        rewrite(tx, "t", [1], operation=ActionType.MAJOR_COMPACT)
    lake.compact_tree(author="cron", message="tidy")
    with lake.transaction() as tx:
        rewrite(tx, "t", [1], operation=ActionType.CLUSTER)
        tx.set_property("p", "q")
    lake.rollback(to_version=1)
    versions = lake.versions()
    assert [v.kind for v in versions] == [
        "rollback", "definition", "physical", "physical", "logical", "logical", "definition",
    ]  # fmt: skip
    times = {v.version: v.time_version for v in versions}
    assert times[2] == times[3] == times[4] == times[5] != times[6]
    assert [(c.object, c.name, c.operation) for c in versions[2].changes] == [
        ("lakehouse", "tree", "MAJOR COMPACT")
    ]
    assert (versions[2].author, versions[2].message) == ("cron", "tidy")
    assert [len(lake.versions(limit)) for limit in (0, 1, 3, 99)] == [0, 1, 3, 7]


def test_commit_status(lake: Lakehouse) -> None:
    """Committed with its version, not committed, or unknown where history has been expired."""
    tx, lost = lake.begin(), lake.begin()
    append(tx, "t", 1)
    assert lake.commit_status(tx.id).state == "not committed"
    tx.commit()
    for value in range(40):
        with lake.transaction() as later:
            append(later, "t", value)
    status = lake.commit_status(tx.id)
    assert (status.state, status.version) == ("committed", 2)

    lake.services.storage.write(FLOOR_PATH, b"5")
    status = other(lake).commit_status(lost.id)
    assert (status.state, status.version) == ("unknown", None)


@pytest.mark.parametrize("effect", [Effect.LOSE_REPLY, Effect.LOSE_REQUEST])
def test_an_unknown_commit_can_be_asked_about(lake: Lakehouse, effect: Effect) -> None:
    """The error carries the id, nothing is deleted, and the answer comes with the storage."""
    storage = lake.services.storage
    faulty = FaultyStorage(storage)
    tx = other(lake, storage=faulty).begin()
    append(tx, "t", 1)
    faulty.faults += [
        Fault(effect, ["create"], path=lambda path: path == root_path(2)),
        Fault(Effect.REFUSE, ["read"]),
    ]
    with pytest.raises(CommitUnknownError) as caught:
        tx.commit()
    files = set(storage.list("1")) | set(storage.list("0"))

    status = lake.commit_status(caught.value.fields["transaction_id"])
    if effect is Effect.LOSE_REPLY:
        assert (status.state, status.version) == ("committed", 2)
        assert read(lake.snapshot(), "t") == [1]
    else:
        assert status.state == "not committed"
    assert any("table-t" in path for path in files)


def test_an_idempotency_key_commits_once(lake: Lakehouse) -> None:
    """The second commit changes nothing and reports the first one's version."""

    def load(at: Lakehouse, key: str) -> int | None:
        with at.transaction(idempotency_key=key) as tx:
            append(tx, "t", 1)
        return tx.version

    assert load(lake, "monday") == 2
    assert load(lake, "tuesday") == 3
    assert load(lake, "monday") == 2
    assert load(other(lake), "monday") == 2
    assert lake.version == 3
    assert read(lake.snapshot(), "t") == [1, 1]
    assert lake.versions(1)[0].idempotency_key == "tuesday"


def test_an_idempotency_key_is_found_while_following(lake: Lakehouse) -> None:
    """Two runs of one job at the same time: one version, both report it, no file is left."""
    first = other(lake).begin(idempotency_key="k")
    second = other(lake).begin(idempotency_key="k")
    for tx in (first, second):
        append(tx, "t", 1)
    assert first.commit() == 2
    files = lake.services.storage.list()
    assert second.commit() == 2
    assert second.version == 2
    assert lake.services.storage.list() == files
    assert read(lake.snapshot(), "t") == [1]


def test_a_failed_transaction_does_not_use_up_its_key(lake: Lakehouse) -> None:
    """Only a commit counts."""
    tx = other(lake).begin(idempotency_key="k")
    rewrite(tx, "t", [5])
    with lake.transaction() as theirs:
        append(theirs, "t", 1)
    with pytest.raises(CommitConflictError):
        tx.commit()
    with lake.transaction(idempotency_key="k") as again:
        append(again, "t", 2)
    assert again.version == 3


def test_a_key_is_looked_up_once_in_the_history() -> None:
    """The history is read the first time; later lookups read only what is new."""
    storage = CountingStorage(memory("keys"))
    lake = new_lake(storage, tables=["t"])
    for value in range(100):
        with lake.transaction(idempotency_key=str(value)) as tx:
            append(tx, "t", value)
    fresh = other(lake)
    for expected in (110, 8):
        storage.clear()
        with fresh.transaction(idempotency_key="7") as tx:
            append(tx, "t", 0)
        assert tx.version == 9
        assert storage.count("read") <= expected


# --- foreign writers -----------------------------------------------------------------------------


def rewrite_root(lake: Lakehouse, version: int, change: Callable[[NodeFile], None]) -> None:
    """Store a root as another writer might have written it."""
    storage = lake.services.storage
    path = root_path(version)
    node = decode_node(storage.read(path), path)
    change(node)
    storage.write(path, encode_node(node, node.table_rows or 0))


def forget_ours(node: NodeFile) -> None:
    """Drop every row that the reference does not know."""
    for row in list(node.system):
        if row not in ("created_at_millis", "lakehouse_def", "previous_root"):
            del node.system[row]


def test_a_foreign_root_can_be_read_and_followed(lake: Lakehouse) -> None:
    """Without our rows a version shows, its changed keys are known, and it can be built on."""
    with lake.transaction() as tx:
        tx.create_namespace("n")
    rewrite_root(lake, 2, forget_ours)
    fresh = other(lake)
    info = fresh.versions()[0]
    assert (info.version, info.kind, info.transaction_id, info.changes) == (2, None, None, [])
    assert fresh.namespaces() == ["n", "s"]
    with fresh.transaction() as tx:
        append(tx, "t", 1)
    assert fresh.versions()[0].time_version == fresh.versions()[0].created_at
    assert fresh.compact_tree() == 4
    assert fresh.check(deep=True).problems == []


def test_a_foreign_write_conflicts_by_its_messages(lake: Lakehouse) -> None:
    """What a foreign writer did with a key is unknown, so writing it too is a conflict."""
    on_t, on_n, reader = (other(lake).begin(isolation="serializable") for _ in range(3))
    with lake.transaction() as tx:
        append(tx, "t", 1)
    rewrite_root(lake, 2, forget_ours)
    append(on_t, "t", 2)
    with pytest.raises(CommitConflictError, match="recorded no action"):
        on_t.commit()
    read(reader, "t")
    reader.create_namespace("r")
    with pytest.raises(CommitConflictError, match="SERIALIZABLE"):
        reader.commit()
    on_n.create_namespace("n")
    assert on_n.commit() == 3


def test_a_foreign_commit_without_messages_is_not_the_one_before_it(lake: Lakehouse) -> None:
    """Messages that the version before had already are not counted again."""
    with lake.transaction() as tx:
        append(tx, "t", 1)
    mine = other(lake).begin()
    lake.compact_tree()
    rewrite_root(lake, 3, forget_ours)
    append(mine, "t", 2)
    assert mine.commit() == 4
    assert read(lake.snapshot(), "t") == [1, 2]


def test_unknown_rows_are_tolerated(lake: Lakehouse) -> None:
    """Rows of a later library do not disturb."""
    rewrite_root(lake, 1, lambda node: node.system.update({"of_the_future": "x"}))
    assert open_lake(lake.services.storage).snapshot().root.info.extra == {"of_the_future": "x"}
    rewrite_root(lake, 1, lambda node: node.system.update({IDEMPOTENCY_KEY: "x"}))
    assert other(lake).versions()[0].idempotency_key == "x"
