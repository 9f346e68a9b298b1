"""Node files: the example of format.md §3.7, and everything a tolerant reader accepts (§3.1)."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from tests.support.node_tables import (
    BUFFER,
    COLUMNS,
    EMPTY,
    ROOT,
    SYSTEM,
    TABLE,
    Row,
    batch,
    node,
    to_file,
)
from trinitylake_spark.errors import InvalidInputError
from trinitylake_spark.format.nodefile import (
    Message,
    NodeFile,
    decode_node,
    encode_node,
)

EXAMPLE = NodeFile(
    system={key: value for key, value, _, _ in ROOT if key and value and key != "n_keys"},
    keys=["C===ns1     t1      "],
    values=["P-table-t1-ns1.binpb"],
    children=["P-node-A.ipc", "P-node-B.ipc"],
    buffer=[
        Message("B===ns2     ", "P-namespace-ns2.binpb", "T2"),
        Message("C===ns1     t2      ", None, "T3"),
    ],
)
ROWS: list[Row] = [*ROOT, *TABLE, *BUFFER]


def _rows(data: bytes) -> list[Row]:
    table = pa.ipc.open_file(pa.BufferReader(data)).read_all()
    return list(zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True))


def test_example_is_written_as_specified() -> None:
    """One plain batch, four utf8 columns, sections and rows as in the example."""
    data = encode_node(EXAMPLE, 4)
    reader = pa.ipc.open_file(pa.BufferReader(data))
    assert reader.num_record_batches == 1
    assert reader.schema.names == list(COLUMNS)
    assert set(reader.schema.types) == {pa.utf8()}
    rows = _rows(data)
    assert sorted(map(repr, rows[: len(ROOT)])) == sorted(map(repr, ROOT))
    assert rows[len(ROOT) :] == [*TABLE, *BUFFER]


def test_file_is_compressed() -> None:
    """A node of a large lake, which is mostly padded keys, takes less than half of its text."""
    keys = [f"C===ns1{' ' * 97}t{i:05d}{' ' * 94}" for i in range(100)]
    values = [f"{i:032x}-table-{i:032x}.binpb" for i in range(100)]
    data = encode_node(NodeFile(dict(EXAMPLE.system), keys, values, [], []), 128)
    assert data.startswith(b"ARROW1")
    assert data.endswith(b"ARROW1")
    assert len(data) < sum(map(len, [*keys, *values])) / 2
    assert decode_node(data, "leaf", 128).keys == keys


def test_example_is_read() -> None:
    """What another writer wrote is understood, with N given or found."""
    data = node(ROWS)
    assert decode_node(data, "root", 4) == EXAMPLE
    found = decode_node(data, "root")
    assert found == EXAMPLE
    assert found.table_rows == 4


@pytest.mark.parametrize("order", [3, 4, 128])
def test_version_zero(order: int) -> None:
    """A new lakehouse's root: no keys, N empty rows, no buffer."""
    empty = NodeFile({"created_at_millis": "0", "lakehouse_def": "_d"}, [], [], [])
    data = encode_node(empty, order)
    assert _rows(data)[3:] == [EMPTY] * order
    assert decode_node(data, "root", order) == empty
    assert decode_node(data, "root").is_leaf


@pytest.mark.parametrize("keys", [0, 1, 2])
@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("messages", [0, 3])
def test_round_trip(keys: int, inner: bool, messages: int) -> None:
    """Nodes from empty to full, leaf and inner, with and without a buffer."""
    one = NodeFile(
        {"created_at_millis": "5", "lakehouse_def": "_d"},
        [f"k{i}" for i in range(keys)],
        [f"v{i}" for i in range(keys)],
        [f"c{i}" for i in range(keys + 1)] if inner else [],
        [Message(f"k{i}", None if i else "v", f"t{i}") for i in range(messages)],
    )
    data = encode_node(one, 3)
    assert decode_node(data, "node", 3) == one
    assert decode_node(data, "node") == one
    assert decode_node(data, "node").is_leaf is not inner


@pytest.mark.parametrize(
    "broken",
    [
        NodeFile({}, ["a", "b", "c"], ["1", "2", "3"], []),
        NodeFile({}, ["a"], [], []),
        NodeFile({}, ["a"], ["1"], ["x"]),
        NodeFile({}, [], [], ["x", "y"]),
    ],
)
def test_parts_that_do_not_fit_are_not_written(broken: NodeFile) -> None:
    """A node that no reader could read never reaches a storage."""
    with pytest.raises(ValueError, match="keys"):
        encode_node(broken, 3)


def test_text_that_is_not_unicode_is_not_written() -> None:
    """A message from a command line that is no UTF-8 is the caller's mistake, said as such."""
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        encode_node(NodeFile({"message": "caf\udce9"}, [], [], []), 3)


