"""Holds a statement open in mid-execution, so that others commit while it runs."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

_PATIENCE = 240


class Overlap:
    """A gate that a statement's rows pass through: ``gate(column)`` in SQL is its argument.

    Let one file at most reach the gate (``a = 0 AND gate(a) = 0``): each task that waits holds a
    slot that others need, and Spark mixes up ``input_file_name()``, by which Delta finds the files
    to rewrite, where one task passes several files through a Python function.

    Args:
        spark: the session whose statements can be held.
        folder: for the signals between this process and Spark's Python workers.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        folder.mkdir()
        spark.udf.register("gate", _gate(str(folder)), "int")

    @contextmanager
    def running(self, statement: str | Callable[[], object]) -> Iterator[list[BaseException]]:
        """Run the block while a statement is held in the middle of its execution.

        Yields:
            a list that holds the statement's error, if it failed, when the block has ended.
        """
        for signal in self._folder.iterdir():
            signal.unlink()
        failed: list[BaseException] = []
        thread = threading.Thread(target=self._run, args=(statement, failed))
        thread.start()
        try:
            self._wait_until_held(thread, failed)
            yield failed
        finally:
            (self._folder / "go").touch()
            thread.join(_PATIENCE)
        assert not thread.is_alive(), "the statement did not end"

    def _run(self, statement: str | Callable[[], object], failed: list[BaseException]) -> None:
        try:
            self._spark.sql(statement) if isinstance(statement, str) else statement()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            failed.append(error)

    def _wait_until_held(self, thread: threading.Thread, failed: list[BaseException]) -> None:
        end = time.monotonic() + _PATIENCE
        while not (self._folder / "held").exists():
            assert thread.is_alive(), f"the statement was never held: {failed}"
            assert time.monotonic() < end, "the statement was not held in time"
            time.sleep(0.02)


def _gate(folder: str) -> Callable[[int | None], int | None]:
    def pass_through(value: int | None) -> int | None:
        go = Path(folder, "go")
        Path(folder, "held").touch()
        end = time.monotonic() + _PATIENCE
        while not go.exists() and time.monotonic() < end:
            time.sleep(0.02)
        return value

    return pass_through
