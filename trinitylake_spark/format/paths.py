"""Names of every file of a lakehouse (format.md §2)."""

from __future__ import annotations

import re

import mmh3

from trinitylake_spark.errors import CorruptError, InvalidInputError, Kind, TrinityLakeError
from trinitylake_spark.storage.paths import path_problem

HINT_PATH = "_latest_hint"
FLOOR_PATH = "_oldest"
PREPARED_PREFIX = "_dtxn_"
MAX_VERSION = 2**32 - 1
MIN_FILE_PATH_SIZE = 80
"""Smallest ``file_path_max_size_bytes``: room for the hash, the UUID and a few characters."""

_ROOT = re.compile(r"_([01]{32})\.ipc")
_PREPARED = re.compile(r"_dtxn_(.+)_([0-9]{8})\.binpb")
# The last version has ten digits; anything longer costs nothing to refuse.
_DIGITS = re.compile(rb"0*([0-9]{1,10})")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def root_path(version: int) -> str:
    """Return the path of the root node of ``version`` (format.md §2.2).

    Raises:
        TrinityLakeError: kind ``VERSION_OVERFLOW`` above 2^32 - 1.
        InvalidInputError: kind ``INVALID_VERSION`` below 0.
    """
    if version < 0:
        raise InvalidInputError(
            f"Version {version} is negative.", kind=Kind.INVALID_VERSION, version=version
        )
    if version > MAX_VERSION:
        raise TrinityLakeError(
            f"Version {version} is above {MAX_VERSION}, the last one the format can name.",
            kind=Kind.VERSION_OVERFLOW,
            version=version,
        )
    least_significant_first = f"{version:032b}"[::-1]
    return f"_{least_significant_first}.ipc"


def parse_root_path(path: str) -> int | None:
    """Return the version that a root's path names, or None if it is no root's path."""
    found = _ROOT.fullmatch(path)
    return int(found.group(1)[::-1], 2) if found else None


def prepared_path(name: str, sequence: int) -> str:
    """Return the path of one record of a prepared transaction (format.md §6.7)."""
    return f"{PREPARED_PREFIX}{name}_{sequence:08d}.binpb"


def parse_prepared_path(path: str) -> tuple[str, int] | None:
    """Return the name and the sequence that a record's path holds, or None if it is no record's."""
    found = _PREPARED.fullmatch(path)
    return (found.group(1), int(found.group(2))) if found else None


def encode_version(version: int) -> bytes:
    """Return the content of a hint or floor file (format.md §2.3)."""
    return b"%d" % version


def parse_version(data: bytes) -> int | None:
    """Return the version in a hint or floor file; None for anything that counts as absent."""
    found = _DIGITS.fullmatch(data.strip(b" \t\r\n\v\f"))
    if found is None:
        return None
    version = int(found.group(1))
    return version if version <= MAX_VERSION else None


def optimise_path(path: str) -> str:
    """Spread a path over folders by its hash, so that object stores spread the load (§2.4).

    Readers never derive a name from this; they read the stored result.
    """
    bits = f"{mmh3.hash(path.encode(), 0, signed=False) & 0xFFFFF:020b}"
    flat = path.replace("/", "-")
    return f"{bits[:4]}/{bits[4:8]}/{bits[8:12]}/{bits[12:]}-{flat}"


def node_path(uuid: str) -> str:
    """Return the path of a new non-root node."""
    return optimise_path(f"node-{uuid}.ipc")


def lakehouse_definition_path(uuid: str) -> str:
    """Return the path of a new lakehouse definition."""
    return f"_lakehouse_def_{uuid}.binpb"


def namespace_definition_path(namespace: str, uuid: str, max_bytes: int) -> str:
    """Return the path of a new namespace definition, at most ``max_bytes`` long."""
    return _definition_path("namespace", namespace, uuid, max_bytes)


def table_definition_path(namespace: str, table: str, uuid: str, max_bytes: int) -> str:
    """Return the path of a new table definition, at most ``max_bytes`` long."""
    return _definition_path("table", f"{table}-{namespace}", uuid, max_bytes)


def view_definition_path(namespace: str, view: str, uuid: str, max_bytes: int) -> str:
    """Return the path of a new view definition, at most ``max_bytes`` long."""
    return _definition_path("view", f"{view}-{namespace}", uuid, max_bytes)


def _definition_path(kind: str, identifier: str, uuid: str, max_bytes: int) -> str:
    """Cut the identifier at a UTF-8 boundary until the path fits, then hash (format.md §2.1)."""
    fixed = len(optimise_path(f"{kind}--{uuid}.binpb"))
    room = max(max_bytes - fixed, 0)
    cut = identifier.encode()[:room].decode(errors="ignore")
    return optimise_path(f"{kind}-{cut}-{uuid}.binpb")


def check_relative_path(path: str, *, file: str = "", max_bytes: int | None = None) -> None:
    """Check a path that was found inside a file (format.md §2.1).

    Args:
        path: what the file says.
        file: the file that says so, for the message.
        max_bytes: ``file_path_max_size_bytes`` if it is to be checked too.

    Raises:
        CorruptError: a URI, an absolute path, or a path with an empty, ``.`` or ``..`` segment:
            a foreign lakehouse must not make its reader open arbitrary files.
    """
    problem = "it is a URI" if _URI.match(path) else path_problem(path)
    if problem is None and max_bytes is not None and len(path.encode()) > max_bytes:
        problem = f"it is longer than {max_bytes} bytes"
    if problem is not None:
        raise CorruptError(
            f"{file or 'A file'} holds the path {path!r}: {problem}.",
            path=file,
            rule="format.md §2.1: paths inside a lakehouse are relative",
            found=path,
        )
