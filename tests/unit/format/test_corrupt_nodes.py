"""Every broken rule of a node file is a CorruptError that names file, rule and finding."""

from __future__ import annotations

import gzip
import struct
from typing import TYPE_CHECKING, Any

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
from trinitylake_spark.errors import CorruptError, Kind
from trinitylake_spark.format import arrow
from trinitylake_spark.format.nodefile import decode_node

if TYPE_CHECKING:
    from collections.abc import Sequence

ROWS: list[Row] = [*ROOT, *TABLE, *BUFFER]
PLAIN = node(ROWS)


def _refuse(data: bytes, rule: str, order: int | None = 4) -> CorruptError:
    with pytest.raises(CorruptError, match=rule) as caught:
        decode_node(data, "some/file.ipc", order)
    error = caught.value
    assert error.kind is Kind.CORRUPT
    assert error.fields["path"] == "some/file.ipc"
    assert "format.md §" in error.fields["rule"]
    assert error.fields["found"] is not None
    assert "some/file.ipc" in error.message
    return error


def _system(**rows: str | None) -> list[Row]:
    """The example's system rows with some replaced, or left out (None)."""
    kept = {key: value for key, value, _, _ in ROOT if key is not None} | rows
    return [(key, value, None, None) for key, value in kept.items() if value is not None]


def _table(*changes: tuple[int, Row]) -> list[Row]:
    rows = list(TABLE)
    for at, row in changes:
        rows[at] = row
    return rows


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"ARROW1",
        b"ARROW1\0\0",
        b"ARROW1\0\0ARROW1",
        b"ARROW1\0\0" + b"\0" * 64 + b"ARROW1",
        b"ARROW1\0\0" + b"\xff" * 64 + b"ARROW1",
        b"PAR1" + b"\0" * 100 + b"PAR1",
        b'{"commitInfo": {}}\n',
        gzip.compress(PLAIN),
        b"\xff\xff\xff\xff\0\0\0\0",
        b"\0\0\0\0" + b"\xff\xff\xff\xff\0\0\0\0",
        PLAIN[8:],
        PLAIN + b"\0",
        b"\0" + PLAIN,
    ],
    ids=range(15),
)
def test_foreign_files(data: bytes) -> None:
    """Files of other kinds, and nothing at all, are refused as such."""
    _refuse(data, "§3.1")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("compression", [None, "zstd"])
def test_truncated_files(stream: bool, compression: str | None) -> None:
    """No proper beginning of a file passes for a file, even if it ends between two batches."""
    parts = [batch(ROWS[:-1]), batch(ROWS[-1:])]
    data = to_file(parts, stream=stream, compression=compression)
    for size in range(len(data)):
        _refuse(data[:size], "§3.1")


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(
    "kind",
    [pa.binary(), pa.int64(), pa.bool_(), pa.null(), pa.list_(pa.utf8()), pa.utf8().__class__],
    ids=["binary", "int64", "bool", "null", "list", "dictionary"],
)
def test_wrong_types(column: str, kind: Any) -> None:
    """Each of the four columns is text."""
    rows = [EMPTY] * 4
    plain = batch(rows)
    if not isinstance(kind, pa.DataType):
        kind = pa.dictionary(pa.int32(), pa.int64())
    wrong = pa.nulls(len(rows), kind)
    at = COLUMNS.index(column)
    data = to_file([plain.set_column(at, pa.field(column, kind), wrong)])
    error = _refuse(data, f"column '{column}' is utf8")
    assert error.fields["found"] == str(kind)


@pytest.mark.parametrize("column", COLUMNS)
def test_missing_columns(column: str) -> None:
    """A file without one of the four is no node."""
    plain = batch(ROWS)
    _refuse(to_file([plain.drop_columns([column])]), f"one column '{column}'")


def test_double_column() -> None:
    """A name that two columns have says nothing."""
    plain = batch(ROWS)
    data = to_file([plain.append_column("key", plain.column(0))])
    _refuse(data, "one column 'key'")


def test_text_that_is_no_utf8() -> None:
    """Bytes that are not UTF-8 are found even where nobody looks at the value."""
    data = PLAIN.replace(b"P-namespace-ns2", b"P-namespace-n\xff2")
    assert data != PLAIN
    _refuse(data, "complete Arrow IPC")


