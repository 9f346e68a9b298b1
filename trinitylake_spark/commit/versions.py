"""Which version is the latest, and the root of any version (format.md §6.1).

Versions between the floor and the latest have no gaps, so "is there a root n?" is a question
that can be answered by growing steps and halving. One process remembers the last version it saw,
so that an unmoved lake costs one read: the root that is not there yet.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trinitylake_spark.errors import Kind, NotFoundError
from trinitylake_spark.format.nodefile import decode_node
from trinitylake_spark.format.paths import (
    FLOOR_PATH,
    HINT_PATH,
    MAX_VERSION,
    parse_root_path,
    parse_version,
    root_path,
)
from trinitylake_spark.format.system import parse_root_info

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trinitylake_spark.clock import Clock
    from trinitylake_spark.format.nodefile import NodeFile
    from trinitylake_spark.format.system import RootInfo
    from trinitylake_spark.storage.base import Storage

TRUST_MILLIS = 10_000
"""How long "there is no version above n" helps to believe the next missing root.

A version that came after that moment is younger than this, and expiration leaves such roots in
place; so a root that is missing was never there, and the floor need not be read again.
"""
FRESH_MILLIS = 1_000
"""How long a version that was the newest counts as such when the next one is taken already."""
YOUNGEST_EXPIRABLE_MILLIS = 3 * TRUST_MILLIS
"""A root younger than this is never deleted, whatever limits an expiration is given (§8.5)."""

_STEPS_BEFORE_HINT = 2
_CACHE_BYTES = 64 * 1024 * 1024
_DECODED_PER_STORED_BYTE = 4
_BATCH = 16


@dataclass(frozen=True, slots=True)
class Root:
    """One version: its root node and what the node's system rows say."""

    version: int
    node: NodeFile
    info: RootInfo


