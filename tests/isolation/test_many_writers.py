"""Nobody starves: racing writers all end, none fails, and they are served in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.concurrency import OWN_ENGINES, OWN_MACHINES, ours
from tests.isolation.profile import FACTOR
from tests.support.racers import race, rows

if TYPE_CHECKING:
    from pathlib import Path

TABLES = pytest.mark.parametrize("one_table", [True, False], ids=["one table", "own tables"])


@TABLES
def test_sixty_four_writers_of_one_engine(one_table: bool) -> None:
    """Commits of one process queue up: all succeed, each at its first attempt, in turn."""
    commits = min(50, 2 * FACTOR)
    result = ours(64, commits, 0, one_table=one_table)

    assert (result.commits, result.failed) == (64 * commits, 0)
    assert result.retries == 0
    assert result.overtaken < 64


@TABLES
def test_sixty_four_machines(one_table: bool) -> None:
    """Writers who know nothing of each other, 50 ms from the storage: they stand in line as well.

    Nobody fails, and nobody is overtaken by more than twice as many as there are. The clock is
    virtual and the seed fixed, so this is the same on every machine.
    """
    commits = min(50, 3 * FACTOR)
    result = ours(64, commits, 0.05, one_table=one_table, who=OWN_MACHINES)

    assert (result.commits, result.failed) == (64 * commits, 0)
    assert result.overtaken <= 2 * 64
    assert result.rate > 2.5


@TABLES
def test_eight_machines_are_faster_than_one(one_table: bool) -> None:
    """With a latency eight writers commit at least as fast as one, and each gets its share.

    Few attempts are in vain: the line tells each when to try.
    """
    alone, many = (
        ours(writers, 10, 0.05, one_table=one_table, who=OWN_MACHINES) for writers in (1, 8)
    )

    assert many.failed == 0
    assert many.rate >= alone.rate
    assert many.fairness >= 1 / 3
    assert many.retries < 4


def test_engines_that_race() -> None:
    """Threads of engines that know nothing of each other: nobody fails, all is there once."""
    result = ours(4, 5, 0, one_table=True, who=OWN_ENGINES)

    assert (result.commits, result.failed) == (20, 0)


def test_processes_that_race(tmp_path: Path) -> None:
    """Several handles in each of several processes, on a folder: every commit has its version."""
    commits = min(50, 4 * FACTOR)
    url = f"file://{tmp_path}/lake"
    reports = race(url, processes=4, writers=4, commits=commits)

    assert sum(report.failed for report in reports) == 0
    versions = sorted(version for report in reports for version in report.versions)
    assert versions == list(range(2, 2 + 16 * commits))
    assert rows(url) == 16 * commits
