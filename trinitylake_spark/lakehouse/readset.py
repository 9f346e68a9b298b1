"""What a transaction depends on: keys and ranges it read, facts that must hold (format.md §6.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from trinitylake_spark.format.definitions_pb2 import ActionType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_MAX_KEYS = 1000
_MAX_RANGES = 200
_TYPE_ID_SIZE = 4


class KeyRange(NamedTuple):
    """Keys from ``low`` up to, but not including, ``high``."""

    low: str
    high: str

    def __contains__(self, key: object) -> bool:
        """Tell whether a key lies inside."""
        return isinstance(key, str) and self.low <= key < self.high


@dataclass(slots=True)
class ReadSet:
    """Keys looked up, found or not, and ranges scanned.

    A transaction that looks up very many keys keeps one range for each type of object instead:
    that covers more than it read, so it can only find more conflicts, never fewer.
    """

    keys: dict[str, ActionType] = field(default_factory=dict)
    ranges: dict[KeyRange, ActionType] = field(default_factory=dict)
    data: set[str] = field(default_factory=set)
    """Keys of the tables whose data was read."""

    def add_key(self, key: str, action: ActionType) -> None:
        """Take down a lookup; reading a table's data says more than finding its name."""
        if self.keys.get(key) == ActionType.TABLE_SELECT:
            return
        self.keys[key] = action
        if action == ActionType.TABLE_SELECT:
            self.data.add(key)
        if len(self.keys) > _MAX_KEYS:
            self._coarsen()

    def add_range(self, low: str, high: str, action: ActionType) -> None:
        """Take down a scan."""
        self.ranges[KeyRange(low, high)] = action
        if len(self.ranges) > _MAX_RANGES:
            self._coarsen()

    def touched_by(self, keys: Iterable[str]) -> Iterator[str]:
        """Yield those of ``keys`` that were read."""
        for key in keys:
            if key in self.keys or any(key in each for each in self.ranges):
                yield key

    def copy(self) -> ReadSet:
        """Return a copy that can grow on its own."""
        return ReadSet(dict(self.keys), dict(self.ranges), set(self.data))

    def _coarsen(self) -> None:
        """Keep one range for each type of object."""
        spans: dict[str, tuple[str, str]] = {}
        lows_highs = [(key, key + "\0") for key in self.keys]
        for low, high in [*lows_highs, *self.ranges]:
            kind = low[:_TYPE_ID_SIZE]
            first, last = spans.get(kind, (low, high))
            spans[kind] = min(first, low), max(last, high)
        selected = any(action == ActionType.TABLE_SELECT for action in self.keys.values())
        action = ActionType.TABLE_SELECT if selected else ActionType.NAMESPACE_SHOW_TABLES
        self.keys.clear()
        self.ranges = {KeyRange(*span): action for span in spans.values()}


@dataclass(slots=True)
class Constraints:
    """Facts that must hold at whatever version a transaction commits on, at both levels.

    Values say why, for the message.
    """

    present: dict[str, str] = field(default_factory=dict)
    """Keys that must not be deleted."""
    absent: dict[str, str] = field(default_factory=dict)
    """Keys that must not come into being."""
    empty: dict[KeyRange, str] = field(default_factory=dict)
    """Ranges in which nothing may come into being."""

    def broken_by(self, messages: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
        """Yield (key, why) of each message that breaks a fact."""
        for key, value in messages.items():
            if value is None:
                if key in self.present:
                    yield key, self.present[key]
                continue
            if key in self.absent:
                yield key, self.absent[key]
            for keys, why in self.empty.items():
                if key in keys:
                    yield key, why

    def copy(self) -> Constraints:
        """Return a copy that can grow on its own."""
        return Constraints(dict(self.present), dict(self.absent), dict(self.empty))
