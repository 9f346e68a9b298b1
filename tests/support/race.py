"""Many creators in several processes race for the same objects; who won, and what was seen."""

from __future__ import annotations

import hashlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.support.workers import MINUTES, run_workers
from trinitylake_spark.errors import AlreadyExistsError, NotFoundError, TrinityLakeError
from trinitylake_spark.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.synchronize import Barrier

BODY_BYTES = 4000


@dataclass
class Race:
    """What came of a race.

    ``winners`` counts the creators who succeeded, by round; ``torn`` are objects that somebody
    saw half, ``strange`` whole objects that were not the winner's, ``lost`` objects that are
    not listed or not the winner's afterwards, ``failed`` creates and reads without an outcome.
    """

    rounds: int
    winners: Counter[int] = field(default_factory=Counter)
    torn: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def bad_rounds(self) -> list[int]:
        """Rounds with no winner, or more than one."""
        return [number for number in range(self.rounds) if self.winners[number] != 1]

    @property
    def flaws(self) -> list[str]:
        """Everything that a storage must not do; empty for a sound one."""
        several = [f"round {r}: {self.winners[r]} creators won" for r in self.bad_rounds]
        return several + self.torn + self.strange + self.lost + self.failed


def run_race(
    url: str,
    options: Mapping[str, Any],
    *,
    rounds: int,
    processes: int = 4,
    threads: int = 8,
) -> Race:
    """Let ``processes * threads`` creators race for one object a round, and look at the result."""
    arguments = [(url, dict(options), number, threads, rounds) for number in range(processes)]
    reports = run_workers(_work, arguments, parties=processes * threads)
    return _judge(url, options, rounds, [one for report in reports for one in report])


def _work(
    url: str,
    options: dict[str, Any],
    process: int,
    threads: int,
    rounds: int,
    start: Barrier,
    results: Any,
) -> None:
    """One process: each thread is a creator, and whoever loses reads at once."""
    try:
        with open_storage(url, options) as storage, ThreadPoolExecutor(threads) as pool:
            storage.exists("warm-up")

            def create(thread: int) -> list[tuple[int, str, str]]:
                report = []
                token = f"{process}-{thread}"
                try:
                    for number in range(rounds):
                        start.wait(MINUTES * 60)
                        report.append((number, *_create(storage, f"race-{number}", token)))
                except BaseException:
                    start.abort()  # the others would wait for this one
                    raise
                return report

            found = pool.map(create, range(threads))
            results.put([one for report in found for one in report])
    except BaseException as error:
        start.abort()
        results.put([(0, "failed", repr(error))])
        raise


def _create(storage: Any, path: str, token: str) -> tuple[str, str]:
    try:
        storage.create(path, body(token))
    except AlreadyExistsError:
        try:
            return "lost", owner(storage.read(path))
        except NotFoundError:
            return "lost", "nothing"
        except TrinityLakeError as error:
            return "failed", f"read: {error}"
    except TrinityLakeError as error:
        return "failed", f"create: {error}"
    return "won", token


def _judge(
    url: str, options: Mapping[str, Any], rounds: int, reports: list[tuple[int, str, str]]
) -> Race:
    race = Race(rounds)
    race.failed = [f"round {r}: {what}" for r, outcome, what in reports if outcome == "failed"]
    race.winners.update(number for number, outcome, _ in reports if outcome == "won")
    winner = {number: token for number, outcome, token in reports if outcome == "won"}
    for number, outcome, token in reports:
        if outcome == "lost" and token == "":
            race.torn.append(f"round {number}: a loser read half an object")
        elif outcome == "lost" and race.winners[number] == 1 and token != winner[number]:
            race.strange.append(f"round {number}: a loser read {token!r}")
    with open_storage(url, options) as storage:
        listed = set(storage.list("race-"))
        for number, token in winner.items():
            path = f"race-{number}"
            if path not in listed:
                race.lost.append(f"{path} is not listed")
            if race.winners[number] == 1 and owner(storage.read(path)) != token:
                race.lost.append(f"{path} is not the winner's")
    return race


def body(token: str) -> bytes:
    """An object that says in every part whose it is."""
    line = f"{token} {hashlib.sha256(token.encode()).hexdigest()}\n".encode()
    return (line * (BODY_BYTES // len(line) + 1))[:BODY_BYTES]


def owner(data: bytes) -> str:
    """Whose object it is; nothing if it is not whole."""
    token = data.partition(b" ")[0].decode(errors="replace")
    return token if data == body(token) else ""
