"""Random programs beside a model that knows which version each of their objects may see.

``TRINITYLAKE_PROGRAMS=1000`` plays a thousand (``make test-long``), ``TRINITYLAKE_SEED=17`` the
one with that seed, which every failure prints with its steps.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest

from tests.support.program_model import CONFLICT, FINISHED, STALE
from tests.support.program_runs import Stage
from tests.support.programs import program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.long]

PROGRAMS = int(os.environ.get("TRINITYLAKE_PROGRAMS", "50"))
_ONLY = os.environ.get("TRINITYLAKE_SEED")
_ALONE = 5
"""One program of so many has no transactions, and is played on plain Delta tables, too."""
_AT_A_TIME = 2
_SESSIONS = 3


def seeds(*, transactions: bool) -> list[int]:
    """Return the seeds of the programs with or without transactions."""
    chosen = range(1, PROGRAMS + 1) if _ONLY is None else [int(_ONLY)]
    return [seed for seed in chosen if (seed % _ALONE == 0) != transactions]


class Theatre:
    """Stages that play programs side by side.

    Args:
        new_session: makes a session.
        folder: for the signals that hold statements.
    """

    def __init__(self, new_session: Callable[[], SparkSession], folder: Path) -> None:
        self._troupes = [[new_session() for _ in range(_SESSIONS)] for _ in range(_AT_A_TIME)]
        self._folder = folder

    def play(self, namespace: str, *, transactions: bool) -> list[Stage]:
        """Play all programs with or without transactions on tables of a namespace."""
        stages = []
        idle: SimpleQueue[Stage] = SimpleQueue()
        for number, sessions in enumerate(self._troupes):
            folder = self._folder / f"{namespace}-{transactions}-{number}"
            folder.mkdir()
            stages.append(Stage(sessions, namespace, folder))
            idle.put(stages[-1])

        def play(seed: int) -> str:
            """Play one on a stage that nobody uses meanwhile."""
            stage = idle.get()
            try:
                fault = stage.play(program(seed, transactions=transactions))
                return "" if fault is None else str(stage.shortest(fault))
            finally:
                idle.put(stage)

        with ThreadPoolExecutor(_AT_A_TIME) as pool:
            faults = list(filter(None, pool.map(play, seeds(transactions=transactions))))
        assert not faults, f"{len(faults)} programs failed:\n\n" + "\n\n".join(faults)
        return stages


@pytest.fixture(scope="module")
def theatre(
    new_session: Callable[..., SparkSession], root: str, tmp_path_factory: pytest.TempPathFactory
) -> Theatre:
    """Sessions on one lakehouse, with a namespace for tables."""

    def make() -> SparkSession:
        """A session; it must have its catalog before anything else asks for it."""
        session = new_session(root)
        session.sql("CREATE NAMESPACE IF NOT EXISTS lake.n")
        return session

    return Theatre(make, tmp_path_factory.mktemp("gates"))


@pytest.mark.timeout(300 + 20 * PROGRAMS)
def test_programs_with_transactions(theatre: Theatre) -> None:
    """Every answer, every refusal and all rows in the end are what the model says."""
    stages = theatre.play("lake.n", transactions=True)
    met = {condition for stage in stages for condition in stage.met}

    assert PROGRAMS < 50 or _ONLY or {CONFLICT, FINISHED, STALE} <= met


@pytest.mark.timeout(300 + 20 * PROGRAMS)
@pytest.mark.parametrize("namespace", ["spark_catalog.default", "lake.n"])
def test_programs_without_transactions(theatre: Theatre, namespace: str) -> None:
    """Outside of transactions ours does what plain Delta does: the newest rows, and none lost."""
    theatre.play(namespace, transactions=False)
