"""Flush, split, merge and the delete of pivots, on nodes in memory (format.md §3.5).

The parts call each other, because moving messages down changes the shape of the tree and
changing its shape moves messages; so they live together. What they all keep true:

- a message is never below a pivot of its key, so what a pivot's row says is older than any
  message that can be met on the way to it;
- of two messages for one key the newer is nearer the root, and a buffer holds one per key;
- a node that a method returns has at most N - 1 keys. It may have too few; its parent repairs
  that, because only the parent has siblings to offer.

Deleting a pivot joins the two children beside it along their seam, recursively, instead of
pulling up the greatest pair on its left: same invariants, nothing has to be flushed for it, and
what is too large afterwards is split as usual.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from trinitylake_spark.tree.read import corrupt_shape
from trinitylake_spark.tree.sizes import buffer_bytes
from trinitylake_spark.tree.work import WorkNode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trinitylake_spark.format.nodefile import Message
    from trinitylake_spark.tree.limits import Limits, Room
    from trinitylake_spark.tree.work import Workspace

_ONLY_BULK = sys.maxsize
_ROW_BYTES = 17
_INNER_FILE_BYTES = 1300
"""An inner node's file without table and buffer."""


class Pieces(NamedTuple):
    """What takes the place of one child: nodes and the pairs between them."""

    nodes: Sequence[WorkNode | str]
    keys: Sequence[str] = ()
    values: Sequence[str] = ()


class Group:
    """Messages for one child, and about how many bytes they take."""

    __slots__ = ("bytes", "messages")

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.bytes = 0


