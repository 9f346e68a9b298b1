"""Size estimates against the files that are really written."""

from __future__ import annotations

import pyarrow as pa
import pytest

from trinitylake_spark.format.nodefile import Message, NodeFile, encode_node
from trinitylake_spark.tree.sizes import buffer_bytes, system_bytes, table_bytes

CREATED = {"created_at_millis": "1735689600000"}


def _node(keys: int, messages: int, letter: str) -> NodeFile:
    return NodeFile(
        CREATED,
        [f"{i:04d}{letter * 100}" for i in range(keys)],
        [f"{letter * 50}{i}" for i in range(keys)],
        ["p" * 69] * (keys + 1),
        [Message(f"{i:04d}", letter if i % 3 else None, "t" * 36) for i in range(messages)],
    )


def _decompressed(data: bytes) -> bytes:
    table = pa.ipc.open_file(data).read_all()
    sink = pa.BufferOutputStream()
    with pa.RecordBatchFileWriter(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


@pytest.mark.parametrize("letter", ["a", "ö", "語", "🌲"])
@pytest.mark.parametrize(
    ("order", "keys", "messages"),
    [(3, 0, 0), (3, 2, 1), (128, 0, 7), (128, 127, 0), (128, 90, 1000), (1000, 999, 64)],
)
def test_the_estimate_is_a_close_upper_bound(
    order: int, keys: int, messages: int, letter: str
) -> None:
    """A node that fits by the estimate fits in truth, compressed or not, and little is wasted."""
    node = _node(keys, messages, letter)

    estimate = (
        system_bytes(node.system)
        + table_bytes(node.keys, node.values, len(node.children), order)
        + buffer_bytes(node.buffer)
    )

    data = encode_node(node, order)
    plain = len(_decompressed(data))
    assert len(data) <= estimate
    assert plain <= estimate <= plain + 400
