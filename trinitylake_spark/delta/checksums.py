"""Checksums of commits that no writer could write: those that were moved to another number.

Delta writes the state's sums beside each commit (``N.crc``), and the next writer starts from them;
without them it reconstructs the whole state with a Spark job. The writer of a commit that was
rebased wrote them for the chain that it saw, so the chain that was committed has none. Here they
are derived, the way Delta derives them, from the newest older ones and the commits in between.
Whatever is not plain is not derived: Delta then computes it from the state.
"""

from __future__ import annotations

import contextlib
import json
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final

from trinitylake_spark.delta.entry import file_key
from trinitylake_spark.delta.names import checksum_name
from trinitylake_spark.errors import AlreadyExistsError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trinitylake_spark.delta.entry import Action, Entry
    from trinitylake_spark.delta.log import LogFiles
    from trinitylake_spark.delta.segment import Commit, Segment
    from trinitylake_spark.lakehouse.formats import FormatContext

Checksum = dict[str, Any]
"""The sums of one table state, by Delta's field names."""

_SEARCHED: Final = 32
"""How many commits back an older checksum is looked for."""
_ALL_FILES_UP_TO: Final = 50
"""Delta lists the files of a state in its checksum up to this many of them."""
_TRANSACTIONS_UP_TO: Final = 100
_DOMAINS_UP_TO: Final = 10
_DELETED_BINS: Final = (0, 1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 2**31 - 1)
"""Lower bounds of Delta's histogram of deleted records."""

_KNOWN_FIELDS: Final = frozenset(
    {
        "txnId",
        "tableSizeBytes",
        "numFiles",
        "numDeletedRecordsOpt",
        "numDeletionVectorsOpt",
        "numMetadata",
        "numProtocol",
        "inCommitTimestampOpt",
        "setTransactions",
        "domainMetadata",
        "metadata",
        "protocol",
        "fileSizeHistogram",
        "deletedRecordCountsHistogramOpt",
        "allFiles",
    }
)

_IN_PLACE: Final = frozenset(
    {
        "",
        "Manual Update",
        "COMPUTE STATS",
        "ROW TRACKING BACKFILL",
        "ROW TRACKING UNBACKFILL",
        "DROP FEATURE",
        "Deletion Vector Tombstones",
    }
)
"""Operations whose additions or removals do not count as such."""

_TRANSACTION_RETENTION: Final = "delta.setTransactionRetentionDuration"


