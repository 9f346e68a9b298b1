"""Commits of one process stand in line."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.lakes import memory, new_lake, other
from trinitylake_spark.errors import CommitConflictError, Kind
from trinitylake_spark.lakehouse.turns import FairTurns, TurnTimeoutError, shared_turns

if TYPE_CHECKING:
    from collections.abc import Callable

_SOON = 60.0
"""Seconds after which something is taken to hang."""

_INTERRUPTED_COMMIT = """
import os, signal, threading, time
from tests.support.lakes import memory, new_lake, other
from trinitylake_spark.lakehouse.turns import FairTurns

turns = FairTurns()
lake = new_lake(memory("ctrl-c"), tables=["t"])
first, second = other(lake, turns=turns), other(lake, turns=turns)

def interrupt():
    while len(turns._line) < 2:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)

with turns.turn(60):
    threading.Thread(target=interrupt).start()
    tx = first.begin()
    tx.create_namespace("a")
    try:
        tx.commit()
    except KeyboardInterrupt:
        print("interrupted")
with second.transaction() as tx:
    tx.create_namespace("b")
print(tx.version)
"""


def test_first_come_first_served() -> None:
    """Turns come in the order of asking, one at a time; each hears how many were before it."""
    turns = FairTurns()
    served: list[tuple[int, int]] = []
    holders: list[int] = []

    def work(number: int) -> None:
        with turns.turn(_SOON) as ahead:
            holders.append(number)
            assert len(holders) == 1
            served.append((number, ahead))
            holders.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 6)]
    with turns.turn(_SOON) as ahead:
        assert ahead == 0
        for number, thread in enumerate(threads, 1):
            thread.start()
            _until(lambda number=number: len(turns._line) > number)
    for thread in threads:
        thread.join()

    assert served == [(number, number) for number in range(1, 6)]


def test_a_failure_passes_the_turn_on() -> None:
    """Who fails while it is its turn does not keep it."""
    turns = FairTurns()
    for _ in range(2):
        try:
            with turns.turn(_SOON) as ahead:
                assert ahead == 0
                raise ValueError
        except ValueError:
            pass


def test_handles_of_one_lakehouse_share_a_line() -> None:
    """The line belongs to the lakehouse, whoever opens it in this process."""
    mine = shared_turns("memory://line/")
    assert shared_turns("memory://line/") is mine
    assert shared_turns("memory://other/") is not mine


def test_an_exception_from_outside_gives_the_place_back() -> None:
    """A waiting thread that an asynchronous exception hits leaves the line, wherever it stands."""
    turns = FairTurns()
    served: list[int] = []

    def work(number: int) -> None:
        with turns.turn(_SOON):
            served.append(number)

    def interrupted() -> None:
        try:
            with turns.turn(_SOON):
                served.append(-1)
        except InterruptedError:
            served.append(0)

    threads = [
        threading.Thread(target=target, args=args, daemon=True)
        for target, args in ((interrupted, ()), (work, (1,)), (interrupted, ()), (work, (2,)))
    ]
    with turns.turn(_SOON):
        for number, thread in enumerate(threads, 1):
            thread.start()
            _until(lambda number=number: len(turns._line) > number)
        for thread in (threads[0], threads[2]):
            _raise_in(thread, InterruptedError)
    for thread in threads:
        thread.join(_SOON)
    assert sorted(served) == [0, 0, 1, 2]
    with turns.turn(0.1) as ahead:
        assert ahead == 0


def test_ctrl_c_in_a_commit_that_waits() -> None:
    """Ctrl-C ends a commit that stands in line at once, and later commits go on."""
    run = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_COMMIT],
        capture_output=True,
        text=True,
        timeout=_SOON,
        check=False,
    )
    assert run.stdout.split() == ["interrupted", "2"], run.stderr


def test_the_wait_is_part_of_the_time_for_a_commit() -> None:
    """A commit that is not served within `commit_seconds` fails as one that lost each race."""
    turns = FairTurns()
    storage = memory("impatient")
    lake = new_lake(storage, tables=["t"])
    tx = other(lake, turns=turns, commit_seconds=0.05).begin()
    tx.create_namespace("a")
    files = set(storage.list(""))
    with turns.turn(_SOON), pytest.raises(CommitConflictError) as caught:
        tx.commit()
    assert caught.value.kind == Kind.COMMIT_RETRIES_EXHAUSTED
    assert caught.value.fields["attempts"] == 0
    assert set(storage.list("")) == files
    with other(lake, turns=turns).transaction() as later:
        later.create_namespace("b")
    assert later.version == 2


def test_who_waited_too_long_leaves_the_line() -> None:
    """Those behind one who gave up are served as if he had never come."""
    turns = FairTurns()
    with turns.turn(_SOON):
        with pytest.raises(TurnTimeoutError), turns.turn(0.01):
            pytest.fail("two hold the turn")
        assert len(turns._line) == 1
    with turns.turn(0.01) as ahead:
        assert ahead == 0


def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _SOON
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def _raise_in(thread: threading.Thread, error: type[BaseException]) -> None:
    target = ctypes.c_ulong(thread.ident or 0)
    assert ctypes.pythonapi.PyThreadState_SetAsyncExc(target, ctypes.py_object(error)) == 1
