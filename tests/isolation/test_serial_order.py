"""Every kind of statement at random: SNAPSHOT sees its base version, SERIALIZABLE is serial.

This is the definition of both levels, checked transaction by transaction against a model that
knows nothing of concurrency: what a client saw is what the rows of its version give; and at
SERIALIZABLE it is also what it would have seen and done alone, right before its own commit.
"""

from __future__ import annotations

import random

import pytest

from tests.isolation.profile import seeds
from tests.support.row_tables import SERIALIZABLE, Tables
from tests.support.statements import Client, create_tables, replay, state_at
from trinitylake_spark.storage.memory import MemoryStorage


@pytest.mark.parametrize("seed", seeds(6))
def test_statements_mean_what_they_mean_alone(level: str, seed: int) -> None:
    """No client can tell that there were others (SERIALIZABLE), or came later (SNAPSHOT)."""
    storage = MemoryStorage(f"memory://serial-{level}-{seed}")
    tables = Tables(storage.url)
    create_tables(tables)
    clients = [Client(tables, seed, n, level) for n in range(5)]
    running = [client.steps() for client in clients]
    chance = random.Random(seed)
    while sum(len(client.runs) for client in clients) < 90:
        next(chance.choice(running))

    reader = tables.session()
    again = f"replay with TRINITYLAKE_SEED={seed}"
    committed = 0
    for run in (run for client in clients for run in client.runs):
        _, wrong = replay(run, state_at(reader, run.base))
        assert not wrong, f"{again}: {run} on its own version: {wrong}"
        if level == SERIALIZABLE and run.version is not None:
            committed += 1
            after, wrong = replay(run, state_at(reader, run.version - 1))
            assert not wrong, f"{again}: {run} alone: {wrong}"
            assert after == state_at(reader, run.version), f"{again}: {run} alone"
    assert committed > 10 or level != SERIALIZABLE
    storage.clear()
