"""Deletion vectors: which rows of a data file are deleted, as Delta stores it (format.md §7.3).

A vector is a 64-bit roaring bitmap of row positions in its portable form, after Delta's magic
number. It lies in a file between its length and its checksum, or in the log itself in base85.
"""

from __future__ import annotations

import base64
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from pyroaring import BitMap64

from trinitylake_spark.errors import CorruptError, UnsupportedError

if TYPE_CHECKING:
    from trinitylake_spark.delta.entry import Action
    from trinitylake_spark.lakehouse.formats import FormatContext

_MAGIC = struct.pack("<i", 1681511377)
_OLD_MAGIC = struct.pack("<i", 1681511376)
_FILE_FORMAT = b"\x01"
_IN_FILE, _INLINE = "u", "i"
_UUID_CHARACTERS = 20

# Delta writes the digits of ZeroMQ's base85, Python reads those of git's.
_ZEROMQ = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_GIT = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_TO_GIT = str.maketrans(_ZEROMQ, _GIT)
_FROM_GIT = str.maketrans(_GIT, _ZEROMQ)


@dataclass(frozen=True, slots=True)
class NewVector:
    """A vector that is still to be written.

    Args:
        descriptor: what a file's addition says about it (``deletionVector``).
        path: its file, inside the warehouse.
        data: the file's content.
    """

    descriptor: Action
    path: str
    data: bytes


def read_vector(context: FormatContext, location: str, descriptor: Action | None) -> BitMap64:
    """Return the positions of a data file's deleted rows.

    Args:
        context: storage and services.
        location: the table's location.
        descriptor: ``deletionVector`` of the file's addition; None if no row is deleted.

    Raises:
        CorruptError: the vector is not what its descriptor says.
        NotFoundError: its file is gone.
        UnsupportedError: it lies outside of the table, or in the form of Delta's first versions.
    """
    if descriptor is None:
        return BitMap64()
    kind, text = descriptor["storageType"], str(descriptor["pathOrInlineDv"])
    size = int(descriptor["sizeInBytes"])
    if kind == _INLINE:
        try:
            data = base64.b85decode(text.translate(_TO_GIT))[:size]
        except ValueError as error:
            raise _corrupt("the log entry", "base85 text", text[:40]) from error
        return _decode(data, int(descriptor["cardinality"]), "the log entry")
    if kind != _IN_FILE:
        raise UnsupportedError(
            "A deletion vector lies outside of its table's folder, so it is left alone.",
            storage_type=str(kind),
        )
    path = _path(context, location, text)
    # The file holds the vectors of one statement: small beside the data that they belong to.
    at = int(descriptor.get("offset") or 0)
    content = context.warehouse.read(path)[at : at + size + 8]
    data, checksum = content[4:-4], content[-4:]
    if content[:4] != struct.pack(">i", size) or checksum != _checksum(data):
        raise _corrupt(path, "a vector between its length and its checksum", content[:8].hex())
    return _decode(data, int(descriptor["cardinality"]), path)


def new_vector(context: FormatContext, location: str, rows: BitMap64) -> NewVector:
    """Make a vector of deleted rows, in a file of its own.

    Args:
        context: storage and services.
        location: the table's location.
        rows: positions of the deleted rows.
    """
    rows.run_optimize()
    data = _MAGIC + rows.serialize()
    unique = UUID(context.ids.uuid4())
    text = base64.b85encode(unique.bytes).decode().translate(_FROM_GIT)
    descriptor: Action = {
        "storageType": _IN_FILE,
        "pathOrInlineDv": text,
        "offset": len(_FILE_FORMAT),
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }
    content = _FILE_FORMAT + struct.pack(">i", len(data)) + data + _checksum(data)
    return NewVector(descriptor, _path(context, location, text), content)


def _path(context: FormatContext, location: str, text: str) -> str:
    prefix, encoded = text[:-_UUID_CHARACTERS], text[-_UUID_CHARACTERS:]
    try:
        unique = UUID(bytes=base64.b85decode(encoded.translate(_TO_GIT)))
    except ValueError as error:
        raise _corrupt("the log entry", "a UUID in base85", encoded) from error
    folder = context.warehouse_path(location) + (f"/{prefix}" if prefix else "")
    return f"{folder}/deletion_vector_{unique}.bin"


def _decode(data: bytes, cardinality: int, path: str) -> BitMap64:
    if data[:4] == _OLD_MAGIC:
        raise UnsupportedError(
            f"A deletion vector in {path} has the form of Delta's first versions, so it is left"
            " alone.",
            path=path,
        )
    if data[:4] != _MAGIC:
        raise _corrupt(path, "the magic number of a portable roaring bitmap", data[:4].hex())
    try:
        rows = BitMap64.deserialize(data[4:])
    except (IndexError, ValueError) as error:
        raise _corrupt(path, "a portable roaring bitmap", data[4:16].hex()) from error
    if len(rows) != cardinality:
        raise _corrupt(path, f"{cardinality} deleted rows", str(len(rows)))
    return rows


def _checksum(data: bytes) -> bytes:
    return struct.pack(">I", zlib.crc32(data))


def _corrupt(path: str, expected: str, found: str) -> CorruptError:
    return CorruptError(
        f"A deletion vector in {path} is corrupt: expected {expected}, found {found!r}.",
        path=path,
        rule="Delta protocol: deletion vector format",
        found=found,
    )
