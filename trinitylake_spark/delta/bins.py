"""The bins of a compaction: which of its new files were made of which old ones.

Nothing in the log names them, but Delta writes a compaction bin by bin: the new files of one, the
files that it replaced, then the next bin. So wherever an addition comes after a removal, a bin
begins. That is how the writers in ``_BIN_BY_BIN`` work, not a promise of the format: entries of all
others, and entries in which the numbers of rows do not agree, are taken partition by partition, as
no compaction mixes partitions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trinitylake_spark.delta.entry import file_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.delta.entry import Action, Entry

Files = dict[str, "Action"]
"""File actions by the key of the file."""

_BIN_BY_BIN = frozenset({"Delta-Lake/4.4.0"})
"""Writers whose order is known, as ``engineInfo`` ends."""


@dataclass(slots=True)
class Bin:
    """Files that belong together, at least: the bin holds the same rows before and after.

    Args:
        removed: files that were replaced.
        added: files that hold their rows now.
    """

    removed: Files = field(default_factory=dict)
    added: Files = field(default_factory=dict)

    def keys(self) -> set[str]:
        """Return the keys of all its files."""
        return self.removed.keys() | self.added.keys()


def bins(entry: Entry, partition: Callable[[Action], str]) -> list[Bin]:
    """Return the smallest groups of files of a compaction that are known to belong together.

    Args:
        entry: the entry of a compaction or clustering.
        partition: tells a file's partition.
    """
    writer = str(entry.commit_info.get("engineInfo", "")).rpartition(" ")[2]
    if writer in _BIN_BY_BIN:
        found = _in_order(entry)
        if all(_holds_together(one, partition) for one in found):
            return found
    return _by_partition(entry, partition)


def _in_order(entry: Entry) -> list[Bin]:
    found: list[Bin] = []
    last = "remove"
    for kind, action in entry.actions:
        if kind not in ("add", "remove"):
            continue
        if not found or (kind, last) == ("add", "remove"):
            found.append(Bin())
        files = found[-1].added if kind == "add" else found[-1].removed
        files[file_key(action)] = action
        last = kind
    return found


def _holds_together(one: Bin, partition: Callable[[Action], str]) -> bool:
    """Tell whether a bin lies in one partition and has as many rows as before."""
    files = [*one.removed.values(), *one.added.values()]
    before = [_rows(action) for action in one.removed.values()]
    after = [_rows(action) for action in one.added.values()]
    if None in before or None in after:
        return False
    return len(set(map(partition, files))) == 1 and sum(before) == sum(after)  # type: ignore[arg-type]


def _rows(action: Action) -> int | None:
    """Return how many rows of a file count; None if it does not say."""
    records = json.loads(action.get("stats") or "{}").get("numRecords")
    deleted = (action.get("deletionVector") or {}).get("cardinality", 0)
    return None if records is None else int(records) - int(deleted)


def _by_partition(entry: Entry, partition: Callable[[Action], str]) -> list[Bin]:
    found: dict[str, Bin] = {}
    for action in entry.removes:
        found.setdefault(partition(action), Bin()).removed[file_key(action)] = action
    for action in entry.adds:
        found.setdefault(partition(action), Bin()).added[file_key(action)] = action
    return list(found.values())
