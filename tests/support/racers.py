"""Writers in several processes that append to Delta tables on a folder as fast as they can."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from benchmarks.concurrency import append
from tests.support.workers import MINUTES, run_workers
from trinitylake_spark import Lakehouse
from trinitylake_spark.delta.table import read_table
from trinitylake_spark.errors import CommitConflictError

_SCHEMA = pa.schema([("a", pa.int32())])


@dataclass
class Report:
    """What one writer did.

    Args:
        versions: of its commits, in order.
        failed: commits that were refused.
        seconds: from its first commit to the end of its last.
        longest: its longest commit, seconds.
    """

    versions: list[int] = field(default_factory=list)
    failed: int = 0
    seconds: float = 0.0
    longest: float = 0.0


def race(url: str, *, processes: int, writers: int, commits: int) -> list[Report]:
    """Let each writer of each process append to table ``t``, with a handle of its own.

    Args:
        url: of a lakehouse that does not exist yet.
        processes: how many.
        writers: in each of them.
        commits: of each writer.
    """
    lake = Lakehouse.create(url)
    with lake.transaction() as transaction:
        transaction.create_namespace("ns")
        transaction.create_table("ns", "t", _SCHEMA)
    arguments = [(url, number, writers, commits) for number in range(processes)]
    reports = run_workers(_work, arguments, parties=processes)
    errors = [report for report in reports if isinstance(report, str)]
    assert not errors, errors
    return [one for report in reports for one in report]


def rows(url: str) -> int:
    """Return how many entries table ``t`` has beside its first."""
    table = Lakehouse.open(url).snapshot().table("ns", "t")
    return read_table(table.definition).segment.version


def _work(url: str, process: int, writers: int, commits: int, start: Any, results: Any) -> None:
    try:
        lakes = [Lakehouse.open(url) for _ in range(writers)]

        def write(number: int) -> Report:
            """Run one writer to its end."""
            report = Report()
            began = time.monotonic()
            for commit in range(commits):
                asked = time.monotonic()
                transaction = lakes[number].begin()
                append(lakes[number], transaction, "t", f"{process}-{number}-{commit}")
                try:
                    report.versions.append(transaction.commit() or -1)
                except CommitConflictError:
                    report.failed += 1
                report.longest = max(report.longest, time.monotonic() - asked)
            report.seconds = time.monotonic() - began
            return report

        start.wait(MINUTES * 60)
        with ThreadPoolExecutor(writers) as pool:
            results.put(list(pool.map(write, range(writers))))
    except BaseException as error:
        results.put(f"process {process}: {error!r}")
        raise
