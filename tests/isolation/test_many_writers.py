"""Nobody starves: the benchmark's writers all end, and none has to try twice in one process."""

from __future__ import annotations

import pytest

from benchmarks.concurrency import ours
from tests.isolation.profile import FACTOR


@pytest.mark.parametrize("one_table", [True, False], ids=["one table", "own tables"])
def test_sixty_four_writers_of_one_engine(one_table: bool) -> None:
    """Commits of one process queue up: all succeed, each at its first attempt."""
    commits = min(50, 2 * FACTOR)
    result = ours(64, commits, 0, one_table=one_table, engines=False)

    assert (result.commits, result.failed) == (64 * commits, 0)
    assert result.retries == 0


def test_engines_that_race() -> None:
    """Writers who know nothing of each other: what is acknowledged is there, exactly once."""
    result = ours(4, 5, 0, one_table=True, engines=True)

    assert result.commits + result.failed == 20
    assert result.commits >= 5
