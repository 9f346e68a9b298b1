"""Changes of a tree: apply messages, or compact it (format.md §3.5).

A change takes a root and returns a new root and the new nodes below it; nothing is written here.
The caller writes the nodes, then creates the root (format.md §6.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trinitylake_spark.format.nodefile import NodeFile
from trinitylake_spark.tree.flush import Flusher
from trinitylake_spark.tree.read import newest_txn
from trinitylake_spark.tree.sizes import buffer_bytes, system_bytes, table_bytes
from trinitylake_spark.tree.work import WorkNode, Workspace, merge_newer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trinitylake_spark.clock import Clock
    from trinitylake_spark.format.nodefile import Message
    from trinitylake_spark.ids import Ids
    from trinitylake_spark.tree.limits import Limits
    from trinitylake_spark.tree.store import NodeStore

Emit = Callable[[dict[str, NodeFile]], None]
"""Takes finished nodes by path and has written them when it returns."""


@dataclass(slots=True)
class TreeChange:
    """A new version of the tree, not yet written."""

    root: NodeFile
    nodes: dict[str, NodeFile] = field(default_factory=dict)
    """New non-root nodes by path; all must be written before the root."""


def apply(
    store: NodeStore,
    root: NodeFile,
    messages: Sequence[Message],
    limits: Limits,
    ids: Ids,
    clock: Clock,
    *,
    system: dict[str, str],
    keep_txn: str | None,
) -> TreeChange:
    """Put messages at the bottom of a root's buffer and flush what has to be flushed.

    Args:
        store: reads nodes of the base version.
        root: the base version's root.
        messages: oldest first; of one txn only the last message of a key is kept.
        limits: order and sizes to write.
        ids: names new nodes.
        clock: stamps them.
        system: all system rows of the new root, as they count for its size.
        keep_txn: L: the txn whose messages stay in the root: that of ``messages``, or the base's
            ``newest_txn`` if there are none.

    Raises:
        ValueError: ``messages`` are not of ``keep_txn``.
        NotFoundError, CorruptError, StorageError: a node could not be read.
    """
    if messages and messages[-1].txn != keep_txn:
        raise ValueError("the messages of the newest txn must stay in the root")
    older, kept = divide_root([*root.buffer, *messages], keep_txn)
    fixed = system_bytes(system)
    kept_bytes = buffer_bytes(kept)
    rest = fixed + table_bytes(root.keys, root.values, len(root.children), limits.order)
    room = limits.root_room(rest, kept_bytes)
    if root.children and buffer_bytes(older.values()) <= room.usual:
        buffer = [*older.values(), *kept]
        return TreeChange(NodeFile(system, root.keys, root.values, root.children, buffer))
    workspace = Workspace(store, limits.order, ids, clock)
    flusher = Flusher(workspace, limits)
    node = flusher.settle_root(_thaw_root(root, older), fixed, kept_bytes)
    return _finished(workspace, node, kept, system)


def compact(
    store: NodeStore,
    root: NodeFile,
    limits: Limits,
    ids: Ids,
    clock: Clock,
    *,
    system: dict[str, str],
    emit: Emit | None = None,
) -> TreeChange:
    """Flush every message that may be flushed, in the whole tree, down to tables.

    The messages of the newest txn that has any stay in the root (format.md §3.5).

    Args:
        store: reads nodes of the base version.
        root: the base version's root.
        limits: order and sizes to write.
        ids: names new nodes.
        clock: stamps them.
        system: all system rows of the new root.
        emit: called with batches of finished nodes, so that memory stays bounded; the nodes
            emitted are not in the result again. Without it the result has all of them.

    Raises:
        NotFoundError, CorruptError, StorageError: a node could not be read.
    """
    older, kept = divide_root(root.buffer, newest_txn(root))
    workspace = Workspace(store, limits.order, ids, clock, emit)
    flusher = Flusher(workspace, limits)
    node = _thaw_root(root, older)
    if not node.is_leaf:
        flusher.drain_all(node, workspace.height(node))
    node = flusher.settle_root(node, system_bytes(system), buffer_bytes(kept))
    return _finished(workspace, node, kept, system)


def divide_root(
    rows: Sequence[Message], keep_txn: str | None
) -> tuple[dict[str, Message], list[Message]]:
    """Divide a root's buffer, oldest first, into what may be flushed and what stays.

    All rows from the first one of ``keep_txn`` on stay, in their order: flushing a row below it
    could put it under an older one of the same key.
    """
    first = next((i for i, message in enumerate(rows) if message.txn == keep_txn), len(rows))
    kept: dict[tuple[str, str], Message] = {}
    for message in rows[first:]:
        place = message.key, message.txn
        kept.pop(place, None)
        kept[place] = message
    older: dict[str, Message] = {}
    merge_newer(older, rows[:first])
    for key, _ in kept:
        older.pop(key, None)
    return older, list(kept.values())


def _thaw_root(root: NodeFile, buffer: dict[str, Message]) -> WorkNode:
    return WorkNode(list(root.keys), list(root.values), list(root.children), buffer)


def _finished(
    workspace: Workspace, node: WorkNode, kept: list[Message], system: dict[str, str]
) -> TreeChange:
    children = [workspace.freeze(child) for child in node.children]
    buffer = [*node.buffer.values(), *kept]
    return TreeChange(NodeFile(system, node.keys, node.values, children, buffer), workspace.nodes)
