"""How many bytes parts of a node take in its file, without encoding it (format.md §3.6).

Sizes are those before compression: what a reader has to hold, whatever the keys are like. The
estimates are upper bounds that are a few hundred bytes high at most, so a node that fits by them
fits in truth. They cost one string join each, as they are taken at every commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from trinitylake_spark.format.nodefile import Message, NodeFile

NODE_PATH_BYTES = 69
"""Length of an optimised ``node-<uuid>.ipc`` path."""

_FILE_BYTES = 1200
"""An Arrow file without rows: magic, schema twice, block headers, padding; and ``n_keys``."""
_BYTES_PER_2_ROWS = 33
"""Four columns of one 32-bit offset and one validity bit, for two rows."""
_OBJECT_BYTES = 57
"""What CPython adds to the characters of one string, and the list slot that holds it."""


def text_bytes(texts: Collection[str]) -> int:
    """Return the UTF-8 bytes of all texts together."""
    joined = "".join(texts)
    return len(joined) if joined.isascii() else len(joined.encode())


def rows_bytes(rows: int) -> int:
    """Return what ``rows`` rows cost before any text."""
    return (rows * _BYTES_PER_2_ROWS + 1) // 2


def system_bytes(system: Mapping[str, str]) -> int:
    """Return the bytes of a file that has only these system rows and ``n_keys``."""
    return (
        _FILE_BYTES
        + rows_bytes(len(system) + 1)
        + text_bytes(system.keys())
        + text_bytes(system.values())
    )


def table_bytes(keys: Collection[str], values: Collection[str], children: int, order: int) -> int:
    """Return the bytes of a node key table of ``order`` rows.

    Args:
        keys: the node's keys.
        values: their values.
        children: how many children the node has; their paths need not exist yet.
        order: N.
    """
    rows = max(order, len(keys) + 1)
    return rows_bytes(rows) + text_bytes(keys) + text_bytes(values) + children * NODE_PATH_BYTES


def buffer_bytes(messages: Collection[Message]) -> int:
    """Return the bytes of these messages in a write buffer."""
    if not messages:
        return 0
    keys, values, txns = zip(*messages, strict=True)
    return (
        rows_bytes(len(messages))
        + text_bytes(keys)
        + text_bytes([value for value in values if value is not None])
        + text_bytes(txns)
    )


def memory_bytes(node: NodeFile) -> int:
    """Return about how much memory a decoded node takes."""
    texts: Sequence[Sequence[str]] = (
        node.keys,
        node.values,
        node.children,
        list(node.system.values()),
    )
    plain = sum(text_bytes(part) + len(part) * _OBJECT_BYTES for part in texts)
    return plain + buffer_bytes(node.buffer) + len(node.buffer) * 4 * _OBJECT_BYTES + _FILE_BYTES
