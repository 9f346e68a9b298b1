"""Many writers at once: commits a second, retries, waiting times, fairness; beside Icechunk.

Every writer appends to a Delta table through the core, without Spark, and waits for each commit.
The storage is memory with a latency added to every call, so the figures are those of the commit
protocol. *One engine* is one process, whose commits queue up; *own engines* are writers that know
nothing of each other, as in as many processes, and race for each version.

Run it with ``python -m benchmarks.concurrency``, or ``--writers 8 --latency 0 --commits 50``.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from trinitylake_spark.delta.entry import Entry, encode_entry
from trinitylake_spark.delta.table import read_table
from trinitylake_spark.delta.table_format import DeltaFormat
from trinitylake_spark.errors import CommitConflictError
from trinitylake_spark.format.definitions import new_lakehouse_definition
from trinitylake_spark.format.paths import parse_root_path
from trinitylake_spark.lakehouse.create import create_lakehouse
from trinitylake_spark.lakehouse.lakehouse import Lakehouse
from trinitylake_spark.lakehouse.services import Services
from trinitylake_spark.lakehouse.turns import NoTurns
from trinitylake_spark.storage.base import Storage
from trinitylake_spark.storage.memory import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trinitylake_spark.lakehouse.transaction import Transaction

_SCHEMA = pa.schema([("a", pa.int32())])
_MANY_TABLES = 50
_PEER_WRITERS = 8
_EVEN = 1 / 3
_KEEPS = 0.8
_names = count()


class SlowStorage(Storage):
    """Memory behind a network: every call takes a time of its own, calls run side by side.

    Args:
        url: of the memory.
        seconds: added to each call.
    """

    def __init__(self, url: str, seconds: float) -> None:
        self._inner = MemoryStorage(url)
        self._seconds = seconds
        self.url = self._inner.url
        self.roots = 0
        """Roots that somebody tried to create."""

    def read(self, path: str) -> bytes:
        """Wait and pass on."""
        self._wait()
        return self._inner.read(path)

    def write(self, path: str, data: bytes) -> None:
        """Wait and pass on."""
        self._wait()
        self._inner.write(path, data)

    def create(self, path: str, data: bytes) -> None:
        """Wait and pass on."""
        if parse_root_path(path) is not None:
            self.roots += 1
        self._wait()
        self._inner.create(path, data)

    def delete(self, path: str) -> None:
        """Wait and pass on."""
        self._wait()
        self._inner.delete(path)

    def exists(self, path: str) -> bool:
        """Wait and pass on."""
        self._wait()
        return self._inner.exists(path)

    def list(self, prefix: str = "") -> list[str]:
        """Wait and pass on."""
        self._wait()
        return self._inner.list(prefix)

    def clear(self) -> None:
        """Forget everything."""
        self._inner.clear()

    def _wait(self) -> None:
        if self._seconds:
            time.sleep(self._seconds)


@dataclass
class Result:
    """What one setting gave.

    Args:
        who: ours or a peer, and how the writers are related.
        tables: ``one`` or ``own``.
        latency_ms: of each storage call.
        writers: how many.
        commits: acknowledged ones.
        failed: commits that ended with an error.
        seconds: from the first to the last.
        retries: attempts beyond the first, of one commit on average.
        waits: of each commit, milliseconds.
        fairness: the slowest writer's rate over the fastest's.
    """

    who: str
    tables: str
    latency_ms: float
    writers: int
    commits: int
    failed: int
    seconds: float
    retries: float
    fairness: float
    waits: list[float] = field(default_factory=list, repr=False)

    @property
    def rate(self) -> float:
        """Commits a second."""
        return self.commits / self.seconds

    def percentile(self, share: float) -> float:
        """Return the wait that a share of all commits does not exceed."""
        ordered = sorted(self.waits)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def race(writers: int, commits: int, commit: Callable[[int, int], bool]) -> dict[str, Any]:
    """Let writers commit at the same time; return what ``Result`` wants to know.

    Args:
        writers: how many.
        commits: of each.
        commit: does commit ``n`` of writer ``w``; False if it failed for good.
    """
    failed: list[int] = []
    waits: list[float] = []

    def work(writer: int) -> float:
        """Run one writer to its end; return its seconds."""
        began = time.perf_counter()
        for number in range(commits):
            start = time.perf_counter()
            if commit(writer, number):
                waits.append((time.perf_counter() - start) * 1000)
            else:
                failed.append(writer)
        return time.perf_counter() - began

    began = time.perf_counter()
    with ThreadPoolExecutor(writers) as pool:
        times = list(pool.map(work, range(writers)))
    return {
        "writers": writers,
        "commits": len(waits),
        "failed": len(failed),
        "seconds": time.perf_counter() - began,
        "fairness": min(times) / max(times),
        "waits": waits,
    }


# --- ours ----------------------------------------------------------------------------------------


def ours(writers: int, commits: int, latency: float, *, one_table: bool, engines: bool) -> Result:
    """Append to Delta tables.

    Args:
        writers: how many.
        commits: of each.
        latency: of each storage call, seconds.
        one_table: all append to the same table.
        engines: every writer has an engine of its own.
    """
    url = f"memory://concurrency-{next(_names)}"
    storage, warehouse = SlowStorage(url, 0), SlowStorage(f"{url}/data", 0)
    first = _open(storage, warehouse, queue=True)
    create_lakehouse(first.services, new_lakehouse_definition(), probe=False)
    names = ["t"] * writers if one_table else [f"t{n}" for n in range(writers)]
    _create(first, names)
    storage._seconds = warehouse._seconds = latency
    lakes = [_open(storage, warehouse, queue=False) if engines else first for _ in range(writers)]
    for lake in lakes:
        lake.snapshot()
    storage.roots = 0

    def commit(writer: int, number: int) -> bool:
        """One commit of one writer."""
        transaction = lakes[writer].begin()
        append(lakes[writer], transaction, names[writer], f"{writer}-{number}")
        try:
            transaction.commit()
        except CommitConflictError:
            return False
        return True

    measured = race(writers, commits, commit)
    storage._seconds = 0
    _check(first, set(names), measured["commits"])
    result = Result(
        who="own engines" if engines else "one engine",
        tables="one" if one_table else "own",
        latency_ms=latency * 1000,
        retries=(storage.roots - measured["commits"]) / max(1, measured["commits"]),
        **measured,
    )
    storage.clear()
    return result


def append(lake: Lakehouse, transaction: Transaction, name: str, file: str) -> None:
    """Do what the engine does with the log entry of an INSERT."""
    base = transaction.table("ns", name, record=False).definition
    info = {
        "timestamp": 1,
        "operation": "WRITE",
        "operationParameters": {"mode": "Append"},
        "isBlindAppend": True,
    }
    add = {
        "path": file,
        "partitionValues": {},
        "size": 1,
        "modificationTime": 1,
        "dataChange": True,
    }
    table = read_table(base)
    staged = _delta(lake).stage(
        lake.services.format_context,
        base,
        encode_entry(Entry((("commitInfo", info), ("add", add)))),
        version=table.segment.version + 1,
        written_on=table.counters,
    )
    transaction.change_table("ns", name, staged.definition, staged.change)


def many_tables(latency: float) -> tuple[float, float]:
    """Return the time of a commit of one table, and of one of fifty, milliseconds."""
    url = f"memory://concurrency-{next(_names)}"
    storage, warehouse = SlowStorage(url, 0), SlowStorage(f"{url}/data", 0)
    lake = _open(storage, warehouse, queue=True)
    create_lakehouse(lake.services, new_lakehouse_definition(), probe=False)
    names = [f"t{n}" for n in range(_MANY_TABLES)]
    _create(lake, names)
    storage._seconds = warehouse._seconds = latency
    medians = []
    for number in (1, _MANY_TABLES):
        times = []
        for attempt in range(5):
            transaction = lake.begin()
            for name in names[:number]:
                append(lake, transaction, name, f"{number}-{attempt}")
            began = time.perf_counter()
            transaction.commit()
            times.append((time.perf_counter() - began) * 1000)
        medians.append(median(times))
    storage.clear()
    return medians[0], medians[1]


def _open(storage: SlowStorage, warehouse: SlowStorage, *, queue: bool) -> Lakehouse:
    services = Services(
        storage,
        formats=[DeltaFormat()],
        warehouse=warehouse,
        turns=None if queue else NoTurns(),
    )
    return Lakehouse(services)


def _delta(lake: Lakehouse) -> DeltaFormat:
    found = lake.services.table_format()
    assert isinstance(found, DeltaFormat)
    return found


def _create(lake: Lakehouse, names: Sequence[str]) -> None:
    with lake.transaction() as transaction:
        transaction.create_namespace("ns")
        for name in dict.fromkeys(names):
            transaction.create_table("ns", name, _SCHEMA)


def _check(lake: Lakehouse, names: set[str], commits: int) -> None:
    """Fail unless every acknowledged commit is there, once: a fast wrong answer is none."""
    snapshot = lake.snapshot()
    found = sum(read_table(snapshot.table("ns", n).definition).segment.version for n in names)
    if found != commits:
        message = f"{commits} commits were acknowledged, {found} are in the logs"
        raise AssertionError(message)


# --- a peer --------------------------------------------------------------------------------------


def icechunk(writers: int, commits: int) -> Result | None:
    """Write chunks of arrays through Icechunk in memory, rebasing on conflict; None without it."""
    try:
        import icechunk as ic
        import zarr
    except ImportError:
        return None
    repository = ic.Repository.create(ic.in_memory_storage())
    session = repository.writable_session("main")
    group = zarr.open_group(session.store)
    for writer in range(writers):
        group.create_array(f"a{writer}", shape=(commits,), chunks=(1,), dtype="i4")
    session.commit("arrays")
    attempts = count()

    def commit(writer: int, number: int) -> bool:
        """One commit of one writer."""
        session = repository.writable_session("main")
        zarr.open_group(session.store)[f"a{writer}"][number] = number + 1
        for _ in range(1000):
            next(attempts)
            try:
                session.commit("append")
            except ic.ConflictError:
                session.rebase(ic.ConflictDetector())
            else:
                return True
        return False

    measured = race(writers, commits, commit)
    retries = (next(attempts) - measured["commits"]) / max(1, measured["commits"])
    return Result(
        who=f"icechunk {ic.__version__}", tables="own", latency_ms=0, retries=retries, **measured
    )


# --- report --------------------------------------------------------------------------------------


def report(results: Sequence[Result]) -> Table:
    """Make the table for a person."""
    table = Table(title="commits of many writers at once")
    for name in (
        "who",
        "tables",
        "latency ms",
        "writers",
        "commits/s",
        "failed",
        "retries",
        "p50 ms",
        "p99 ms",
        "fairness",
    ):
        table.add_column(name, justify="left" if name in ("who", "tables") else "right")
    for each in results:
        fair = "green" if each.fairness >= _EVEN else "red"
        table.add_row(
            each.who,
            each.tables,
            f"{each.latency_ms:.0f}",
            str(each.writers),
            f"{each.rate:.0f}",
            f"[red]{each.failed}" if each.failed else "0",
            f"{each.retries:.2f}",
            f"{each.percentile(0.5):.0f}",
            f"{each.percentile(0.99):.0f}",
            f"[{fair}]{each.fairness:.2f}",
        )
    return table


def beside_icechunk(console: Console, commits: int) -> list[Result]:
    """Print what eight writers keep of one writer's rate, ours and the peer's."""
    results: list[Result] = []
    for name, run in (
        ("ours", lambda w: ours(w, commits, 0, one_table=False, engines=False)),
        ("icechunk", lambda w: icechunk(w, commits)),
    ):
        alone, many = run(1), run(_PEER_WRITERS)
        if alone is None or many is None:
            console.print("icechunk is missing: pip install icechunk zarr")
            continue
        kept = many.rate / alone.rate
        aim = f", aim ≥ {_KEEPS}" if name == "ours" else ""
        console.print(
            f"{name}: {_PEER_WRITERS} writers {many.rate:.0f} commits/s, "
            f"{kept:.2f} of one writer's{aim}; {many.failed} failed"
        )
        results += [alone, many]
    return results


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.concurrency", description=__doc__)
    parser.add_argument("--writers", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--latency", type=float, nargs="+", default=[0, 5, 50], help="ms")
    parser.add_argument("--commits", type=int, default=10, help="of each writer")
    parser.add_argument("--json", type=Path, help="also write all results to this file")
    arguments = parser.parse_args()
    console = Console()
    results = [
        ours(writers, arguments.commits, ms / 1000, one_table=one_table, engines=engines)
        for ms in arguments.latency
        for engines in (False, True)
        for one_table in (False, True)
        for writers in arguments.writers
    ]
    console.print(report(results))
    for ms in arguments.latency:
        one, many = many_tables(ms / 1000)
        console.print(f"latency {ms:.0f} ms: commit of 1 table {one:.0f} ms, of 50 {many:.0f} ms")
    results += beside_icechunk(console, arguments.commits)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(r) for r in results], indent=1))


if __name__ == "__main__":
    main()
