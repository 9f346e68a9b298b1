"""Spark drivers in processes of their own, for tests that kill them or let them race."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Self

REPOSITORY = Path(__file__).resolve().parents[2]
START_SECONDS = 120


class DriverGoneError(Exception):
    """The driver died before it answered."""


class StatementError(Exception):
    """A statement failed, with Spark's error condition."""

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(f"{condition}: {message}")
        self.condition = condition


class Driver:
    """One Spark driver process.

    It starts in the background; the first call waits until it is ready.

    Args:
        settings: arguments of ``trinitylake_spark.configure``: root, warehouse, …; and
            ``spark``, a dictionary of Spark's own settings.
    """

    def __init__(self, **settings: Any) -> None:
        self.jvm_pid = 0
        self._ids = itertools.count(1)
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {0: queue.Queue()}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.driver_main"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=REPOSITORY,
            start_new_session=True,
        )
        self._write(settings)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ready(self) -> Self:
        """Wait until Spark is up."""
        if not self.jvm_pid:
            self.jvm_pid = self._next(0, START_SECONDS)["ok"]
        return self

    def sql(self, *statements: str, session: int = 0, seconds: float = 120) -> list[list[Any]]:
        """Run statements in order; return the rows of the last.

        Raises:
            StatementError: one failed; the rest was not run.
            DriverGoneError: the process died.
        """
        number = self.start(*statements, session=session)
        while "at" in (answer := self._next(number, seconds)):
            pass
        if "error" in answer:
            raise StatementError(answer["error"], answer["message"])
        return answer["ok"]

    def start(self, *statements: str, session: int = 0, progress: bool = False) -> int:
        """Begin to run statements; return the number to ask for their answers with."""
        self.ready()
        number = next(self._ids)
        self._answers[number] = queue.Queue()
        order = {"id": number, "sql": statements, "session": session, "progress": progress}
        self._write(order)
        return number

    def answer(self, number: int, seconds: float = 120) -> dict[str, Any]:
        """Return the next line about an order: progress, result or error."""
        return self._next(number, seconds)

    def kill(self) -> None:
        """Kill -9 the JVM, which is the driver, and wait until Python has noticed."""
        os.kill(self.jvm_pid, signal.SIGKILL)
        self.close()

    def close(self) -> None:
        """End the process and whatever it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, order: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise DriverGoneError from error

    def _read(self) -> None:
        assert self.process.stdout is not None
        try:
            for line in self.process.stdout:
                answer = json.loads(line)
                self._answers[answer["id"]].put(answer)
        except ValueError:  # closed while reading: somebody killed it
            pass
        for waiting in list(self._answers.values()):
            waiting.put({"gone": True})

    def _next(self, number: int, seconds: float) -> dict[str, Any]:
        answer = self._answers[number].get(timeout=seconds)
        if "gone" in answer:
            raise DriverGoneError
        return answer


def processes_of(group: int) -> set[int]:
    """The processes of a session (in the sense of ``setsid``) that are still alive."""
    alive = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if int(session) == group and state != "Z":
                alive.add(int(entry.name))
    return alive


def wait_until(condition: Any, seconds: float) -> bool:
    """Wait for a condition; tell whether it came true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