class Checksums:
    """Derives missing checksums and stores them where Delta looks.

    Args:
        logs: reads the commits.
    """

    def __init__(self, logs: LogFiles) -> None:
        self._logs = logs

    def derive(self, context: FormatContext, segment: Segment, commit: Commit) -> bool:
        """Store the checksum of a commit, unless it is there.

        Args:
            context: storage and services.
            segment: the chain that the commit is in.
            commit: the commit whose state the checksum is of.

        Returns:
            whether it is there now; False where it cannot be derived cheaply and surely.
        """
        between: list[Commit] = []
        candidate: Commit | None = commit
        while candidate is not None and len(between) <= _SEARCHED:
            found = self._read(context, segment.location, candidate)
            if found is not None:
                return not between or self._store(context, segment, found, between)
            between.insert(0, candidate)
            candidate = segment.commit(candidate.version - 1)
        return False

    def _read(self, context: FormatContext, location: str, commit: Commit) -> Checksum | None:
        name = checksum_name(commit.version, commit.unique)
        try:
            data = context.warehouse.read(self._logs.path(context, location, name))
            found = json.loads(data)
        except (NotFoundError, ValueError):
            return None
        return found if isinstance(found, dict) else None

    def _store(
        self, context: FormatContext, segment: Segment, start: Checksum, commits: Sequence[Commit]
    ) -> bool:
        state = start
        for entry in self._logs.entries(context, segment.location, commits):
            after = following(state, entry)
            if after is None:
                return False
            state = after
        last = commits[-1]
        name = checksum_name(last.version, last.unique)
        data = json.dumps(state, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        with contextlib.suppress(AlreadyExistsError):  # somebody derived the same
            context.warehouse.create(self._logs.path(context, segment.location, name), data)
        return True


def following(old: Checksum, entry: Entry) -> Checksum | None:
    """Return the checksum of a state and one more commit.

    Args:
        old: the checksum of the state before.
        entry: the commit.

    Returns:
        the new checksum; None if it can only be had from the state itself.
    """
    metadata = entry.metadata or old.get("metadata")
    protocol = entry.protocol or old.get("protocol")
    info = entry.commit_info
    if (
        not old.keys() <= _KNOWN_FIELDS
        or not metadata
        or not protocol
        or entry.operation in _IN_PLACE
        or "lastManifestCommit" in info
        or any(not _is_plain(action) for action in (*entry.adds, *entry.removes))
        or any(not remove.get("extendedFileMetadata") for remove in entry.removes)
    ):
        return None
    new: Checksum = {
        "txnId": info.get("txnId"),
        "tableSizeBytes": old["tableSizeBytes"] + _sum(entry, "size"),
        "numFiles": old["numFiles"] + len(entry.adds) - len(entry.removes),
        "numMetadata": 1,
        "numProtocol": 1,
        "inCommitTimestampOpt": entry.in_commit_timestamp,
        "setTransactions": _transactions(old, entry, metadata),
        "domainMetadata": _domains(old, entry),
        "metadata": metadata,
        "protocol": protocol,
        "fileSizeHistogram": _sizes(old, entry),
        **_deletions(old, entry),
    }
    files = _all_files(old, entry, new["numFiles"])
    if files is not None:
        if (len(files), sum(file["size"] for file in files)) != (
            new["numFiles"],
            new["tableSizeBytes"],
        ):
            return None
        new["allFiles"] = files
    return {field: value for field, value in new.items() if value is not None}


def _is_plain(action: Action) -> bool:
    """Tell whether a file is named relative to the table, as Delta's sums name files."""
    path = str(action["path"])
    return ":" not in path and not path.startswith("/") and isinstance(action.get("size"), int)


def _vector(action: Action) -> Action:
    return action.get("deletionVector") or {}


def _sum(entry: Entry, field: str) -> int:
    added = sum(int(action[field]) for action in entry.adds)
    return added - sum(int(action[field]) for action in entry.removes)


def _deletions(old: Checksum, entry: Entry) -> Checksum:
    """Return the sums over deletion vectors: those that the state before has."""
    new: Checksum = {}
    signed = [(add, 1) for add in entry.adds] + [(remove, -1) for remove in entry.removes]
    if (records := old.get("numDeletedRecordsOpt")) is not None:
        deleted = sum(sign * _vector(action).get("cardinality", 0) for action, sign in signed)
        new["numDeletedRecordsOpt"] = records + deleted
    if (vectors := old.get("numDeletionVectorsOpt")) is not None:
        new["numDeletionVectorsOpt"] = vectors + sum(
            sign for action, sign in signed if _vector(action)
        )
    if (histogram := old.get("deletedRecordCountsHistogramOpt")) is not None:
        counts = list(histogram["deletedRecordCounts"])
        for action, sign in signed:
            counts[bisect_right(_DELETED_BINS, _vector(action).get("cardinality", 0)) - 1] += sign
        new["deletedRecordCountsHistogramOpt"] = {**histogram, "deletedRecordCounts": counts}
    return new


def _sizes(old: Checksum, entry: Entry) -> Checksum | None:
    histogram = old.get("fileSizeHistogram")
    if histogram is None:
        return None
    bounds = histogram["sortedBinBoundaries"]
    counts, totals = list(histogram["fileCounts"]), list(histogram["totalBytes"])
    for actions, sign in ((entry.adds, 1), (entry.removes, -1)):
        for action in actions:
            index = bisect_right(bounds, action["size"]) - 1
            counts[index] += sign
            totals[index] += sign * action["size"]
    return {**histogram, "fileCounts": counts, "totalBytes": totals}


def _transactions(old: Checksum, entry: Entry, metadata: Action) -> list[Action] | None:
    known = old.get("setTransactions")
    configured = {**old["metadata"].get("configuration", {}), **metadata.get("configuration", {})}
    if known is None or _TRANSACTION_RETENTION in configured:
        return None
    newest = {each["appId"]: each for each in (*known, *entry.of("txn"))}
    return list(newest.values()) if len(newest) <= _TRANSACTIONS_UP_TO else None


def _domains(old: Checksum, entry: Entry) -> list[Action] | None:
    known = old.get("domainMetadata")
    if known is None:
        return None
    newest = {each["domain"]: each for each in (*known, *entry.of("domainMetadata"))}
    kept = [each for each in newest.values() if not each.get("removed")]
    return kept if len(kept) <= _DOMAINS_UP_TO else None


def _all_files(old: Checksum, entry: Entry, files_after: int) -> list[Action] | None:
    known = old.get("allFiles")
    if known is None or max(files_after, old["numFiles"]) > _ALL_FILES_UP_TO:
        return [] if files_after == 0 else None
    active = {file_key(file): file for file in known}
    for remove in entry.removes:
        active.pop(file_key(remove), None)
    for add in entry.adds:
        active[file_key(add)] = {**add, "dataChange": False}
    return list(active.values())
