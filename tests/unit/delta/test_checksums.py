"""Checksums of commits that were moved: exactly the sums of the state, or none."""

from __future__ import annotations

import json
from bisect import bisect_right
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.delta_tables import add, remove
from trinitylake_spark.clock import ManualClock
from trinitylake_spark.delta.checksums import Checksum, Checksums, following
from trinitylake_spark.delta.entry import Entry, encode_entry, file_key
from trinitylake_spark.delta.log import LogFiles
from trinitylake_spark.delta.names import checksum_name, stored_name
from trinitylake_spark.delta.segment import Commit, Segment
from trinitylake_spark.ids import SeededIds
from trinitylake_spark.lakehouse.formats import FormatContext
from trinitylake_spark.storage.memory import MemoryStorage

METADATA = {"id": "m", "configuration": {}, "schemaString": "{}", "partitionColumns": []}
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7}
BOUNDS = [0, 150, 1000, 10**12]


def commit_info(operation: str = "WRITE", **facts: Any) -> tuple[str, dict[str, Any]]:
    """Return what every commit says about itself."""
    return "commitInfo", {"operation": operation, "txnId": "t", **facts}


def empty() -> Checksum:
    """Return the sums of an empty table with all that Delta sums up."""
    return {
        "tableSizeBytes": 0,
        "numFiles": 0,
        "numDeletedRecordsOpt": 0,
        "numDeletionVectorsOpt": 0,
        "numMetadata": 1,
        "numProtocol": 1,
        "setTransactions": [],
        "domainMetadata": [],
        "metadata": METADATA,
        "protocol": PROTOCOL,
        "fileSizeHistogram": {
            "sortedBinBoundaries": BOUNDS,
            "fileCounts": [0] * len(BOUNDS),
            "totalBytes": [0] * len(BOUNDS),
        },
        "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [0] * 10},
        "allFiles": [],
    }


def sums(files: list[dict[str, Any]]) -> dict[str, Any]:
    """Sum up a list of files afresh: what a checksum has to say about them."""
    vectors = [file["deletionVector"] for file in files if "deletionVector" in file]
    counts, totals, deleted = [0] * len(BOUNDS), [0] * len(BOUNDS), [0] * 10
    limits = [0, 1, 10, 100, 1000, 10**4, 10**5, 10**6, 10**7, 2**31 - 1]
    for file in files:
        place = max(i for i, bound in enumerate(BOUNDS) if bound <= file["size"])
        counts[place] += 1
        totals[place] += file["size"]
        gone = file.get("deletionVector", {}).get("cardinality", 0)
        deleted[bisect_right(limits, gone) - 1] += 1
    return {
        "tableSizeBytes": sum(file["size"] for file in files),
        "numFiles": len(files),
        "numDeletedRecordsOpt": sum(vector["cardinality"] for vector in vectors),
        "numDeletionVectorsOpt": len(vectors),
        "fileCounts": counts,
        "totalBytes": totals,
        "deletedRecordCounts": deleted,
        "allFiles": sorted(map(file_key, files)),
    }


def told(checksum: Checksum) -> dict[str, Any]:
    """Return what a checksum says about files, in the form of ``sums``."""
    histogram = checksum["fileSizeHistogram"]
    deleted = checksum["deletedRecordCountsHistogramOpt"]["deletedRecordCounts"]
    assert all(file["dataChange"] is False for file in checksum["allFiles"])
    return {
        **{key: checksum[key] for key in list(sums([]))[:4]},
        "fileCounts": histogram["fileCounts"],
        "totalBytes": histogram["totalBytes"],
        "deletedRecordCounts": deleted,
        "allFiles": sorted(map(file_key, checksum["allFiles"])),
    }


def _vector(number: int, cardinality: int) -> dict[str, Any]:
    return {"storageType": "u", "pathOrInlineDv": f"dv{number}", "cardinality": cardinality}


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Entry], list[dict[str, Any]]]:
    """Commits that add files, remove some and give some a deletion vector; the files at the end."""
    active: dict[str, dict[str, Any]] = {}
    entries, number = [], 0
    for _ in range(draw(st.integers(1, 6))):
        actions = [commit_info()]
        for key in draw(st.lists(st.sampled_from(sorted(active)), unique=True)) if active else []:
            old = active.pop(key)
            same = {k: old[k] for k in ("size", "deletionVector") if k in old}
            actions.append(remove(old["path"], **same))
            if draw(st.booleans()):
                number += 1
                vector = _vector(number, draw(st.integers(0, 2000)))
                action = add(old["path"], size=old["size"], deletionVector=vector)
                active[file_key(action[1])] = action[1]
                actions.append(action)
        for _ in range(draw(st.integers(0, 4))):
            number += 1
            action = add(f"f{number}", size=draw(st.integers(0, 2000)))
            active[file_key(action[1])] = action[1]
            actions.append(action)
        entries.append(Entry(tuple(actions)))
    return entries, list(active.values())


