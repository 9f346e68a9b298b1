"""Node files by path, decoded once and kept: a non-root node never changes (format.md §2.1)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from trinitylake_spark.format.nodefile import decode_node
from trinitylake_spark.tree.sizes import memory_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trinitylake_spark.format.nodefile import NodeFile
    from trinitylake_spark.storage.base import Storage

DEFAULT_CACHE_BYTES = 64 * 1024 * 1024


class NodeStore:
    """Reads non-root nodes through a cache that is bounded in bytes; safe for several threads.

    Args:
        storage: where the lakehouse lives.
        cache_bytes: about how much memory decoded nodes may take; the least recently used go.
    """

    def __init__(self, storage: Storage, *, cache_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        self.storage = storage
        self._room = cache_bytes
        self._used = 0
        self._nodes: OrderedDict[str, tuple[NodeFile, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: str, order: int) -> NodeFile:
        """Return the node at ``path``; no storage call if it is cached.

        Args:
            path: a child's path as its parent names it.
            order: N of the definition in use.

        Raises:
            NotFoundError: no such file. Only the caller can tell an expired version from damage.
            CorruptError: the file breaks a rule of format.md §3.
            StorageError: the storage failed.
        """
        node = self._cached(path)
        return self._load([path], order)[0] if node is None else node

    def get_many(self, paths: Sequence[str], order: int) -> list[NodeFile]:
        """Return several nodes, in the order of ``paths``; what is not cached is read in parallel.

        Raises:
            NotFoundError, CorruptError, StorageError: as ``get``.
        """
        found = {path: node for path in paths if (node := self._cached(path)) is not None}
        missing = [path for path in dict.fromkeys(paths) if path not in found]
        found.update(zip(missing, self._load(missing, order), strict=True))
        return [found[path] for path in paths]

    def put_cache(self, path: str, node: NodeFile) -> None:
        """Keep a node that was just written, or will be before anybody can name it."""
        size = memory_bytes(node)
        with self._lock:
            self._forget(path)
            self._nodes[path] = (node, size)
            self._used += size
            while self._used > self._room and self._nodes:
                self._forget(next(iter(self._nodes)))

    def _cached(self, path: str) -> NodeFile | None:
        with self._lock:
            entry = self._nodes.get(path)
            if entry is None:
                return None
            self._nodes.move_to_end(path)
            return entry[0]

    def _forget(self, path: str) -> None:
        entry = self._nodes.pop(path, None)
        if entry is not None:
            self._used -= entry[1]

    def _load(self, paths: Sequence[str], order: int) -> list[NodeFile]:
        files = self.storage.read_all(paths)
        nodes = [decode_node(data, path, order) for path, data in zip(paths, files, strict=True)]
        for path, node in zip(paths, nodes, strict=True):
            self.put_cache(path, node)
        return nodes
