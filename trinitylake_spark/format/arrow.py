"""Tables of text columns as Arrow IPC: one way to write, tolerant reading (format.md §3.1)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa

from trinitylake_spark.errors import CorruptError, InvalidInputError
from trinitylake_spark.format.arrow_limits import declared_file_bytes, declared_stream_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

Column = list[str | None]

_FILE_MAGIC = b"ARROW1"
# Keys are padded with spaces, so LZ4 takes two thirds away. Handing a few buffers of some kilobytes
# to pyarrow's threads takes several times as long as the work itself.
_WRITING = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READING = pa.ipc.IpcReadOptions(use_threads=False)
_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
# No honest node decodes to more than this, or than a few times its own size if it is huge.
_MAX_DECODED = 256 * 1024 * 1024
_MAX_GROWTH = 4
_BROKEN = (
    pa.ArrowException,
    struct.error,
    OSError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    NotImplementedError,
    MemoryError,
)


def write_columns(columns: Sequence[Column], schema: pa.Schema) -> bytes:
    """Return an IPC file with one record batch.

    Raises:
        InvalidInputError: a text is not valid Unicode.
    """
    try:
        arrays = [pa.array(column, pa.utf8()) for column in columns]
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"The text {error.object!r} holds a lone surrogate, which is not valid Unicode."
        ) from error
    sink = pa.BufferOutputStream()
    with pa.RecordBatchFileWriter(sink, schema, options=_WRITING) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded


def read_columns(data: bytes, names: Sequence[str], path: str) -> list[Column]:
    """Return the named text columns, all batches concatenated in order.

    Accepts the file and the stream format, several batches, compression, ``large_utf8`` and
    dictionaries, and skips other columns.

    Args:
        data: the whole file.
        names: columns wanted, in the order wanted.
        path: the file's path, for errors.

    Raises:
        CorruptError: not Arrow IPC, damaged, or a column is missing, double or not text.
    """
    try:
        _check_declared(data, path)
        reader = _open(data, _READING)
        indices = [_column_index(reader.schema, name, path) for name in names]
        if len(reader.schema) > len(indices):
            # Columns of others are not decoded at all: they may be anything.
            only = pa.ipc.IpcReadOptions(included_fields=sorted(indices), use_threads=False)
            reader = _open(data, only)
        columns: list[Column] = [[] for _ in names]
        for batch in _batches(reader):
            batch.validate(full=True)
            for column, name in zip(columns, names, strict=True):
                column.extend(_texts(batch.column(name), path))
    except _BROKEN as error:
        _corrupt(path, "a node is a complete Arrow IPC table", f"{type(error).__name__}: {error}")
    return columns


def _check_declared(data: bytes, path: str) -> None:
    if data.startswith(_FILE_MAGIC):
        declared = declared_file_bytes(data)
    else:
        if not data.endswith(_END_OF_STREAM):
            # Without the mark a stream that lost its last batches would read as a shorter one.
            _corrupt(path, "a stream ends with the end-of-stream mark", f"{data[-8:]!r}")
        declared = declared_stream_bytes(data)
    if declared > max(_MAX_DECODED, _MAX_GROWTH * len(data)):
        _corrupt(path, "a node is a table of sane size", f"{declared} bytes when decoded")


def _open(
    data: bytes, options: pa.ipc.IpcReadOptions
) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
    source = pa.BufferReader(data)
    if data.startswith(_FILE_MAGIC):
        return pa.ipc.open_file(source, options=options)
    return pa.ipc.open_stream(source, options=options)


def _batches(
    reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader,
) -> list[pa.RecordBatch]:
    if isinstance(reader, pa.RecordBatchFileReader):
        return [reader.get_batch(i) for i in range(reader.num_record_batches)]
    return list(reader)


def _column_index(schema: pa.Schema, name: str, path: str) -> int:
    index: int = schema.get_field_index(name)
    if index < 0:
        _corrupt(path, f"there is one column {name!r}", f"columns {schema.names}")
    kind = schema.field(index).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        _corrupt(path, f"column {name!r} is utf8", str(schema.field(index).type))
    return index


def _texts(array: pa.Array, path: str) -> Column:
    if isinstance(array, pa.DictionaryArray):
        words = array.dictionary.to_pylist()
        found = [None if i is None else words[i] for i in array.indices.to_pylist()]
        size = sum(len(text) for text in found if text is not None)
        if size > _MAX_DECODED:
            _corrupt(path, "a node is a table of sane size", f"{size} characters when decoded")
        return found
    texts: Column = array.to_pylist()
    return texts


def _corrupt(path: str, rule: str, found: str) -> NoReturn:
    raise CorruptError(
        f"{path} is corrupt: format.md §3.1 says that {rule}, found {found}.",
        path=path,
        rule=f"format.md §3.1: {rule}",
        found=found,
    )