class VersionFinder:
    """Finds versions of one lakehouse; safe to use from several threads.

    Args:
        storage: where the tree is.
        clock: tells how long ago the latest version was known to be the latest.
    """

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock
        self._lock = threading.Lock()
        self._latest: Root | None = None
        self._latest_at: int | None = None
        self._floor = 0
        self._cache: OrderedDict[int, tuple[Root, int]] = OrderedDict()
        self._cached_bytes = 0

    @property
    def known(self) -> Root | None:
        """The newest version that this process has seen; no storage call."""
        return self._latest

    @property
    def known_floor(self) -> int:
        """The floor as it was last read; it never falls. No storage call."""
        return self._floor

    @property
    def is_fresh(self) -> bool:
        """Whether the newest version seen was the newest of all a moment ago. No storage call."""
        with self._lock:
            known_at = self._latest_at
        return known_at is not None and 0 <= self._clock.now_millis() - known_at < FRESH_MILLIS

    def learn(self, root: Root, stored_bytes: int) -> None:
        """Remember a root that was just read or created.

        Args:
            root: the root.
            stored_bytes: size of its file.
        """
        with self._lock:
            if self._latest is None or root.version > self._latest.version:
                self._latest = root
            self._keep(root, stored_bytes)

    def latest(self) -> Root:
        """Return the latest version: one read if nothing was committed since the last call.

        Raises:
            NotFoundError: kind ``LAKEHOUSE_NOT_FOUND``: there is no root at all.
            CorruptError: a root breaks the rules of format.md §3.
            StorageError: the storage failed; nothing is known then.
        """
        while True:
            with self._lock:
                start, known_at = self._latest, self._latest_at
            now = self._clock.now_millis()
            if start is None:
                found, known_at = self._first(), None
            else:
                found = self._probe(start)
            trusted = known_at is not None and 0 <= now - known_at < TRUST_MILLIS
            floor = self._floor if trusted else self.floor()
            with self._lock:
                if floor <= found.version:
                    if self._latest is not None and self._latest.version >= found.version:
                        self._latest_at = now
                    return found
                self._latest = self._latest_at = None

    def root(self, version: int) -> Root:
        """Return the root of a version by its number, from the cache if it is there.

        Raises:
            NotFoundError: kind ``OBJECT_NOT_FOUND``: there is no such root (any more).
        """
        with self._lock:
            entry = self._cache.get(version)
            if entry is not None:
                self._cache.move_to_end(version)
                return entry[0]
        return self._read(version)

    def up_to(self, version: int) -> Root:
        """Return the root of a version that is known to exist, and remember all on the way to it.

        They are read side by side, without probing.

        Raises:
            NotFoundError: kind ``OBJECT_NOT_FOUND``: one of them is gone.
        """
        known = self._latest
        first = version if known is None else min(known.version + 1, version)
        return self.roots(range(first, version + 1), keep=True)[-1]

    def roots(self, versions: Iterable[int], *, keep: bool = False) -> list[Root]:
        """Return several roots, in order; what is not cached is read in parallel.

        Args:
            versions: their numbers.
            keep: remember what was read.

        Raises:
            NotFoundError: kind ``OBJECT_NOT_FOUND``: one of them is gone.
        """
        wanted = list(versions)
        with self._lock:
            found = {v: self._cache[v][0] for v in wanted if v in self._cache}
        missing = [version for version in wanted if version not in found]
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            files = self._storage.read_all([root_path(version) for version in batch])
            for version, data in zip(batch, files, strict=True):
                found[version] = _decode(version, data)
                if keep:
                    self.learn(found[version], len(data))
        return [found[version] for version in wanted]

    def floor(self) -> int:
        """Read the oldest version that expiration has left without gaps (format.md §8.5).

        The floor never falls; one that was read earlier is the least it can be.
        """
        floor = self._number(FLOOR_PATH)
        with self._lock:
            self._floor = max(self._floor, floor)
            return self._floor

    def _first(self) -> Root:
        """Find the latest version from nothing: hint, floor, or the greatest of a listing."""
        start = max(
            self._storage.both(lambda: self._number(HINT_PATH), self.floor),
        )
        found, following = self._storage.both(
            lambda: self._try(start), lambda: self._try(start + 1)
        )
        if following is not None:
            return self._probe(following)
        if found is not None:
            return found
        while True:
            versions = [parse_root_path(path) for path in self._storage.list("_")]
            greatest = max((v for v in versions if v is not None), default=None)
            if greatest is None:
                raise NotFoundError(
                    f"There is no lakehouse at {self._storage.url}: no root node was found. "
                    "Check the URL, or create a lakehouse there first.",
                    kind=Kind.LAKEHOUSE_NOT_FOUND,
                    url=self._storage.url,
                )
            found = self._try(greatest)
            if found is not None:
                return self._probe(found)

    def _probe(self, start: Root) -> Root:
        """Walk up from a version that exists to the last one before the first gap."""
        found = start
        for _ in range(_STEPS_BEFORE_HINT):
            following = self._try(found.version + 1)
            if following is None:
                return found
            found = following
        hint = self._number(HINT_PATH)
        if hint > found.version:
            found = self._try(hint) or found
        following = self._try(found.version + 1)
        if following is None:
            return found
        return self._gallop(following)

    def _gallop(self, found: Root) -> Root:
        """Double the step until a root is missing, then halve the last interval."""
        low, step = found.version, 1
        high = min(low + step, MAX_VERSION + 1)
        while self._exists(high):
            low, step = high, step * 2
            high = min(low + step, MAX_VERSION + 1)
        while high - low > 1:
            middle = (low + high) // 2
            if self._exists(middle):
                low = middle
            else:
                high = middle
        return found if low == found.version else (self._try(low) or found)

    def _exists(self, version: int) -> bool:
        return version <= MAX_VERSION and self._storage.exists(root_path(version))

    def _try(self, version: int) -> Root | None:
        if version > MAX_VERSION:
            return None
        try:
            return self._read(version)
        except NotFoundError:
            return None

    def _read(self, version: int) -> Root:
        data = self._storage.read(root_path(version))
        root = _decode(version, data)
        self.learn(root, len(data))
        return root

    def _number(self, path: str) -> int:
        try:
            return parse_version(self._storage.read(path)) or 0
        except NotFoundError:
            return 0

    def _keep(self, root: Root, stored_bytes: int) -> None:
        if root.version in self._cache:
            return
        size = stored_bytes * _DECODED_PER_STORED_BYTE
        self._cache[root.version] = (root, size)
        self._cached_bytes += size
        while self._cached_bytes > _CACHE_BYTES and len(self._cache) > 1:
            _, (_, freed) = self._cache.popitem(last=False)
            self._cached_bytes -= freed


def _decode(version: int, data: bytes) -> Root:
    path = root_path(version)
    node = decode_node(data, path)
    return Root(version, node, parse_root_info(node.system, path, version))
