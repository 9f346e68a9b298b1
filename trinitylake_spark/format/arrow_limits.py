"""How much memory an Arrow IPC file asks for, found without giving it.

A few bytes can ask for terabytes: a compressed buffer declares its own size, and a footer can
name one batch a thousand times. Arrow believes both, so they are added up here before it reads.
Only the few fields needed are taken from the flatbuffers, by hand; Arrow verifies the rest.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC_SIZE = 6
_CONTINUATION = 0xFFFFFFFF
_DICTIONARY_BATCH = 2
_RECORD_BATCH = 3

_U8 = struct.Struct("<B")
_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_I64 = struct.Struct("<q")
_BUFFER = struct.Struct("<qq")
_BLOCK = struct.Struct("<qiiq")


def declared_file_bytes(data: bytes) -> int:
    """Return the bytes that all batches of an IPC file say they have when uncompressed.

    Raises:
        struct.error: the footer or a batch points outside the file.
    """
    end = len(data) - _MAGIC_SIZE - _I32.size
    footer = end - _at(_I32, data, end)
    table = footer + _at(_U32, data, footer)
    total = 0
    for field in (2, 3):  # dictionaries, recordBatches
        vector = _field(data, table, field)
        if vector is not None:
            for offset, metadata_size, _, _ in _structs(data, vector, _BLOCK):
                total += _message_bytes(data, offset, offset + metadata_size)
    return total


def declared_stream_bytes(data: bytes) -> int:
    """Return the bytes that all batches of an IPC stream say they have when uncompressed.

    Raises:
        struct.error: a message points outside the stream.
    """
    total = position = 0
    while position < len(data):
        start, size = _metadata(data, position)
        if size == 0:
            break
        body = start + size
        total += _message_bytes(data, position, body)
        table = start + _at(_U32, data, start)
        body_size = _field(data, table, 3)
        following = body + (0 if body_size is None else _at(_I64, data, body_size))
        if following <= position:
            raise struct.error(f"message at {position} ends before it starts")
        position = following
    return total


def _metadata(data: bytes, position: int) -> tuple[int, int]:
    """Return where a message's flatbuffer starts and how long it is."""
    size = _at(_U32, data, position)
    position += _U32.size
    if size == _CONTINUATION:
        size = _at(_U32, data, position)
        position += _U32.size
    return position, size


def _message_bytes(data: bytes, position: int, body: int) -> int:
    start, _ = _metadata(data, position)
    message = start + _at(_U32, data, start)
    kind = _field(data, message, 1)
    header = _table(data, message, 2)
    if kind is None or header is None:
        return 0
    header_type = _at(_U8, data, kind)
    batch: int | None = None
    if header_type == _RECORD_BATCH:
        batch = header
    elif header_type == _DICTIONARY_BATCH:
        batch = _table(data, header, 1)
    if batch is None:
        return 0
    buffers = _field(data, batch, 2)
    if buffers is None:
        return 0
    compressed = _field(data, batch, 3) is not None
    return sum(
        _buffer_bytes(data, body + offset, length, compressed=compressed)
        for offset, length in _structs(data, buffers, _BUFFER)
    )


def _buffer_bytes(data: bytes, position: int, length: int, *, compressed: bool) -> int:
    if not compressed or length < _I64.size:
        return length
    # A compressed buffer starts with its size, or with -1 if it is stored as it is.
    return max(length, _at(_I64, data, position))


def _structs(data: bytes, field: int, kind: struct.Struct) -> Iterator[tuple[int, ...]]:
    """Return the structs of a vector."""
    start = field + _at(_U32, data, field)
    count = _at(_U32, data, start)
    start += _U32.size
    return kind.iter_unpack(data[start : start + count * kind.size])


def _table(data: bytes, table: int, field: int) -> int | None:
    """Return where a field's table is."""
    position = _field(data, table, field)
    return None if position is None else position + _at(_U32, data, position)


def _field(data: bytes, table: int, field: int) -> int | None:
    """Return where a field of a table is stored, or None if it has its default."""
    vtable = table - _at(_I32, data, table)
    slot = 4 + 2 * field
    if slot >= _at(_U16, data, vtable):
        return None
    offset = _at(_U16, data, vtable + slot)
    return table + offset if offset else None


def _at(kind: struct.Struct, data: bytes, position: int) -> int:
    if position < 0:
        raise struct.error(f"position {position} lies before the file")
    value: int = kind.unpack_from(data, position)[0]
    return value