@given(histories())
def test_a_derived_checksum_is_the_sum_of_the_state(
    history: tuple[list[Entry], list[dict[str, Any]]],
) -> None:
    """After any additions, removals and deletion vectors the sums are those of the files left."""
    entries, files = history
    state: Checksum | None = empty()
    for entry in entries:
        assert state is not None
        state = following(state, entry)
    assert state is not None

    assert told(state) == sums(files)


def test_transactions_and_domains_are_replayed() -> None:
    """The newest transaction of an application counts, and a removed domain is gone."""
    first = following(
        empty(),
        Entry(
            (
                commit_info(),
                ("txn", {"appId": "a", "version": 1}),
                ("domainMetadata", {"domain": "d", "configuration": "1", "removed": False}),
                ("domainMetadata", {"domain": "e", "configuration": "2", "removed": False}),
            )
        ),
    )
    assert first is not None
    gone = ("domainMetadata", {"domain": "d", "configuration": "", "removed": True})
    second = following(
        first,
        Entry((commit_info(inCommitTimestamp=7), ("txn", {"appId": "a", "version": 2}), gone)),
    )

    assert second is not None
    assert second["setTransactions"] == [{"appId": "a", "version": 2}]
    assert [each["domain"] for each in second["domainMetadata"]] == ["e"]
    assert second["inCommitTimestampOpt"] == 7
    assert "inCommitTimestampOpt" not in first


def test_new_metadata_replace_the_old() -> None:
    """A commit that changes the schema or the protocol is in the sums."""
    metadata, protocol = {**METADATA, "name": "new"}, {"minReaderVersion": 1}
    found = following(
        empty(), Entry((commit_info(), ("metaData", metadata), ("protocol", protocol)))
    )

    assert found is not None
    assert (found["metadata"], found["protocol"]) == (metadata, protocol)


def test_a_long_list_of_files_is_left_out() -> None:
    """Above Delta's threshold the files are not listed, and none that are only some of them."""
    many = Entry((commit_info(), *(add(f"f{i}") for i in range(51))))
    found = following(empty(), many)
    assert found is not None
    assert "allFiles" not in found
    fewer = following(found, Entry((commit_info(), *(remove(f"f{i}") for i in range(40)))))
    assert fewer is not None
    assert fewer["numFiles"] == 11
    assert "allFiles" not in fewer


@pytest.mark.parametrize(
    ("old", "actions"),
    [
        ({}, [commit_info("COMPUTE STATS"), add("f0")]),
        ({}, [commit_info("Manual Update"), add("f0")]),
        ({}, [add("f0")]),
        ({}, [commit_info(), remove("f0", extendedFileMetadata=False)]),
        ({}, [commit_info(), add("s3://elsewhere/f0")]),
        ({}, [commit_info(lastManifestCommit={"version": 1}), add("f0")]),
        ({"somethingNew": 1}, [commit_info(), add("f0")]),
        ({}, [commit_info(), add("f0"), add("f0")]),
        ({}, [commit_info(), remove("never-there")]),
    ],
    ids=[
        "stats",
        "manual",
        "no operation",
        "size unknown",
        "elsewhere",
        "manifest",
        "unknown sum",
        "added twice",
        "removed but not there",
    ],
)
def test_what_is_not_plain_is_not_derived(
    old: dict[str, Any], actions: list[tuple[str, dict[str, Any]]]
) -> None:
    """Where additions do not count as such, or a sum is not known, Delta has to look itself."""
    assert following({**empty(), **old}, Entry(tuple(actions))) is None


def _log(commits: int) -> tuple[FormatContext, Segment]:
    url = f"memory://checksums-{commits}/"
    context = FormatContext(
        warehouse=MemoryStorage(url),
        root_url=url,
        warehouse_url=url,
        clock=ManualClock(0),
        ids=SeededIds(1),
    )
    chain = [Commit(n, f"u{n}" if n else "", 1, 0) for n in range(commits)]
    for commit in chain:
        entry = Entry((commit_info(), add(f"f{commit.version}")))
        name = stored_name(commit.version, commit.unique)
        context.warehouse.create(f"data/t/_delta_log/{name}", encode_entry(entry))
    return context, Segment("data/t", "id", tuple(chain))


def test_missing_checksums_are_derived_from_the_newest_one() -> None:
    """Several commits without one are bridged; what is derived is found and stays."""
    context, segment = _log(4)
    first = following(empty(), Entry((commit_info(), add("f0"))))
    path = f"data/t/_delta_log/{checksum_name(0, '')}"
    context.warehouse.create(path, json.dumps(first).encode())
    checksums = Checksums(LogFiles())

    assert checksums.derive(context, segment, segment.commits[-1])
    stored = context.warehouse.read(f"data/t/_delta_log/{checksum_name(3, 'u3')}")
    assert sorted(file["path"] for file in json.loads(stored)["allFiles"]) == [
        f"f{n}" for n in range(4)
    ]
    assert checksums.derive(context, segment, segment.commits[-1])


def test_without_an_older_checksum_there_is_nothing_to_derive() -> None:
    """The search ends at the oldest commit in the definition and leaves nothing behind."""
    context, segment = _log(3)
    before = list(context.warehouse.list(""))

    assert not Checksums(LogFiles()).derive(context, segment, segment.commits[-1])
    assert list(context.warehouse.list("")) == before
