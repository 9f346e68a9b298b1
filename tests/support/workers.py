"""The same work in several processes at once, and what each reports."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MINUTES = 30
"""How long a process may take."""


def run_workers(
    work: Callable[..., None], arguments: Sequence[tuple[Any, ...]], *, parties: int = 0
) -> list[Any]:
    """Run processes to their end; none is left behind.

    Args:
        work: what each does; it puts one report into the queue, which is its last argument.
        arguments: of each process.
        parties: how many wait for each other at a barrier, the last argument but one; 0 for none.
    """
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    shared = (context.Barrier(parties), results) if parties else (results,)
    workers = [context.Process(target=work, args=(*own, *shared), daemon=True) for own in arguments]
    for worker in workers:
        worker.start()
    try:
        return [results.get(timeout=MINUTES * 60) for _ in workers]
    finally:
        for worker in workers:
            worker.join(10)
            worker.kill()
            worker.join()
