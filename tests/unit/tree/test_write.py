"""Single rules of format.md §3.5, each on the smallest tree that shows it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.tree_lake import TreeLake
from trinitylake_spark.clock import ManualClock
from trinitylake_spark.errors import InvalidInputError
from trinitylake_spark.format.nodefile import Message, NodeFile
from trinitylake_spark.ids import SeededIds
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.tree.flush import Flusher
from trinitylake_spark.tree.limits import Limits
from trinitylake_spark.tree.read import newest_txn, walk
from trinitylake_spark.tree.store import NodeStore
from trinitylake_spark.tree.work import WorkNode, Workspace
from trinitylake_spark.tree.write import apply, divide_root

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trinitylake_spark.format.nodefile import NodeFile as Node

EAGER = Limits(
    order=5,
    node_file_max_size_bytes=1,
    root_target_bytes=0,
    root_buffer_bytes=0,
    inner_buffer_bytes=0,
    batch_buffer_bytes=0,
    bulk_bytes=0,
)


def _lake(limits: Limits, keys: int) -> TreeLake:
    """A lake of some keys; the newest txn deletes an absent one, so that the others may move."""
    lake = TreeLake(limits)
    lake.commit({f"k{i:04d}": f"v{i}" for i in range(keys)})
    lake.commit({"zz": None})
    return lake


@pytest.fixture
def eager() -> Iterator[TreeLake]:
    """A lake of 200 keys that flushes whatever it may."""
    lake = _lake(EAGER, 200)
    lake.compact()
    yield lake
    lake.close()


def _flusher(limits: Limits) -> Flusher:
    store = NodeStore(MemoryStorage("memory://test-write"))
    return Flusher(Workspace(store, limits.order, SeededIds(0), ManualClock()), limits)


def test_the_newest_rows_from_the_first_of_l_stay() -> None:
    """What lies below a row of L stays too, so no older row can come to lie above a newer one."""
    rows = [Message("a", "1", "t1"), Message("b", "1", "L"), Message("b", "2", "late")]

    older, kept = divide_root(rows, "L")

    assert list(older.values()) == rows[:1]
    assert kept == rows[1:]


def test_an_older_message_of_a_key_that_l_writes_is_dropped() -> None:
    """Nobody can see it any more."""
    older, kept = divide_root([Message("a", "1", "t1"), Message("a", None, "L")], "L")

    assert older == {}
    assert kept == [Message("a", None, "L")]


def test_messages_of_another_txn_than_l_are_refused() -> None:
    """A caller that would let its own messages be flushed has a bug."""
    root = NodeFile({"created_at_millis": "1"}, [], [], [])
    store = NodeStore(MemoryStorage("memory://test-write"))

    with pytest.raises(ValueError, match="newest txn"):
        apply(
            store,
            root,
            [Message("a", "1", "mine")],
            EAGER,
            SeededIds(0),
            ManualClock(),
            system={},
            keep_txn="other",
        )


def test_a_transaction_larger_than_a_node_stays_whole_in_the_root() -> None:
    """L alone may exceed the size; the next commit moves it."""
    lake = TreeLake(Limits(order=5, node_file_max_size_bytes=2_000))
    lake.commit({f"k{i:04d}": "v" * 50 for i in range(500)}, "big")

    assert len(lake.root().buffer) == 500
    assert lake.written > 2_000
    lake.commit({"z": "1"}, "small")
    assert {m.txn for m in lake.root().buffer} == {"small"}
    assert lake.problems() == []
    lake.close()


def test_a_commit_without_messages_keeps_l(eager: TreeLake) -> None:
    """The newest message-bearing txn survives commits and compactions that have none."""
    eager.commit({"k0001": "new"}, "writer")
    eager.commit({})
    eager.compact()

    assert newest_txn(eager.root()) == "writer"
    assert eager.root().buffer == [Message("k0001", "new", "writer")]


def test_deleting_every_pivot_keeps_the_rest(eager: TreeLake) -> None:
    """Pivots of every level go; nothing else does."""
    root = eager.root()
    nodes = [root, *(v.node for v in walk(eager.store(), root, order=5))]
    pivots = {key for node in nodes if node.children for key in node.keys}
    before = eager.content()

    eager.commit(dict.fromkeys(pivots))
    eager.commit({})
    eager.compact()
    eager.commit({"z": "1"})

    assert len(pivots) > 30
    assert eager.content() == {k: v for k, v in before.items() if k not in pivots} | {"z": "1"}
    assert eager.problems() == []


def test_an_emptied_tree_is_one_leaf(eager: TreeLake) -> None:
    """The tree shrinks level by level; a root without keys takes over its only child."""
    for first in range(0, 200, 20):
        eager.commit({f"k{i:04d}": None for i in range(first, first + 20)})
        assert eager.problems() == []
    eager.commit({"gone": None})

    root = eager.root()
    assert root.is_leaf
    assert root.keys == []
    assert eager.content() == {}


def test_a_root_that_takes_over_its_child_keeps_its_newer_messages() -> None:
    """The child's rows come first, the root's below them (format.md §3.5)."""
    child = WorkNode(["m"], ["v"], ["x", "y"], {"a": Message("a", "old", "t1")})
    root = WorkNode([], [], [child], {"a": Message("a", "new", "t2"), "b": Message("b", "1", "t2")})

    taken = _flusher(Limits(order=5)).settle_root(root, 0, 0)

    assert taken.buffer == {"a": Message("a", "new", "t2"), "b": Message("b", "1", "t2")}


def test_children_that_a_join_leaves_too_small_are_repaired() -> None:
    """An only child with too few keys gets siblings when its parent is merged."""
    least = Limits(order=5).min_keys
    small = WorkNode([], [], [], {})
    left = WorkNode([], [], [small], {})
    right = WorkNode(
        ["m", "p"], ["v", "v"], [_leaf("k", "l"), _leaf("n", "o"), _leaf("q", "r")], {}
    )
    root = WorkNode(["c", "t"], ["v", "v"], [left, right, _full_inner()], {})
    flusher = _flusher(Limits(order=5))

    flusher._repair(root)

    for child in root.children:
        assert isinstance(child, WorkNode)
        assert len(child.keys) >= least
        assert all(len(leaf.keys) >= least for leaf in child.children)  # type: ignore[union-attr]


def test_merged_nodes_whose_buffers_do_not_fit_together_flush() -> None:
    """Each of two siblings fits its file, both together would not."""
    limits = Limits(order=5, node_file_max_size_bytes=2_200, inner_buffer_bytes=2_200)
    left = WorkNode([], [], [_leaf("a", "b")], _pending("ab", 12))
    right = WorkNode(["m"], ["v"], [_leaf("k", "l"), _leaf("n", "o")], _pending("ka", 12))
    root = WorkNode(["c"], ["v"], [left, right], {})

    _flusher(limits)._repair(root)

    merged = root.children[0]
    assert isinstance(merged, WorkNode)
    assert 1_300 + merged.table_bytes(5) + merged.buffer_bytes() <= 2_200


def _pending(prefix: str, count: int) -> dict[str, Message]:
    messages = [Message(f"{prefix}{i:02d}", "v" * 10, "txn") for i in range(count)]
    return {message.key: message for message in messages}


def _leaf(*keys: str) -> WorkNode:
    return WorkNode(list(keys), ["v"] * len(keys), [], {})


def _full_inner() -> WorkNode:
    return WorkNode(
        ["v", "y"], ["v", "v"], [_leaf("u", "ua"), _leaf("w", "x"), _leaf("z", "za")], {}
    )


def test_an_unchanged_node_keeps_its_path(eager: TreeLake) -> None:
    """A delete of an absent key rewrites the root only, though it was flushed to a leaf."""
    eager.commit({"k0100x": None})
    before = set(eager.root().children)

    change = eager.commit({"k9999": "1"})

    assert change.nodes == {}
    assert set(eager.root().children) == before


def test_copy_on_write_writes_one_path_down(eager: TreeLake) -> None:
    """One changed leaf costs one node a level."""
    eager.commit({"k0150": "new"})
    height = max(visit.depth for visit in walk(eager.store(), eager.root(), order=5))

    assert len(eager.commit({}).nodes) == 0
    assert 0 < len(eager.commit({"k0000": "1"}).nodes) <= height + 2


@pytest.mark.parametrize("letter", ["🌲", "語"])
def test_wide_characters_cannot_stop_a_flush(letter: str) -> None:
    """Groups are measured in characters; with four bytes each a node still flushes to its size."""
    lake = TreeLake(Limits(order=5, node_file_max_size_bytes=3_000, bulk_bytes=10**9))
    chance = random.Random(1)
    model: dict[str, str | None] = {}
    for _ in range(30):
        changes = {f"{chance.randrange(200):04d}{letter * 20}": letter * 10 for _ in range(8)}
        lake.commit(changes)
        model |= changes
        assert lake.problems() == []
    assert lake.content() == model
    lake.close()


def test_a_bounded_compaction_hands_nodes_over_in_batches() -> None:
    """Nodes that were emitted are not in the result again, and together they are the tree."""
    lake = _lake(Limits(order=4, root_target_bytes=1_000_000, bulk_bytes=10**9), 4_000)
    lake.commit({f"k{i:04d}": "new" for i in range(4_000)})
    lake.commit({"zz": None})
    emitted: list[int] = []

    def emit(nodes: dict[str, Node]) -> None:
        emitted.append(len(nodes))
        lake.write_nodes(nodes)

    lake.compact(emit)

    assert len(emitted) >= 2
    assert lake.content() == {f"k{i:04d}": "new" for i in range(4_000)}
    assert lake.problems() == []
    lake.close()


@pytest.mark.parametrize("order", [3, 4, 5, 7, 128])
@pytest.mark.parametrize("keys", [0, 1, 2, 3, 6, 127, 128, 129, 700])
def test_a_rebuilt_tree_is_sound(order: int, keys: int) -> None:
    """Any number of keys gives nodes within the limits of the new order."""
    lake = _lake(Limits(order=4), keys)
    before = lake.content()

    lake.rebuild(Limits(order=order))

    assert lake.content() == before
    assert lake.problems() == []
    lake.independent().check()
    assert lake.independent().order == order
    lake.close()


def test_a_rebuild_encodes_keys_anew_and_keeps_l() -> None:
    """Tables and messages get new keys; L stays in the root."""
    lake = _lake(Limits(order=4), 50)
    lake.commit({"k0007": None, "k0100": "x"}, "L")

    lake.rebuild(Limits(order=4), rekey=lambda key: key + "   ")

    assert {m.key: m.txn for m in lake.root().buffer} == {"k0007   ": "L", "k0100   ": "L"}
    assert len(lake.content()) == 50
    assert lake.get("k0008   ") == "v8"
    lake.close()


def test_a_rebuild_that_would_disorder_keys_is_refused() -> None:
    """Two keys that become one are an error, not a lost object."""
    lake = _lake(Limits(order=4), 50)

    with pytest.raises(InvalidInputError, match="out of order"):
        lake.rebuild(Limits(order=4), rekey=lambda key: key[:3])
    lake.close()


def test_a_small_commit_writes_little() -> None:
    """With 20,000 tables most single changes write only a root below 64 KiB."""
    lake = TreeLake(Limits())
    for first in range(0, 20_000, 1_000):
        lake.commit({f"C==={i:0200d}": f"{i:0100d}" for i in range(first, first + 1_000)})
    lake.commit({})
    chance, sizes, files = random.Random(2), [], []
    for _ in range(300):
        written, count = lake.written, lake.files
        lake.commit({f"C==={chance.randrange(20_000):0200d}": "v" * 100})
        sizes.append(lake.written - written)
        files.append(lake.files - count)

    assert sorted(sizes)[285] <= 64 * 1024
    assert sum(sizes) / len(sizes) <= 2 * 64 * 1024
    assert sorted(files)[285] == 1
    lake.close()


def test_no_small_commit_writes_many_files() -> None:
    """A full root gives to three children, each of them to one: no commit pays for many others."""
    limits = Limits(root_target_bytes=0, root_buffer_bytes=16_384, inner_buffer_bytes=16_384)
    lake = TreeLake(replace(limits, order=32, batch_buffer_bytes=16_384))
    for first in range(0, 20_000, 1_000):
        lake.commit({f"C==={i:0200d}": f"{i:0100d}" for i in range(first, first + 1_000)})
    lake.commit({"the load": "may move now"})
    chance, files = random.Random(3), []
    for _ in range(600):
        count = lake.files
        lake.commit({f"C==={chance.randrange(20_000):0200d}": "v" * 100})
        files.append(lake.files - count)

    levels = max(visit.depth for visit in walk(lake.store(), lake.root(), order=32))
    assert levels == 2
    assert 3 < max(files) <= 1 + 3 * levels
    lake.close()
