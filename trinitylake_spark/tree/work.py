"""Nodes while they change: thawed from files, changed in memory, frozen to new files.

Copy-on-write (format.md §3.5): a node that changed gets a new path and so do its ancestors; a
node that was thawed but ends up with its old content keeps its old path.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from trinitylake_spark.format.nodefile import Message, NodeFile
from trinitylake_spark.format.paths import node_path
from trinitylake_spark.format.system import CREATED_AT
from trinitylake_spark.tree.read import corrupt_shape
from trinitylake_spark.tree.sizes import buffer_bytes, table_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from trinitylake_spark.clock import Clock
    from trinitylake_spark.ids import Ids
    from trinitylake_spark.tree.store import NodeStore

_FEW = 16
"""Up to so many messages a leaf takes them one by one; above, it is merged as a whole."""


class WorkNode:
    """A node that may change. Children are paths until they are thawed.

    ``buffer`` holds the newest message of each key in the order of arrival; older messages for
    the same key could never be seen again.
    """

    __slots__ = ("buffer", "children", "keys", "origin", "values")

    def __init__(
        self,
        keys: list[str],
        values: list[str],
        children: list[WorkNode | str],
        buffer: dict[str, Message],
        origin: tuple[str, NodeFile] | None = None,
    ) -> None:
        self.keys = keys
        self.values = values
        self.children = children
        self.buffer = buffer
        self.origin = origin

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no children."""
        return not self.children

    def table_bytes(self, order: int) -> int:
        """Return what the table will take in the node's file."""
        return table_bytes(self.keys, self.values, len(self.children), order)

    def buffer_bytes(self) -> int:
        """Return what the buffer will take in the node's file."""
        return buffer_bytes(self.buffer.values())

    def receive(self, messages: Iterable[Message]) -> None:
        """Put messages below the older ones of an inner node's buffer."""
        merge_newer(self.buffer, messages)

    def apply(self, messages: Sequence[Message]) -> None:
        """Apply messages, at most one per key, to a leaf's table."""
        if len(messages) > _FEW:
            self._apply_many(messages)
            return
        keys, values = self.keys, self.values
        for key, value, _ in messages:
            i = bisect_left(keys, key)
            found = i < len(keys) and keys[i] == key
            if value is None:
                if found:
                    del keys[i], values[i]
            elif found:
                values[i] = value
            else:
                keys.insert(i, key)
                values.insert(i, value)

    def _apply_many(self, messages: Sequence[Message]) -> None:
        pairs: dict[str, str | None] = dict(zip(self.keys, self.values, strict=True))
        pairs.update((key, value) for key, value, _ in messages)
        rows = [(key, value) for key, value in pairs.items() if value is not None]
        rows.sort()
        self.keys = [key for key, _ in rows]
        self.values = [value for _, value in rows]


def merge_newer(buffer: dict[str, Message], messages: Iterable[Message]) -> None:
    """Add newer messages to a buffer in order of arrival; they replace older ones of their key."""
    for message in messages:
        buffer.pop(message.key, None)
        buffer[message.key] = message


class Workspace:
    """Thaws and freezes the nodes of one change.

    Args:
        store: reads nodes that exist.
        order: N.
        ids: names new nodes.
        clock: stamps them.
        emit: called with batches of finished nodes, so that a change of any size needs bounded
            memory; it must have written them when it returns. Without it all are collected.
    """

    _BATCH = 256

    def __init__(
        self,
        store: NodeStore,
        order: int,
        ids: Ids,
        clock: Clock,
        emit: Callable[[dict[str, NodeFile]], None] | None = None,
    ) -> None:
        self._store = store
        self._order = order
        self._ids = ids
        self._stamp = str(clock.now_millis())
        self._emit = emit
        self.nodes: dict[str, NodeFile] = {}
        """New nodes that were not emitted."""
        self._fresh: set[str] = set()
        self._thawed: set[str] = set()

    def prefetch(self, children: Iterable[WorkNode | str]) -> None:
        """Read nodes that are about to be thawed, in parallel."""
        paths = [child for child in children if isinstance(child, str) and child not in self.nodes]
        if len(paths) > 1:
            self._store.get_many(paths, self._order)

    def thaw(self, child: WorkNode | str) -> WorkNode:
        """Return a node that may be changed.

        Raises:
            CorruptError: the node has two parents. Following such a link twice could go on
                for ever.
        """
        if isinstance(child, WorkNode):
            return child
        if child in self._thawed:
            raise corrupt_shape(child, "a node has one parent", "two")
        self._thawed.add(child)
        node = self.nodes.pop(child, None) or self._store.get(child, self._order)
        return WorkNode(
            list(node.keys),
            list(node.values),
            list(node.children),
            {message.key: message for message in node.buffer},
            (child, node),
        )

    def height(self, node: WorkNode) -> int:
        """Return the levels below a node that was not changed yet: 0 for a leaf."""
        path = node.children[0] if node.children else None
        met: set[str] = set()
        while isinstance(path, str):
            if path in met:
                raise corrupt_shape(path, "a node has one parent", "two")
            met.add(path)
            path = next(iter(self._store.get(path, self._order).children), None)
        return len(met)

    def freeze(self, node: WorkNode | str) -> str:
        """Return the path of a node and of all below it, new where its content is new."""
        if isinstance(node, str):
            return node
        children = [self.freeze(child) for child in node.children]
        buffer = list(node.buffer.values())
        if node.origin is not None:
            path, old = node.origin
            if (
                old.keys == node.keys
                and old.values == node.values
                and old.children == children
                and old.buffer == buffer
            ):
                self._thawed.discard(path)
                if path in self._fresh:
                    self.nodes[path] = old
                return path
        path = node_path(self._ids.uuid4())
        self._fresh.add(path)
        self.nodes[path] = NodeFile(
            {CREATED_AT: self._stamp}, node.keys, node.values, children, buffer
        )
        return path

    def finish_leaves(self, parent: WorkNode, min_keys: int) -> None:
        """Freeze leaves that are complete as far as their parent can tell, if there is an emitter.

        A later merge may thaw one of them again; a file that was emitted by then is garbage.
        """
        if self._emit is None:
            return
        for i, child in enumerate(parent.children):
            if isinstance(child, WorkNode) and child.is_leaf and len(child.keys) >= min_keys:
                parent.children[i] = self.finish(child)

    def finish(self, node: WorkNode) -> str:
        """Freeze a node that is complete, and emit a batch when there is one."""
        path = self.freeze(node)
        if self._emit is not None and len(self.nodes) >= self._BATCH:
            self._emit(self.nodes)
            self._fresh.difference_update(self.nodes)
            self.nodes = {}
        return path
