"""Kill -9 of the Spark driver in the middle of a transaction over three tables."""

from __future__ import annotations

import os
import random
import signal
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.support.driver import Driver, DriverGoneError, processes_of, wait_until
from trinitylake_spark import Lakehouse

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.spark, pytest.mark.kill]

# Each kill costs a start of Spark: `make test` does a few, `make test-kill` fifty.
KILLS = int(os.environ.get("TRINITYLAKE_KILLS", "8"))
SEED = int(os.environ.get("TRINITYLAKE_SEED", "20261101"))
TABLES = ("a", "b", "c")


def transaction(number: int) -> list[str]:
    """One row into each of the three tables, as statements."""
    inserts = [f"INSERT INTO lake.k.{table} VALUES ({number})" for table in TABLES]
    return ["BEGIN", *inserts, "COMMIT"]


def durations(driver: Driver, number: int) -> list[float]:
    """Run the transaction to its end; how long each statement took, in seconds."""
    order = driver.start(*transaction(number), progress=True)
    moments = []
    while "at" in (answer := driver.answer(order)):
        moments.append(time.monotonic())
    assert "ok" in answer, answer
    moments.append(time.monotonic())
    return [after - before for before, after in pairwise(moments)]


def kill_somewhere(driver: Driver, number: int, usual: list[float], chance: random.Random) -> bool:
    """Start a transaction, kill its driver at a random moment; tell if it was acknowledged."""
    statements = transaction(number)
    # Half of the kills hit the COMMIT, where a half-done change could become visible.
    position = chance.choice([0, 1, 2, 3, 4, 4, 4, 4])
    victim = statements[position]
    patience = chance.uniform(0, usual[position] * (3 if victim == "COMMIT" else 1))
    order = driver.start(*statements, progress=True)
    try:
        while driver.answer(order).get("at") != victim:
            pass
        time.sleep(patience)
    finally:
        driver.kill()
    try:
        while "ok" not in (answer := driver.answer(order)):
            assert "error" not in answer, answer
    except DriverGoneError:
        return False
    return True


@pytest.mark.timeout(180 + 60 * KILLS)
def test_a_killed_driver_leaves_all_of_its_transaction_or_nothing(tmp_path: Path) -> None:
    """Whenever it dies, the three tables agree, and what was acknowledged is there."""
    root = tmp_path.as_uri()
    Lakehouse.create(root)
    chance = random.Random(SEED)
    acknowledged = set()
    with Driver(root=root) as auditor:
        following = Driver(root=root)
        auditor.sql("CREATE NAMESPACE lake.k")
        auditor.sql(*(f"CREATE TABLE lake.k.{table} (n INT)" for table in TABLES))
        usual = durations(auditor, -1)
        for number in range(KILLS):
            driver = following.ready()
            if number + 1 < KILLS:
                following = Driver(root=root)  # starts while this one works
            if kill_somewhere(driver, number, usual, chance):
                acknowledged.add(number)
            assert Lakehouse.open(root).check().problems == []
            rows = [
                sorted(row[0] for row in auditor.sql(f"SELECT n FROM lake.k.{table}"))
                for table in TABLES
            ]

            assert rows[0] == rows[1] == rows[2], f"seed {SEED}, kill {number}"
            assert acknowledged <= set(rows[0])
            assert len(set(rows[0])) == len(rows[0])
        committed = len(rows[0]) - 1
    print(f"{KILLS} kills: {committed} after the commit, {len(acknowledged)} of them told so")


def test_a_killed_driver_leaves_no_orphan(tmp_path: Path) -> None:
    """The engine ends within seconds after its JVM was killed."""
    with Driver(root=tmp_path.as_uri(), create=True) as driver:
        driver.sql("BEGIN", "CREATE NAMESPACE lake.k")
        family = processes_of(driver.process.pid) - {driver.process.pid, driver.jvm_pid}
        assert family, "there is an engine"
        os.kill(driver.jvm_pid, signal.SIGKILL)

        assert wait_until(lambda: not family & processes_of(driver.process.pid), seconds=5)
    assert Lakehouse.open(tmp_path.as_uri()).version == 0
