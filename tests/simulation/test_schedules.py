"""Thousands of interleavings of several writers over a storage that fails in every way it can.

``SIMULATION_SCHEDULES`` sets how many, spread over one process for each core; a failure names its
seed, and ``SIMULATION_SEED`` runs that one alone.
"""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

import pytest

from tests.simulation.schedule import Run, play_all

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEDULES = int(os.environ.get("SIMULATION_SCHEDULES", "10000"))
ONLY = os.environ.get("SIMULATION_SEED")
SHARES = 20
BATCHES = 10
EACH = [0, *(pytest.param(batch, marks=pytest.mark.slow) for batch in range(1, BATCHES))]


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    """One worker for each core, none of which shares anything with another."""
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.parametrize("batch", EACH)
def test_every_schedule_keeps_its_promises(processes: ProcessPoolExecutor, batch: int) -> None:
    """Acknowledged commits are there once and in order, all others not at all; nothing is half.

    Transactions read one version; updates are not lost; what a SERIALIZABLE one read is still
    true just before its own version; every version is sound.
    """
    if ONLY is not None:
        play_all([int(ONLY)])
        return
    step = BATCHES * SHARES
    shares = [range(batch + share * BATCHES, SCHEDULES, step) for share in range(SHARES)]
    played = sum(processes.map(play_all, shares))

    assert played == len(range(batch, SCHEDULES, BATCHES))


def test_same_seed_same_schedule() -> None:
    """A seed stands for one run: the same calls, outcomes and bytes, so that it can be replayed."""
    for seed in range(5):
        runs = [Run(seed), Run(seed)]
        for run in runs:
            run.play()
        assert runs[0].attempts == runs[1].attempts
        assert runs[0].disk == runs[1].disk
