"""Random transactions leave no cycle that their level forbids (list-append, as Elle does it)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.isolation.profile import FACTOR, seeds
from tests.support.appenders import (
    History,
    create_tables,
    interleaved,
    read_all,
    report,
    several_processes,
    threaded,
)
from tests.support.row_tables import Tables
from trinitylake_spark.storage.memory import MemoryStorage

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("seed", seeds(10))
def test_interleaved_statements(level: str, seed: int) -> None:
    """Five sessions, of which a random one goes on after each statement: no anomaly."""
    storage = MemoryStorage(f"memory://interleaved-{level}-{seed}")
    history = interleaved(Tables(storage.url), seed, level, clients=5, number=120)
    storage.clear()

    assert report(history, level, seed) == ""
    assert history.commits > 15


def test_same_seed_same_run(level: str) -> None:
    """A seed stands for one run: everybody reads the same and the same commits are refused."""
    runs = []
    for attempt in range(2):
        storage = MemoryStorage(f"memory://replay-{level}-{attempt}")
        history = interleaved(Tables(storage.url), 7, level, clients=4, number=30)
        runs.append(([(t.id, t.ops, t.committed) for t in history.txns], history.final))
        storage.clear()

    assert runs[0] == runs[1]


@pytest.mark.parametrize("seed", seeds(1))
def test_threads_of_one_engine(level: str, seed: int) -> None:
    """Sessions of one engine at the same time: no anomaly."""
    storage = MemoryStorage(f"memory://threads-{level}-{seed}")
    tables = Tables(storage.url)
    create_tables(tables)
    history = History(threaded(tables, seed, level, clients=6, number=40))
    history.final = read_all(tables)
    storage.clear()

    assert report(history, level, seed) == ""
    assert history.commits > 20


@pytest.mark.parametrize("seed", seeds(1))
def test_processes_on_local_storage(level: str, seed: int, tmp_path: Path) -> None:
    """Engines of several processes on a folder, several sessions each: no anomaly."""
    url = f"file://{tmp_path}/lake"
    history = several_processes(
        url, seed, level, processes=2, clients=3, number=200 * min(FACTOR, 10)
    )

    assert report(history, level, seed) == ""
    assert len(history.txns) >= 1200
    assert history.commits > 300
