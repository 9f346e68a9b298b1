"""How full the nodes of a tree are: what ``trinitylake tree`` draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trinitylake_spark.tree.sizes import buffer_bytes, system_bytes, table_bytes

if TYPE_CHECKING:
    from trinitylake_spark.format.nodefile import NodeFile
    from trinitylake_spark.tree.store import NodeStore


@dataclass(frozen=True, slots=True)
class NodePicture:
    """One node and what is drawn below it.

    Args:
        path: the node's file; empty for the root.
        keys: keys in its table.
        capacity: keys that fit, N - 1.
        messages: rows of its write buffer.
        buffer_bytes: about what the buffer takes in the file.
        bytes: about the size of the file.
        first_key: its smallest own key, if it has one.
        children: the children drawn.
        hidden: how many children are left out.
    """

    path: str
    keys: int
    capacity: int
    messages: int
    buffer_bytes: int
    bytes: int
    first_key: str | None
    children: tuple[NodePicture, ...]
    hidden: int


def picture(
    store: NodeStore, root: NodeFile, *, order: int, breadth: int, depth: int
) -> NodePicture:
    """Measure a tree for drawing.

    Args:
        store: reads the nodes below the root.
        root: the version to draw.
        order: N of the root's definition.
        breadth: most children to draw of each node.
        depth: levels to draw below the root.

    Raises:
        NotFoundError, CorruptError, StorageError: a node could not be read.
    """
    return _draw(store, "", root, (order, breadth, depth))


def _draw(store: NodeStore, path: str, node: NodeFile, bounds: tuple[int, int, int]) -> NodePicture:
    order, breadth, depth = bounds
    drawn = node.children[:breadth] if depth > 0 else []
    pending = buffer_bytes(node.buffer)
    table = table_bytes(node.keys, node.values, len(node.children), order)
    return NodePicture(
        path=path,
        keys=len(node.keys),
        capacity=order - 1,
        messages=len(node.buffer),
        buffer_bytes=pending,
        bytes=system_bytes(node.system) + table + pending,
        first_key=node.keys[0] if node.keys else None,
        children=tuple(
            _draw(store, child, found, (order, breadth, depth - 1))
            for child, found in zip(drawn, store.get_many(drawn, order), strict=True)
        ),
        hidden=len(node.children) - len(drawn),
    )