class Flusher:
    """Changes the shape of one tree.

    Args:
        workspace: where nodes come from.
        limits: what they must keep.
    """

    def __init__(self, workspace: Workspace, limits: Limits) -> None:
        self._work = workspace
        self._limits = limits

    # --- flush ---------------------------------------------------------------------------------

    def drain(self, node: WorkNode, room: int, groups: int = 1) -> bool:
        """Move messages of an inner node down until at most ``room`` bytes are left in it.

        Children with the most pending bytes go first, those with a lot in any case. Deletes of
        the node's own pivots are the last resort: each of them touches two children a level.

        Args:
            node: where to start.
            room: bytes that may stay.
            groups: to so many children messages go down even if fewer would do, as long as more
                than half of ``room`` is taken.

        Returns:
            whether anything went down.
        """
        messages = list(node.buffer.values())
        where, pending, doomed = self._route(node, messages)
        chosen, left = self._choose(pending, room, groups)
        if left + buffer_bytes([node.buffer[key] for key in doomed]) <= room:
            doomed = []
        gone = {*chosen, _PIVOT} | ({_DOOMED} if doomed else set())
        node.buffer = {m.key: m for m, i in zip(messages, where, strict=True) if i not in gone}
        self._work.prefetch(node.children[i] for i in chosen)
        for i in sorted(chosen, reverse=True):
            child = self._work.thaw(node.children[i])
            _splice(node, i, i + 1, self._deliver(child, pending[i]))
        self._delete_pivots(node, doomed)
        self._work.finish_leaves(node, self._limits.min_keys)
        return bool(chosen or doomed)

    def _route(
        self, node: WorkNode, messages: Sequence[Message]
    ) -> tuple[list[int], dict[int, Group], list[str]]:
        """Sort messages by the child they belong to; apply sets of pivots at once.

        Returns:
            for each message its child, ``_PIVOT`` or ``_DOOMED``; the messages of each child;
            the pivots to delete.
        """
        keys, values, n = node.keys, node.values, len(node.keys)
        where: list[int] = []
        groups: dict[int, Group] = {}
        doomed: list[str] = []
        for message in messages:
            key, value, txn = message
            i = bisect_left(keys, key)
            if i == n or keys[i] != key:
                group = groups.get(i)
                if group is None:
                    group = groups[i] = Group()
                group.messages.append(message)
                group.bytes += len(key) + len(value or "") + len(txn) + _ROW_BYTES
            elif value is None:
                doomed.append(key)
                i = _DOOMED
            else:
                values[i] = value
                i = _PIVOT
            where.append(i)
        return where, groups, doomed

    def _choose(self, pending: dict[int, Group], room: int, groups: int) -> tuple[list[int], int]:
        """Choose children, largest group first; return them and the bytes that stay."""
        left = sum(group.bytes for group in pending.values())
        chosen: list[int] = []
        for i, group in sorted(pending.items(), key=lambda item: -item[1].bytes):
            is_enough = left <= room // 2 or (left <= room and len(chosen) >= groups)
            if is_enough and group.bytes < self._limits.bulk_bytes:
                break
            chosen.append(i)
            left -= group.bytes
        return chosen, left

    def _deliver(self, child: WorkNode, group: Group) -> Pieces:
        """Give messages to a child; return what takes its place."""
        if child.is_leaf:
            child.apply(group.messages)
            return self._split(child)
        child.receive(group.messages)
        return self._fit(child, group.bytes)

    def _fit(self, node: WorkNode, arriving: int = 0) -> Pieces:
        """Make a node keep its limits; return what takes its place."""
        if not node.is_leaf:
            self._relieve(node, arriving)
        return self._split(node)

    def _relieve(self, node: WorkNode, arriving: int) -> None:
        """Flush an inner node that holds more than it should."""
        while node.buffer:
            rest = _INNER_FILE_BYTES + node.table_bytes(self._limits.order)
            if self._fits(node, self._limits.inner_room(rest, arriving), 1):
                return

    def _fits(self, node: WorkNode, room: Room, groups: int) -> bool:
        """Flush a node that holds too much; tell whether nothing was to be done."""
        held = node.buffer_bytes()
        if held > room.most:
            # Groups are measured in characters; if that misleads, everything goes.
            if not self.drain(node, room.most, groups):
                self.drain(node, 0)
            return False
        return held <= room.usual or not self.drain(node, _ONLY_BULK)

    def drain_all(self, node: WorkNode, height: int) -> None:
        """Flush every message in a subtree down to tables.

        Args:
            node: where to start.
            height: 0 for a leaf, 1 for a parent of leaves, and so on.
        """
        while node.buffer:
            self.drain(node, 0)
        if height > 1:
            for i in reversed(range(len(node.children))):
                child = self._work.thaw(node.children[i])
                self.drain_all(child, height - 1)
                _splice(node, i, i + 1, self._split(child))
            self._repair(node)

    # --- root ----------------------------------------------------------------------------------

    def settle_root(self, root: WorkNode, fixed: int, kept: int) -> WorkNode:
        """Make a root keep its limits, flushing, growing and shrinking the tree as needed.

        Args:
            root: its buffer holds only what may be flushed.
            fixed: bytes of the file but for table and buffer.
            kept: bytes of the messages that will stay in it.

        Returns:
            the new root: a leaf without flushable messages, or a node with two children at least.
        """
        while True:
            if root.is_leaf:
                root.apply(list(root.buffer.values()))
                root.buffer = {}
            if len(root.keys) > self._limits.max_keys:
                root = self._grow(root)
            elif len(root.children) == 1:
                root = self._shrink(root)
            else:
                rest = fixed + root.table_bytes(self._limits.order)
                room = self._limits.root_room(rest, kept)
                if self._fits(root, room, self._limits.root_groups):
                    return root

    def _grow(self, root: WorkNode) -> WorkNode:
        """Put a new root above one with too many keys; the buffer stays in the root."""
        buffer, root.buffer = root.buffer, {}
        pieces = self._split(root)
        return WorkNode(list(pieces.keys), list(pieces.values), list(pieces.nodes), buffer)

    def _shrink(self, root: WorkNode) -> WorkNode:
        """Let a root without keys take over its only child; the root's messages are newer."""
        child = self._work.thaw(root.children[0])
        child.receive(root.buffer.values())
        return child

    # --- shape ---------------------------------------------------------------------------------

    def _split(self, node: WorkNode) -> Pieces:
        """Cut a node with too many keys into as few as possible, evenly, larger ones first."""
        if len(node.keys) > self._limits.max_keys:
            self._settle_pivots(node)
        m = len(node.keys)
        if m <= self._limits.max_keys:
            return Pieces([node])
        count = (m + self._limits.order) // self._limits.order
        base, larger = divmod(m - (count - 1), count)
        ends: list[int] = []
        at = -1
        for i in range(count):
            at += 1 + base + (i < larger)
            ends.append(at)
        nodes = [
            WorkNode(
                node.keys[first + 1 : end],
                node.values[first + 1 : end],
                node.children[first + 1 : end + 1],
                {},
            )
            for first, end in pairwise([-1, *ends])
        ]
        separators = [node.keys[end] for end in ends[:-1]]
        for message in node.buffer.values():
            nodes[bisect_left(separators, message.key)].buffer[message.key] = message
        return Pieces(nodes, separators, [node.values[end] for end in ends[:-1]])

    def _settle_pivots(self, node: WorkNode) -> None:
        """Apply the messages for a node's own pivots, as some of them are about to move up."""
        while own := [node.buffer.pop(key) for key in node.keys if key in node.buffer]:
            doomed = []
            for key, value, _ in own:
                if value is None:
                    doomed.append(key)
                else:
                    node.values[bisect_left(node.keys, key)] = value
            self._delete_pivots(node, doomed)

    def _delete_pivots(self, node: WorkNode, doomed: Iterable[str]) -> None:
        """Delete pivots of an inner node and repair its children."""
        for key in doomed:
            i = bisect_left(node.keys, key)
            left, right = (self._work.thaw(child) for child in node.children[i : i + 2])
            _splice(node, i, i + 2, self._join(left, right))
        self._repair(node)

    def _join(self, left: WorkNode, right: WorkNode) -> Pieces:
        """Join two neighbours whose pivot is gone."""
        _check_depth(left, right)
        if left.is_leaf:
            seam = Pieces([])
        else:
            seam = self._join(
                self._work.thaw(left.children.pop()), self._work.thaw(right.children.pop(0))
            )
        return self._united(left, seam, right)

    def _merge(self, left: WorkNode, key: str, value: str, right: WorkNode) -> Pieces:
        """Join two neighbours and the pivot between them."""
        _check_depth(left, right)
        return self._united(left, Pieces([], [key], [value]), right)

    def _united(self, left: WorkNode, middle: Pieces, right: WorkNode) -> Pieces:
        """Make one node of two and of what lies between them, and make that keep its limits."""
        node = WorkNode(
            [*left.keys, *middle.keys, *right.keys],
            [*left.values, *middle.values, *right.values],
            [*left.children, *middle.nodes, *right.children],
            {**left.buffer, **right.buffer},
        )
        self._repair(node)
        return self._fit(node)

    def _repair(self, node: WorkNode) -> None:
        """Merge children with too few keys into a sibling until none is left or it is alone."""
        i = 0
        while i < len(node.children) and len(node.children) > 1:
            child = node.children[i]
            if isinstance(child, str) or len(child.keys) >= self._limits.min_keys:
                i += 1
                continue
            i = self._sibling(node, i)
            left, right = (self._work.thaw(each) for each in node.children[i : i + 2])
            merged = self._merge(left, node.keys[i], node.values[i], right)
            _splice(node, i, i + 2, merged)

    def _sibling(self, node: WorkNode, i: int) -> int:
        """Choose the left one of the pair to merge: rather with a node that is thawed anyway."""
        if i == 0:
            return 0
        if i + 1 < len(node.children) and isinstance(node.children[i - 1], str):
            return i if isinstance(node.children[i + 1], WorkNode) else i - 1
        return i - 1


_PIVOT = -1
_DOOMED = -2


def _splice(node: WorkNode, start: int, stop: int, pieces: Pieces) -> None:
    """Replace the children from ``start`` to ``stop`` and the pivots between them."""
    node.children[start:stop] = pieces.nodes
    node.keys[start : stop - 1] = pieces.keys
    node.values[start : stop - 1] = pieces.values


def _check_depth(left: WorkNode, right: WorkNode) -> None:
    """Refuse to unite a leaf with an inner node.

    Raises:
        CorruptError: the tree that was read has leaves at several depths.
    """
    if left.is_leaf != right.is_leaf:
        path = next((each.origin[0] for each in (left, right) if each.origin), "")
        raise corrupt_shape(path, "all leaves are at one depth", "a leaf beside an inner node")
