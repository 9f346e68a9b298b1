"""Reading a table's log files through the warehouse: entries, sealed history, checkpoint notes.

Everything read here is immutable once stored, so it is kept in memory, least recently used out
first, and read at most once while it is kept.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Generic, TypeVar

from trinitylake_spark.delta.entry import Entry, parse_entry
from trinitylake_spark.delta.names import LOG_FOLDER, history_name, stored_name
from trinitylake_spark.delta.segment import Commit
from trinitylake_spark.errors import CorruptError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trinitylake_spark.delta.segment import Segment
    from trinitylake_spark.ids import Ids
    from trinitylake_spark.lakehouse.formats import FormatContext

_T = TypeVar("_T")

SEAL_ABOVE = 32
"""A definition holds at most about this many commits once a checkpoint covers them …"""
SEAL_ALWAYS_ABOVE = 128
"""… and this many if none does; then all but ``SEAL_ABOVE`` are sealed."""


class Memory(Generic[_T]):
    """A thread-safe map that forgets what was not used for longest, by weight.

    Args:
        capacity: total weight to keep.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._weight = 0
        self._items: OrderedDict[str, tuple[_T, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> _T | None:
        """Return what is kept under ``key``, or None."""
        with self._lock:
            item = self._items.get(key)
            if item is None:
                return None
            self._items.move_to_end(key)
            return item[0]

    def put(self, key: str, value: _T, weight: int = 1) -> None:
        """Keep a value; a value heavier than everything is not kept."""
        with self._lock:
            old = self._items.pop(key, None)
            self._weight -= old[1] if old else 0
            if weight > self._capacity:
                return
            self._items[key] = (value, weight)
            self._weight += weight
            while self._weight > self._capacity:
                _, (_, gone) = self._items.popitem(last=False)
                self._weight -= gone


class HistoryPart:
    """A sealed run of commits, and the parts before it.

    Args:
        commits: oldest first.
        older: (path, first number, last number) of each older part, oldest first.
    """

    def __init__(self, commits: Sequence[Commit], older: Sequence[tuple[str, int, int]]) -> None:
        self.commits = tuple(commits)
        self.older = tuple(older)

    def encode(self) -> bytes:
        """Return the part as stored."""
        content = {"older": self.older, "commits": [list(commit) for commit in self.commits]}
        return json.dumps(content, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, data: bytes, path: str) -> HistoryPart:
        """Read what ``encode`` wrote.

        Raises:
            CorruptError: it is anything else.
        """
        try:
            content = json.loads(data)
            commits = [Commit(*row) for row in content["commits"]]
            older = [(str(p), int(a), int(b)) for p, a, b in content["older"]]
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptError(
                f"{path} is corrupt: it should be a sealed part of a Delta history.",
                path=path,
                rule="sealed history",
                found=str(error),
            ) from error
        return cls(commits, older)


class LogFiles:
    """Log files of all tables, read once.

    Args:
        capacity: bytes of log entries to keep in memory.
    """

    def __init__(self, capacity: int = 32 * 1024 * 1024) -> None:
        self._entries: Memory[Entry] = Memory(capacity)
        self._history: Memory[HistoryPart] = Memory(1024)

    def path(self, context: FormatContext, location: str, name: str) -> str:
        """Return the path inside the warehouse of a stored log file."""
        return f"{context.warehouse_path(location)}/{LOG_FOLDER}/{name}"

    def remember(self, context: FormatContext, path: str, entry: Entry, size: int) -> None:
        """Keep an entry that this process wrote."""
        self._entries.put(context.warehouse_url + path, entry, size)

    def entry(self, context: FormatContext, location: str, commit: Commit) -> Entry:
        """Return the content of one commit.

        Raises:
            NotFoundError: the file is gone.
            CorruptError: it is no log entry.
        """
        path = self.path(context, location, stored_name(commit.version, commit.unique))
        return self._read(context, path, self._entries, parse_entry, commit.size)

    def entries(
        self, context: FormatContext, location: str, commits: Sequence[Commit]
    ) -> list[Entry]:
        """Return the content of several commits; what is not in memory is read in parallel."""
        paths = [self.path(context, location, stored_name(c.version, c.unique)) for c in commits]
        found = {path: self._entries.get(context.warehouse_url + path) for path in paths}
        missing = [path for path, entry in found.items() if entry is None]
        read = dict(zip(missing, context.warehouse.read_all(missing), strict=True))
        for path, data in read.items():
            parsed = parse_entry(data, path)
            found[path] = parsed
            self.remember(context, path, parsed, len(data))
        return [entry for path in paths if (entry := found[path]) is not None]

    def commits_from(
        self, context: FormatContext, segment: Segment, version: int
    ) -> tuple[Commit, ...]:
        """Return the commits of a log from ``version`` on, reading sealed parts if it must."""
        if version >= segment.first or segment.history is None:
            return segment.after(version - 1)
        head = self.history(context, segment.location, segment.history)
        needed = [path for path, _, last in head.older if last >= version]
        parts = [*(self.history(context, segment.location, path) for path in needed), head]
        sealed = [c for part in parts for c in part.commits if c.version >= version]
        return (*sealed, *segment.commits)

    def history(self, context: FormatContext, location: str, name: str) -> HistoryPart:
        """Return a sealed part of a history.

        Raises:
            NotFoundError: the file is gone.
            CorruptError: it is something else.
        """
        path = self.path(context, location, name)
        return self._read(context, path, self._history, HistoryPart.decode, 1)

    def seal(
        self, context: FormatContext, segment: Segment, ids: Ids
    ) -> tuple[Segment, dict[str, bytes]]:
        """Move old commits of a log into the sealed history, if there are many.

        Parts are merged like the digits of a binary counter: each is larger than the ones after
        it, so N commits are in O(log N) parts and each commit is rewritten O(log N) times.

        Returns:
            The segment to store, and the files to write before it.
        """
        keep_from = _keep_from(segment)
        if keep_from <= segment.first:
            return segment, {}
        sealed = [c for c in segment.commits if c.version < keep_from]
        older: list[tuple[str, int, int]] = []
        if segment.history is not None:
            head = self.history(context, segment.location, segment.history)
            head_entry = (segment.history, head.commits[0].version, head.commits[-1].version)
            older = [*head.older, head_entry]
        while older and older[-1][2] - older[-1][1] < len(sealed):
            path, _, _ = older.pop()
            sealed = [*self.history(context, segment.location, path).commits, *sealed]
        part = HistoryPart(sealed, older)
        name = history_name(ids.uuid4())
        path = self.path(context, segment.location, name)
        self._history.put(context.warehouse_url + path, part)
        shorter = type(segment)(
            segment.location,
            segment.table_id,
            segment.after(keep_from - 1),
            segment.checkpoint,
            name,
        )
        return shorter, {path: part.encode()}

    def _read(
        self,
        context: FormatContext,
        path: str,
        memory: Memory[_T],
        decode: Callable[[bytes, str], _T],
        weight: int,
    ) -> _T:
        key = context.warehouse_url + path
        found = memory.get(key)
        if found is None:
            found = decode(context.warehouse.read(path), path)
            memory.put(key, found, weight)
        return found


def _keep_from(segment: Segment) -> int:
    """Return the lowest number that stays in the definition.

    The checkpoint's own commit stays: Delta wants to see at least one commit with a checkpoint.
    """
    if len(segment.commits) > SEAL_ALWAYS_ABOVE:
        return segment.version - SEAL_ABOVE + 1
    if len(segment.commits) > SEAL_ABOVE and segment.checkpoint is not None:
        return segment.checkpoint.version
    return segment.first
