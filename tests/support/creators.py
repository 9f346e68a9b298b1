"""Creators in processes and threads that race for the same names in a local folder."""

from __future__ import annotations

import hashlib
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from trinitylake_spark.errors import AlreadyExistsError
from trinitylake_spark.storage.local import LocalStorage

if TYPE_CHECKING:
    from pathlib import Path

_BODY_SIZE = 50_000


def body(creator: int) -> bytes:
    """Bytes of which every part shows whose they are."""
    return hashlib.sha256(b"%d" % creator).digest() * (_BODY_SIZE // 32)


def race(folder: Path, processes: int, threads: int, rounds: int) -> list[list[int]]:
    """Let all creators race ``rounds`` times; return the winners of each round.

    Every creator reads the object back at once and fails unless it is whole.
    """
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(processes * threads)
    results = context.Queue()
    workers = [
        context.Process(
            target=_work,
            args=(
                str(folder),
                range(first * threads, (first + 1) * threads),
                rounds,
                start,
                results,
            ),
        )
        for first in range(processes)
    ]
    for worker in workers:
        worker.start()
    found: list[list[int]] = [[] for _ in range(rounds)]
    for _ in range(processes * threads):
        creator, won = results.get(timeout=300)
        if won is None:
            raise AssertionError(f"creator {creator} failed, see its output")
        for number in won:
            found[number].append(creator)
    for worker in workers:
        worker.join()
    return found


def _work(folder: str, creators: range, rounds: int, start: Any, results: Any) -> None:
    storage = LocalStorage(folder, fsync=False)

    def create(creator: int) -> None:
        """Take part in all rounds and report those won; a failure stops everybody."""
        try:
            won = [n for n in range(rounds) if _create(storage, f"round/{n}", creator, start)]
        except BaseException:
            start.abort()
            results.put((creator, None))
            raise
        results.put((creator, won))

    with ThreadPoolExecutor(len(creators)) as pool:
        list(pool.map(create, creators))


def _create(storage: LocalStorage, path: str, creator: int, start: Any) -> bool:
    start.wait(timeout=120)
    try:
        storage.create(path, body(creator))
        won = True
    except AlreadyExistsError:
        won = False
    data = storage.read(path)
    if len(data) != len(body(0)) or data[:32] * (len(data) // 32) != data:
        raise AssertionError(f"{path} is not whole: {len(data)} bytes")
    return won
