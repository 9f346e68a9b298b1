"""What a transaction depends on: keys and ranges it read, facts that must hold (format.md §6.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from trinitylake_spark.format.definitions_pb2 import ActionType
from trinitylake_spark.lakehouse.actions import aspect_read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
        """Take down a lookup; of several at one key the strongest says it all."""
        self.keys[key] = _stronger(self.keys.get(key), action)
        if action == ActionType.TABLE_SELECT:
            self.data.add(key)
        if len(self.keys) > _MAX_KEYS:
            self._coarsen()

    def add_range(self, low: str, high: str, action: ActionType) -> None:
        """Take down a scan; of several of one range the strongest says it all."""
        scanned = KeyRange(low, high)
        self.ranges[scanned] = _stronger(self.ranges.get(scanned), action)
        if len(self.ranges) > _MAX_RANGES:
            self._coarsen()

    def read_of(self, key: str) -> ActionType | None:
        """Return the strongest read that a key was part of, or None if it was not read."""
        found = self.keys.get(key)
        for scanned, action in self.ranges.items():
            if key in scanned:
                found = _stronger(found, action)
        return found

    def copy(self) -> ReadSet:
        """Return a copy that can grow on its own."""
        return ReadSet(dict(self.keys), dict(self.ranges), set(self.data))

    def _coarsen(self) -> None:
        """Keep one range for each type of object, with the strongest read in it."""
        spans: dict[str, tuple[str, str, ActionType]] = {}
        points = {KeyRange(key, key + "\0"): action for key, action in self.keys.items()}
        for (low, high), action in [*points.items(), *self.ranges.items()]:
            kind = low[:_TYPE_ID_SIZE]
            first, last, before = spans.get(kind, (low, high, action))
            spans[kind] = min(first, low), max(last, high), _stronger(before, action)
        self.keys.clear()
        self.ranges = {KeyRange(low, high): action for low, high, action in spans.values()}


def _stronger(known: ActionType | None, action: ActionType) -> ActionType:
    """Return which of two reads depends on more; the first one if they are as strong."""
    if known is None or aspect_read(action) > aspect_read(known):
        return action
    return known


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