def test_order_below_three_is_not_written() -> None:
    """N is at least 3."""
    with pytest.raises(ValueError, match="order 2"):
        encode_node(NodeFile({}, [], [], []), 2)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize(
    "kind",
    [
        pa.utf8(),
        pa.large_utf8(),
        pa.dictionary(pa.int32(), pa.utf8()),
        pa.dictionary(pa.int8(), pa.large_utf8()),
    ],
    ids=str,
)
def test_every_encoding_is_read(stream: bool, compression: str | None, kind: Any) -> None:
    """File or stream, compressed or not, large or dictionary-encoded: all the same node."""
    data = to_file([batch(ROWS, kind)], stream=stream, compression=compression)
    assert decode_node(data, "root", 4) == EXAMPLE


@pytest.mark.parametrize("stream", [False, True])
def test_batches_are_concatenated(stream: bool) -> None:
    """A section may start in one batch and end in another; empty batches do not matter."""
    for cut in range(len(ROWS) + 1):
        parts = [batch(ROWS[:cut]), batch([]), batch(ROWS[cut:])]
        assert decode_node(to_file(parts, stream=stream), "root", 4) == EXAMPLE


def test_columns_are_found_by_name() -> None:
    """Their order is free, and columns of others are not even decoded."""
    plain = batch(ROWS)
    extra = pa.array([{"x": [i]} for i in range(len(ROWS))])
    shuffled = pa.RecordBatch.from_arrays(
        [extra, *(plain.column(name) for name in reversed(COLUMNS)), extra],
        names=["extra", *reversed(COLUMNS), "more"],
    )
    for compression in (None, "zstd"):
        data = to_file([shuffled], compression=compression)
        assert decode_node(data, "root", 4) == EXAMPLE


def test_damage_in_columns_of_others_does_not_matter() -> None:
    """What a column that nobody asked for holds is its writer's business."""
    plain = batch(ROWS)
    note = pa.array(["note-x" for _ in ROWS])
    data = to_file([plain.append_column("note", note)])
    damaged = data.replace(b"note-x", b"note-\xff")
    assert damaged != data
    assert decode_node(damaged, "root", 4) == EXAMPLE


def test_types_of_columns_may_differ() -> None:
    """Each column has its own encoding."""
    plain = batch(ROWS)
    mixed = pa.RecordBatch.from_arrays(
        [
            plain.column(0).dictionary_encode(),
            plain.column(1).cast(pa.large_utf8()),
            plain.column(2),
            plain.column(3).dictionary_encode(),
        ],
        names=list(COLUMNS),
    )
    assert decode_node(to_file([mixed]), "root", 4) == EXAMPLE


def test_system_rows_come_in_any_order() -> None:
    """Only where they end is fixed (format.md §3.2)."""
    chance = random.Random(4)
    for _ in range(20):
        shuffled = chance.sample(ROOT, len(ROOT))
        assert decode_node(node(shuffled, TABLE, BUFFER), "root", 4) == EXAMPLE


def test_unknown_system_rows_are_kept() -> None:
    """Rows of a later writer are handed on, whatever their names, even twice."""
    unknown: list[Row] = [
        ("color", "blue", None, None),
        ("", "", None, None),
        ("action.1", "no action", None, None),
        ("color", "green", None, None),
    ]
    found = decode_node(node(unknown, ROOT, TABLE, BUFFER), "root", 4)
    assert found.system == {**EXAMPLE.system, "color": "green", "": "", "action.1": "no action"}
    assert decode_node(encode_node(found, 4), "root", 4) == found


def test_other_columns_of_system_rows_are_ignored() -> None:
    """Checklist 55 of format.md: only key and value count."""
    noisy: list[Row] = [(key, value, "../x", "T9") for key, value, _, _ in ROOT]
    assert decode_node(node(noisy, TABLE, BUFFER), "root", 4) == EXAMPLE


def test_empty_strings_are_not_null() -> None:
    """An empty txn or key is a string like any other."""
    rows: list[Row] = [("", "v", None, "")]
    found = decode_node(node(ROOT, TABLE, rows), "root", 4)
    assert found.buffer == [Message("", "v", "")]


def test_text_of_any_script() -> None:
    """Non-ASCII names and values survive, and order is that of bytes."""
    keys = sorted(["é", "表", "😀", "\uffff", "z", "\U00010000"], key=str.encode)
    assert keys == sorted(keys)
    one = NodeFile(dict(EXAMPLE.system), keys, [f"path-{k}" for k in keys], [])
    assert decode_node(encode_node(one, 8), "node", 8) == one


def test_messages_keep_their_order() -> None:
    """The buffer is oldest first, also for one key."""
    buffer = [Message("k", str(i) if i % 3 else None, f"t{i % 7}") for i in range(500)]
    one = NodeFile(dict(EXAMPLE.system), [], [], [], buffer)
    assert decode_node(encode_node(one, 3), "root", 3).buffer == buffer


def test_a_leaf_of_another_writer_may_be_nearly_empty() -> None:
    """Readers do not rely on a minimum of keys (format.md §3.3)."""
    data = node([SYSTEM[0], ("n_keys", "0", None, None)], [EMPTY] * 128)
    assert decode_node(data, "node", 128).keys == []
