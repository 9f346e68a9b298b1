"""Build a tree anew from its content, when the order or the size of names changes.

One N applies to all nodes of a version (format.md §3.3) and one set of name sizes to all keys
(§4), so changing either rewrites every node in one commit.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from trinitylake_spark.errors import InvalidInputError
from trinitylake_spark.format.nodefile import Message, NodeFile
from trinitylake_spark.tree.read import newest_txn, scan
from trinitylake_spark.tree.work import WorkNode, Workspace
from trinitylake_spark.tree.write import TreeChange, divide_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from trinitylake_spark.clock import Clock
    from trinitylake_spark.ids import Ids
    from trinitylake_spark.tree.limits import Limits
    from trinitylake_spark.tree.store import NodeStore
    from trinitylake_spark.tree.write import Emit

_FILL = 0.8
"""How full new nodes are: room for inserts, and still few files."""

Pair = tuple[str, str]


def rebuild(  # noqa: PLR0913 - the old layout, the new one, and what makes nodes
    store: NodeStore,
    root: NodeFile,
    order: int,
    limits: Limits,
    ids: Ids,
    clock: Clock,
    *,
    system: dict[str, str],
    rekey: Callable[[str], str] = str,
    emit: Emit | None = None,
) -> TreeChange:
    """Return a tree of the same content in another layout.

    The messages of the newest txn that has any stay in the root (format.md §3.5). The content is
    read twice, to count it and to copy it, so that memory stays bounded.

    Args:
        store: reads nodes of the base version.
        root: the base version's root.
        order: N of the base version.
        limits: order to write.
        ids: names new nodes.
        clock: stamps them.
        system: all system rows of the new root.
        rekey: encodes a key for the new name sizes; must keep the order of keys.
        emit: called with batches of finished nodes, as in ``compact``.

    Raises:
        InvalidInputError: ``rekey`` does not keep the order.
        NotFoundError, CorruptError, StorageError: a node could not be read.
    """
    older, kept = divide_root(root.buffer, newest_txn(root))
    base = NodeFile(root.system, root.keys, root.values, root.children, list(older.values()))
    count = sum(1 for _ in scan(store, base, order=order))
    workspace = Workspace(store, limits.order, ids, clock, emit)
    pairs = _ascending((rekey(key), value) for key, value in scan(store, base, order=order))
    node = _build(workspace, limits.order, pairs, count)
    children = [workspace.freeze(child) for child in node.children]
    buffer = [Message(rekey(key), value, txn) for key, value, txn in kept]
    return TreeChange(NodeFile(system, node.keys, node.values, children, buffer), workspace.nodes)


def _build(workspace: Workspace, order: int, pairs: Iterator[Pair], count: int) -> WorkNode:
    """Build level by level, leaves first; the pairs between nodes are the next level's."""
    children: Iterator[WorkNode | str] | None = None
    while count >= order:
        sizes = _node_sizes(count, order)
        made: list[WorkNode | str] = []
        between: list[Pair] = []
        for size in sizes:
            made.append(workspace.finish(_take(pairs, children, size)))
            between.extend(islice(pairs, 1))
        pairs, children, count = iter(between), iter(made), len(between)
    return _take(pairs, children, count)


def _node_sizes(count: int, order: int) -> list[int]:
    """Share ``count`` pairs among nodes of a level, less the pairs between them.

    Args:
        count: at least N.
        order: N.

    Returns:
        keys of each node, all within ceil(N/2) - 1 and N - 1.
    """
    least = (order + 1) // 2 - 1
    wanted = max(int((order - 1) * _FILL), 1)
    nodes = -(-(count + 1) // (wanted + 1))
    if (count + 1) // nodes - 1 < least:
        nodes = -(-(count + 1) // order)
    base, larger = divmod(count - (nodes - 1), nodes)
    return [base + (i < larger) for i in range(nodes)]


def _take(pairs: Iterator[Pair], children: Iterator[WorkNode | str] | None, size: int) -> WorkNode:
    taken = list(islice(pairs, size))
    below = [] if children is None else list(islice(children, size + 1))
    return WorkNode([key for key, _ in taken], [value for _, value in taken], below, {})


def _ascending(pairs: Iterable[Pair]) -> Iterator[Pair]:
    last: str | None = None
    for key, value in pairs:
        if last is not None and key <= last:
            raise InvalidInputError(
                f"The new keys are out of order: {last!r} before {key!r}.", key=key
            )
        last = key
        yield key, value
