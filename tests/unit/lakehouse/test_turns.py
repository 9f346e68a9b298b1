"""Commits of one process stand in line."""

from __future__ import annotations

import threading
import time

from trinitylake_spark.lakehouse.turns import FairTurns, shared_turns


def test_first_come_first_served() -> None:
    """Turns come in the order of asking, one at a time; each hears how many were before it."""
    turns = FairTurns()
    served: list[tuple[int, int]] = []
    holders: list[int] = []

    def work(number: int) -> None:
        with turns.turn() as ahead:
            holders.append(number)
            assert len(holders) == 1
            served.append((number, ahead))
            holders.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 6)]
    with turns.turn() as ahead:
        assert ahead == 0
        for number, thread in enumerate(threads, 1):
            thread.start()
            while len(turns._waiting) < number:
                time.sleep(0.001)
    for thread in threads:
        thread.join()

    assert served == [(number, number) for number in range(1, 6)]


def test_a_failure_passes_the_turn_on() -> None:
    """Who fails while it is its turn does not keep it."""
    turns = FairTurns()
    for _ in range(2):
        try:
            with turns.turn() as ahead:
                assert ahead == 0
                raise ValueError
        except ValueError:
            pass


def test_handles_of_one_lakehouse_share_a_line() -> None:
    """The line belongs to the lakehouse, whoever opens it in this process."""
    mine = shared_turns("memory://line/")
    assert shared_turns("memory://line/") is mine
    assert shared_turns("memory://other/") is not mine
