"""Every invariant of a tree, checked and reported as data (format.md §3)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from trinitylake_spark.errors import CorruptError, NotFoundError
from trinitylake_spark.format.system import VERSION
from trinitylake_spark.tree.read import Bounds, newest_txn
from trinitylake_spark.tree.sizes import buffer_bytes, system_bytes, table_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trinitylake_spark.format.nodefile import NodeFile
    from trinitylake_spark.tree.store import NodeStore


@dataclass(frozen=True, slots=True)
class Problem:
    """One broken rule.

    Args:
        path: the file that breaks it; ``""`` is the root that was passed in.
        rule: section and rule of format.md.
        found: what is the case instead.
    """

    path: str
    rule: str
    found: str


def check_tree(
    store: NodeStore,
    root: NodeFile,
    order: int,
    *,
    node_file_max_size_bytes: int | None = None,
    path: str = "",
) -> list[Problem]:
    """Return every violated invariant of format.md §3 in the tree below one root.

    Reads every node; a node that cannot be decoded is a problem and not an error. What a single
    file shows (§3.1, §3.2, null rules) is checked when it is decoded.

    Args:
        store: reads the nodes.
        root: the root of the version to check.
        order: N of its definition.
        node_file_max_size_bytes: if given, nodes above it that could flush are reported.
        path: the root's file, for the report.

    Raises:
        StorageError: the storage failed, so nothing is known.
    """
    return list(_Check(store, order, node_file_max_size_bytes, newest_txn(root)).root(root, path))


class _Check:
    def __init__(
        self, store: NodeStore, order: int, max_bytes: int | None, newest: str | None
    ) -> None:
        self._store = store
        self._order = order
        self._max_bytes = max_bytes
        self._newest = newest
        self._leaf_depth: int | None = None
        self._met: set[str] = set()

    def root(self, root: NodeFile, path: str) -> Iterator[Problem]:
        """Yield the problems of a root and of everything below it."""
        yield from self._shape(root, path)
        if root.children and not root.keys:
            yield Problem(path, "§3.3: a root has two children or is a leaf", "one child")
        movable = _movable(root, self._newest)
        if root.children:
            yield from self._size(root, path, movable)
        if root.system.get(VERSION, "0") != "0" and "previous_root" not in root.system:
            yield Problem(path, "§3.2: a root above version 0 has previous_root", "no such row")
        yield from self._below(root, path, Bounds(), 0)

    def _node(self, path: str, bounds: Bounds, depth: int) -> Iterator[Problem]:
        if path in self._met:
            yield Problem(path, "§3.3: a node has one parent", "two")
            return
        self._met.add(path)
        try:
            node = self._store.get(path, self._order)
        except NotFoundError:
            yield Problem(path, "§8.5: a node that is reached exists", "no such file")
            return
        except CorruptError as error:
            yield Problem(
                path,
                str(error.fields.get("rule", error.message)),
                str(error.fields.get("found", "")),
            )
            return
        yield from self._shape(node, path)
        yield from self._fill(node, path)
        yield from self._keys(node, path, bounds)
        yield from self._pending(node, path, bounds)
        yield from self._size(node, path, len(node.buffer))
        yield from self._below(node, path, bounds, depth)

    def _below(self, node: NodeFile, path: str, bounds: Bounds, depth: int) -> Iterator[Problem]:
        if node.is_leaf:
            if self._leaf_depth is None:
                self._leaf_depth = depth
            if self._leaf_depth != depth:
                found = f"{depth} and {self._leaf_depth}"
                yield Problem(path, "§3.3: all leaves are at one depth", found)
            return
        if len(node.children) == len(node.keys) + 1:
            for i, child in enumerate(node.children):
                yield from self._node(child, bounds.child(node, i), depth + 1)

    def _shape(self, node: NodeFile, path: str) -> Iterator[Problem]:
        """Check what any node keeps: number of keys, values and children, order of the keys."""
        if len(node.keys) >= self._order:
            yield Problem(path, "§3.3: at most N - 1 keys", str(len(node.keys)))
        if len(node.values) != len(node.keys):
            yield Problem(path, "§3.3: a key has a value", f"{len(node.values)} values")
        if node.children and len(node.children) != len(node.keys) + 1:
            found = f"{len(node.children)} children, {len(node.keys)} keys"
            yield Problem(path, "§3.3: one child more than keys", found)
        if node.table_rows not in (None, self._order):
            yield Problem(path, "§3.3: the table has exactly N rows", str(node.table_rows))
        for left, right in pairwise(node.keys):
            if left >= right:
                yield Problem(path, "§3.3: keys ascend strictly", f"{left!r} before {right!r}")

    def _fill(self, node: NodeFile, path: str) -> Iterator[Problem]:
        """Check the minimum of an inner node; leaves have none that a reader may rely on."""
        least = (self._order + 1) // 2
        if node.children and len(node.children) < least:
            rule = "§3.3: an inner node has at least ceil(N/2) children"
            yield Problem(path, rule, str(len(node.children)))

    def _keys(self, node: NodeFile, path: str, bounds: Bounds) -> Iterator[Problem]:
        for key in node.keys:
            if not bounds.hold(key, key):
                rule = "§3.3: keys of a child lie between the pivots around it"
                yield Problem(path, rule, repr(key))

    def _pending(self, node: NodeFile, path: str, bounds: Bounds) -> Iterator[Problem]:
        """Check the buffer of a node that is not the root."""
        if node.is_leaf and node.buffer:
            yield Problem(path, "§3.5: a leaf's buffer is empty", f"{len(node.buffer)} messages")
        for key, _, txn in node.buffer:
            if txn == self._newest:
                rule = "§3.5: all messages of the newest txn with messages are in the root"
                yield Problem(path, rule, f"a message of {txn} for {key!r}")
            if not bounds.hold(key, key):
                rule = "§3.5: messages of a child lie between the pivots around it"
                yield Problem(path, rule, repr(key))

    def _size(self, node: NodeFile, path: str, movable: int) -> Iterator[Problem]:
        if self._max_bytes is None or not movable:
            return
        size = (
            system_bytes(node.system)
            + table_bytes(node.keys, node.values, len(node.children), self._order)
            + buffer_bytes(node.buffer)
        )
        if size > self._max_bytes + _ESTIMATE_SLACK:
            rule = f"§3.5: a node above {self._max_bytes} bytes flushes"
            yield Problem(path, rule, f"{size} bytes, {movable} messages could move")


_ESTIMATE_SLACK = 400


def _movable(root: NodeFile, newest: str | None) -> int:
    """Count the root's messages above the first one that must stay."""
    return next((i for i, m in enumerate(root.buffer) if m.txn == newest), len(root.buffer))
