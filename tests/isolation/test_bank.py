"""Transfers between tables: the total is right for every auditor and at every version."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.isolation.profile import seeds
from tests.support.bank import Teller, audit_history, create_bank
from tests.support.row_tables import Tables
from trinitylake_spark.storage.memory import MemoryStorage


@pytest.mark.parametrize("seed", seeds(4))
def test_interleaved_tellers(level: str, seed: int) -> None:
    """Four sessions, of which a random one goes on after each statement: no cent is lost."""
    storage = MemoryStorage(f"memory://bank-{level}-{seed}")
    tables = Tables(storage.url)
    first = create_bank(tables)
    tellers = [Teller(tables, seed, n, level) for n in range(4)]
    running = [teller.steps() for teller in tellers]
    chance = random.Random(seed)
    while sum(teller.done for teller in tellers) < 80:
        next(chance.choice(running))

    assert audit_history(tables, tellers, first) == [], f"replay with TRINITYLAKE_SEED={seed}"
    assert sum(len(teller.transfers) for teller in tellers) > 5
    storage.clear()


@pytest.mark.parametrize("seed", seeds(1))
def test_tellers_in_threads(level: str, seed: int) -> None:
    """Tellers at the same time, of two engines on one storage: no cent is lost."""
    storage = MemoryStorage(f"memory://bank-threads-{level}-{seed}")
    engines = [Tables(storage.url), Tables(storage.url)]
    first = create_bank(engines[0])
    tellers = [Teller(engines[n % 2], seed, n, level) for n in range(4)]

    def work(teller: Teller) -> None:
        """One teller's day."""
        steps = teller.steps()
        while teller.done < 25:
            next(steps)

    with ThreadPoolExecutor(len(tellers)) as pool:
        list(pool.map(work, tellers))

    assert audit_history(engines[0], tellers, first) == [], f"replay with TRINITYLAKE_SEED={seed}"
    assert sum(len(teller.transfers) for teller in tellers) > 5
    storage.clear()
