"""Node files made row by row, without the library: what other writers may have written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = tuple[str | None, str | None, str | None, str | None]
"""key, value, pnode, txn."""

COLUMNS = ("key", "value", "pnode", "txn")
EMPTY: Row = (None, None, None, None)
SYSTEM: tuple[Row, ...] = (
    ("created_at_millis", "1735689600000", None, None),
    ("n_keys", "1", None, None),
)
ROOT: tuple[Row, ...] = (
    *SYSTEM,
    ("lakehouse_def", "_lakehouse_def_U.binpb", None, None),
    ("previous_root", "_01000000000000000000000000000000.ipc", None, None),
    ("version", "3", None, None),
    ("txn_id", "T3", None, None),
)
TABLE: tuple[Row, ...] = (
    (None, None, "P-node-A.ipc", None),
    ("C===ns1     t1      ", "P-table-t1-ns1.binpb", "P-node-B.ipc", None),
    EMPTY,
    EMPTY,
)
BUFFER: tuple[Row, ...] = (
    ("B===ns2     ", "P-namespace-ns2.binpb", None, "T2"),
    ("C===ns1     t2      ", None, None, "T3"),
)
"""The example of format.md §3.7: a root of order 4 at version 3."""


def batch(rows: Sequence[Row], kind: Any = None) -> pa.RecordBatch:
    """Rows as a batch whose columns have one type, utf8 if left out."""
    columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    arrays = [pa.array(column, pa.utf8()) for column in columns]
    if kind is not None:
        arrays = [array.cast(kind) for array in arrays]
    return pa.RecordBatch.from_arrays(arrays, names=list(COLUMNS))


def to_file(
    batches: Sequence[pa.RecordBatch], *, stream: bool = False, compression: str | None = None
) -> bytes:
    """Batches as an IPC file or stream."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with new(sink, batches[0].schema, options=options) as writer:
        for one in batches:
            writer.write_batch(one)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def node(*sections: Sequence[Row]) -> bytes:
    """Sections of rows as one plain file."""
    return to_file([batch([row for section in sections for row in section])])