def test_text_that_lies_outside_its_column() -> None:
    """An offset between good ones that points far away is found before anybody follows it."""
    lengths = [len(key or "") for key, _, _, _ in ROWS]
    offsets = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    packed = struct.pack(f"<{len(offsets)}i", *offsets)
    for wild in (1_000_000_000, -1_000_000_000):
        broken = [*offsets[:3], wild, *offsets[4:]]
        data = _patched(PLAIN, packed, struct.pack(f"<{len(broken)}i", *broken))
        _refuse(data, "complete Arrow IPC")


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ([], "table starts with a null key and value"),
        ([*SYSTEM], "table starts with a null key and value"),
        ([*_system(n_keys=None), *TABLE], "system row n_keys"),
        ([*_system(created_at_millis=None), *TABLE], "system row created_at_millis"),
        ([*_system(n_keys="one"), *TABLE], "n_keys is a decimal"),
        ([*_system(n_keys="01"), *TABLE], "n_keys is a decimal"),
        ([*_system(n_keys="-1"), *TABLE], "n_keys is a decimal"),
        ([*_system(n_keys="+1"), *TABLE], "n_keys is a decimal"),
        ([*_system(n_keys=""), *TABLE], "n_keys is a decimal"),
        ([*_system(n_keys="١"), *TABLE], "n_keys is a decimal"),
        ([*_system(n_keys="9" * 30), *TABLE], "n_keys is a decimal"),
        ([*_system(created_at_millis="1e9"), *TABLE], "created_at_millis is a decimal"),
        ([*ROOT, ("version", "3", None, None), *TABLE], "known system row occurs once"),
        ([*ROOT, ("n_keys", "1", None, None), *TABLE], "known system row occurs once"),
        ([*ROOT, *[("action.00000000", "", None, None)] * 2, *TABLE], "occurs once"),
        ([("color", None, None, None), *ROOT, *TABLE], "values of system rows are not null"),
        ([(None, "blue", None, None), *ROOT, *TABLE], "keys of system rows are not null"),
    ],
    ids=range(17),
)
def test_system_rows(rows: Sequence[Row], rule: str) -> None:
    """Known rows are there once, have their form, and no half rows stand among them."""
    _refuse(node(rows), rule)
    _refuse(node(rows), rule, order=None)


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        (TABLE[:3], "exactly N = 4 rows"),
        ([*TABLE, EMPTY], "exactly N = 4 rows"),
        ([*TABLE, *[EMPTY] * 1000], "exactly N = 4 rows"),
        (TABLE[:1], "exactly N = 4 rows"),
        (_table((1, ("k", "v", "P", "T1"))), "exactly N = 4 rows"),
        (_table((1, ("k", None, "P", None))), "values are not null"),
        (_table((1, (None, "v", "P", None))), "keys are not null"),
        (_table((1, EMPTY)), "keys are not null"),
        (_table((1, ("k", "v", None, None))), "all rows have a pnode, or none"),
        (_table((0, EMPTY)), "all rows have a pnode, or none"),
        (_table((2, ("k2", "v2", "P2", None))), "after n_keys are null"),
        (_table((3, (None, None, "P2", None))), "after n_keys are null"),
        (_table((3, ("k", None, None, None))), "after n_keys are null"),
    ],
    ids=range(13),
)
def test_table_rows(rows: Sequence[Row], rule: str) -> None:
    """Exactly N rows, the first n_keys + 1 of them full and the rest empty."""
    _refuse(node(ROOT, rows, BUFFER), rule)


@pytest.mark.parametrize("count", ["4", "5", "1000000000000000000"])
def test_more_keys_than_rows(count: str) -> None:
    """n_keys is at most N - 1, and a huge one costs nothing."""
    _refuse(node(_system(n_keys=count), TABLE, BUFFER), "below the number of table rows")
    _refuse(node(_system(n_keys=count), TABLE, BUFFER), "below the number", order=None)


@pytest.mark.parametrize("keys", [("b", "a"), ("a", "a"), ("a", ""), ("\U00010000", "\uffff")])
def test_keys_that_do_not_ascend(keys: tuple[str, str]) -> None:
    """A search would miss keys; equal keys count too, and order is that of UTF-8 bytes."""
    rows: list[Row] = [EMPTY, *[(key, "v", None, None) for key in keys], EMPTY]
    error = _refuse(node(_system(n_keys="2"), rows), "keys ascend strictly")
    assert repr(keys[1]) in error.fields["found"]


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ((None, "v", None, "T4"), "keys of messages are not null"),
        (("k", "v", None, None), "txns of messages are not null"),
        (("k", "v", "P", "T4"), "message's pnode is null"),
        (EMPTY, "keys of messages are not null"),
    ],
)
def test_messages(row: Row, rule: str) -> None:
    """A message has a key and a txn, and no child."""
    _refuse(node(ROOT, TABLE, BUFFER, [row]), rule)
    _refuse(node(ROOT, TABLE, BUFFER, [row], BUFFER), rule)


def test_buffer_where_n_says_table() -> None:
    """A buffer that does not start where N says is found whichever of them is wrong."""
    _refuse(PLAIN, "exactly N = 3 rows", order=3)
    _refuse(PLAIN, "exactly N = 5 rows", order=5)


