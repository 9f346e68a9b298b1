"""What two versions of a tree do not have in common, without reading what they share.

Nodes other than the root never change, so two equal paths are two equal subtrees. As all leaves
have one depth, a shared node stands at the same height above the leaves in both trees: comparing
height by height finds every node that only one of them has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from trinitylake_spark.tree.read import lookup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from trinitylake_spark.format.nodefile import NodeFile
    from trinitylake_spark.tree.store import NodeStore


class Side(NamedTuple):
    """One of the two trees: its root and the order of its definition."""

    root: NodeFile
    order: int


class KeyDifference(NamedTuple):
    """A key whose value differs; None where it is absent."""

    key: str
    old: str | None
    new: str | None


def differing_keys(store: NodeStore, old: Side, new: Side) -> Iterator[KeyDifference]:
    """Yield the keys that do not have the same value in both trees, ascending.

    The cost grows with the nodes that differ, not with the size of the trees.

    Raises:
        NotFoundError, CorruptError, StorageError: a node could not be read.
    """
    for key in sorted(_candidates(store, old, new)):
        before = lookup(store, old.root, key, old.order)
        after = lookup(store, new.root, key, new.order)
        if before != after:
            yield KeyDifference(key, before, after)


def _candidates(store: NodeStore, old: Side, new: Side) -> set[str]:
    """Collect the keys of all nodes that only one tree has; every differing key is in one."""
    found: set[str] = set()
    levels = [_Level(store, side, found) for side in (old, new)]
    while any(level.paths for level in levels):
        top = max(level.height for level in levels)
        tall = [level for level in levels if level.height == top]
        if len(tall) == len(levels):
            shared = levels[0].paths & levels[1].paths
            for level in levels:
                level.paths -= shared
        for level in tall:
            level.descend()
    return found


class _Level:
    """The nodes of one tree at one height above the leaves, which are not known to be shared."""

    def __init__(self, store: NodeStore, side: Side, found: set[str]) -> None:
        self._store = store
        self._order = side.order
        self._found = found
        self.height = _height(store, side)
        self.paths: set[str] = set()
        self._take([side.root])

    def descend(self) -> None:
        """Read the nodes, keep their keys, and go on to their children."""
        nodes = self._store.get_many(sorted(self.paths), self._order)
        self.paths = set()
        self._take(nodes)

    def _take(self, nodes: Iterable[NodeFile]) -> None:
        self.height -= 1
        for node in nodes:
            self._found.update(node.keys)
            self._found.update(node.newest)
            self.paths.update(node.children)


def _height(store: NodeStore, side: Side) -> int:
    """Count the levels of a tree, the root's included."""
    node, height = side.root, 1
    while not node.is_leaf:
        node = store.get(node.children[0], side.order)
        height += 1
    return height
