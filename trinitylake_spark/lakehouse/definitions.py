"""Definitions read from the storage, each file once: they never change (format.md §5)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trinitylake_spark.errors import CorruptError
from trinitylake_spark.format.definitions import name_sizes, parse_lakehouse_definition
from trinitylake_spark.format.keys import KeyCodec
from trinitylake_spark.tree.limits import Limits

if TYPE_CHECKING:
    from trinitylake_spark.format.definitions_pb2 import LakehouseDef
    from trinitylake_spark.storage.base import Storage

_CACHE_BYTES = 32 * 1024 * 1024
_ENTRY_OVERHEAD = 300


@dataclass(frozen=True, slots=True)
class Layout:
    """A lakehouse definition in force, and what follows from it.

    Args:
        path: the definition's file.
        definition: its content with all defaults; treat it as immutable.
        keys: builds and reads keys with the definition's name sizes.
        limits: order and node sizes for the tree.
    """

    path: str
    definition: LakehouseDef
    keys: KeyCodec
    limits: Limits

    @property
    def order(self) -> int:
        """N, the rows of a node key table."""
        return self.limits.order

    @property
    def max_path_bytes(self) -> int:
        """Longest path that may be stored."""
        return self.definition.file_path_max_size_bytes


def layout_of(path: str, definition: LakehouseDef) -> Layout:
    """Return what follows from a definition."""
    limits = Limits(
        order=definition.order, node_file_max_size_bytes=definition.node_file_max_size_bytes
    )
    return Layout(path, definition, KeyCodec(name_sizes(definition)), limits)


class DefinitionStore:
    """Reads definition files through a cache bounded in bytes; safe for several threads.

    The cache holds bytes, not messages: protobuf messages can be changed, files cannot.

    Args:
        storage: where the tree is.
        cache_bytes: about how much memory the cache may take.
    """

    def __init__(self, storage: Storage, *, cache_bytes: int = _CACHE_BYTES) -> None:
        self._storage = storage
        self._room = cache_bytes
        self._used = 0
        self._files: OrderedDict[str, bytes] = OrderedDict()
        self._layouts: dict[str, Layout] = {}
        self._lock = threading.Lock()

    def read(self, path: str) -> bytes:
        """Return the definition's bytes.

        Raises:
            NotFoundError: no such file; only the caller can tell an expired version from damage.
            StorageError: the storage failed.
        """
        with self._lock:
            found = self._files.get(path)
            if found is not None:
                self._files.move_to_end(path)
                return found
        data = self._storage.read(path)
        self.put(path, data)
        return data

    def put(self, path: str, data: bytes) -> None:
        """Keep a definition that was just written."""
        with self._lock:
            if path in self._files:
                return
            self._files[path] = data
            self._used += len(data) + _ENTRY_OVERHEAD
            while self._used > self._room and len(self._files) > 1:
                _, dropped = self._files.popitem(last=False)
                self._used -= len(dropped) + _ENTRY_OVERHEAD

    def layout(self, path: str, table_rows: int | None = None) -> Layout:
        """Return the lakehouse definition at ``path``, ready to use.

        Args:
            path: as the root names it.
            table_rows: rows of the root's node key table as found, to check against N.

        Raises:
            CorruptError: not a definition, or its N is not the root's.
            UnsupportedError: a format version from the future.
        """
        layout = self._layouts.get(path)
        if layout is None:
            layout = layout_of(path, parse_lakehouse_definition(self.read(path), path))
            self._layouts[path] = layout
        if table_rows is not None and table_rows != layout.order:
            raise CorruptError(
                f"A root has a table of {table_rows} rows; its definition {path} says "
                f"{layout.order} (format.md §3.3).",
                path=path,
                rule="format.md §3.3: exactly N rows",
                found=table_rows,
            )
        return layout