def test_leaf_with_messages() -> None:
    """Messages that reach a leaf are applied; only a root may be leaf and have a buffer."""
    leaf: list[Row] = [EMPTY, ("k", "v", None, None), EMPTY, EMPTY]
    _refuse(node(SYSTEM, leaf, BUFFER), "leaf's buffer is empty")
    assert decode_node(node(ROOT, leaf, BUFFER), "root", 4).buffer


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x", "a/../x", "a//b", "./a", "a/", "s3://b/x", "file:///x", "a\0b"],
)
@pytest.mark.parametrize("where", ["value", "child", "message"])
def test_paths_that_lead_elsewhere(path: str, where: str) -> None:
    """A file of others cannot make its reader open what lies outside the lakehouse."""
    table, buffer = list(TABLE), list(BUFFER)
    if where == "value":
        table[1] = ("k", path, "P-node-B.ipc", None)
    elif where == "child":
        table[0] = (None, None, path, None)
    else:
        buffer[0] = ("k", path, None, "T2")
    error = _refuse(node(ROOT, table, buffer), "§2.1|relative|holds the path")
    assert error.fields["found"] == path


def _patched(data: bytes, old: bytes, new: bytes) -> bytes:
    assert data.count(old) >= 1
    return data.replace(old, new)


def test_message_that_ends_before_it_starts() -> None:
    """A stream whose second message sends the reader back to itself is left, not followed."""
    data = to_file([batch(ROWS)], stream=True)
    schema_size = 8 + struct.unpack_from("<i", data, 4)[0]
    metadata_size = 8 + struct.unpack_from("<i", data, schema_size + 4)[0]
    body_size = len(data) - 8 - schema_size - metadata_size
    back = _patched(data, struct.pack("<q", body_size), struct.pack("<q", -metadata_size))
    _refuse(back, "ends before it starts")


def test_compressed_buffer_that_claims_a_terabyte() -> None:
    """What a buffer says of its own size is added up before anybody allocates it."""
    text = "x" * 12345
    rows: list[Row] = [*ROOT, *TABLE, ("k", text, None, "T3")]
    for codec in ("lz4", "zstd"):
        data = to_file([batch(rows)], compression=codec)
        size = sum(len(value) for _, value, _, _ in rows if value is not None)
        bomb = _patched(data, struct.pack("<q", size), struct.pack("<q", 2**40))
        _refuse(bomb, "sane size")


@pytest.fixture
def low_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node may decode to a megabyte, so that these tests need little memory themselves."""
    monkeypatch.setattr(arrow, "_MAX_DECODED", 1_000_000)


@pytest.mark.usefixtures("low_limit")
def test_compression_bomb() -> None:
    """A small file that honestly decodes to much more than its size is refused unread."""
    rows: list[Row] = [*ROOT, *TABLE, ("k", "x" * 1_100_000, None, "T3")]
    data = to_file([batch(rows)], compression="zstd")
    assert len(data) < 10_000
    _refuse(data, "sane size")


@pytest.mark.usefixtures("low_limit")
def test_compression_bomb_in_a_dictionary() -> None:
    """A dictionary's words are counted where they are stored, not only where they are used."""
    rows: list[Row] = [*ROOT, *TABLE, ("k", "x" * 1_100_000, None, "T3")]
    words = batch(rows, pa.dictionary(pa.int8(), pa.utf8()))
    for stream in (False, True):
        _refuse(to_file([words], stream=stream, compression="zstd"), "bytes when decoded")


@pytest.mark.usefixtures("low_limit")
def test_dictionary_bomb() -> None:
    """One long word that a dictionary repeats is not written out a thousand times."""
    words = pa.array(["x" * 1_100])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int8()), words)
    bomb = pa.RecordBatch.from_arrays([column] * 4, names=list(COLUMNS))
    _refuse(to_file([bomb]), "sane size")


@pytest.mark.usefixtures("low_limit")
def test_footer_that_names_one_batch_many_times() -> None:
    """The same batch again and again is counted each time."""
    rows: list[Row] = [*ROOT, *TABLE, ("k", "x" * 1000, None, "T3")]
    batches = [batch(rows)] * 4000
    data = to_file(batches)
    footer_size = struct.unpack("<i", data[-10:-6])[0]
    footer = bytearray(data[-10 - footer_size : -10])
    # All blocks of the footer are made equal to the first, and all other batches are dropped.
    first = struct.pack("<q", data.index(b"\xff\xff\xff\xff", 16))
    start = footer.index(first)
    block = bytes(footer[start : start + 24])
    footer[start : start + 24 * 4000] = block * 4000
    end = struct.unpack("<q", block[:8])[0] + sum(struct.unpack("<iiq", block[8:]))
    small = data[:end] + b"\xff\xff\xff\xff\0\0\0\0" + bytes(footer) + data[-10:]
    assert len(small) < 300_000
    assert pa.ipc.open_file(pa.BufferReader(small)).get_batch(3999).num_rows == len(rows)
    _refuse(small, "sane size")
