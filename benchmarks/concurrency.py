"""Many writers at once: commits a second, retries, waiting times, fairness; beside Icechunk.

Every writer appends to a Delta table through the core, without Spark, and waits for each commit.
The storage is memory with a latency added to every call, so the figures are those of the commit
protocol. The writers are

- *one engine*: sessions of one process, whose commits stand in line;
- *own engines*: they know nothing of each other and race for each version, yet share one Python,
  where only one of them computes at a time;
- *own machines*: the same on a virtual clock, as if nobody waited for a CPU (needs a latency).

Run it with ``python -m benchmarks.concurrency``, or ``--writers 8 --latency 0 --commits 50``.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from benchmarks.slow import RealTime, SlowStorage
from benchmarks.virtual_time import VirtualStorage, VirtualTime
from trinitylake_spark.delta.entry import Entry, encode_entry
from trinitylake_spark.delta.table import read_table
from trinitylake_spark.delta.table_format import DeltaFormat
from trinitylake_spark.errors import CommitConflictError
from trinitylake_spark.format.definitions import new_lakehouse_definition
from trinitylake_spark.ids import SystemIds
from trinitylake_spark.lakehouse.create import create_lakehouse
from trinitylake_spark.lakehouse.lakehouse import Lakehouse
from trinitylake_spark.lakehouse.services import Services
from trinitylake_spark.lakehouse.turns import FairTurns, NoTurns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.slow import Stage
    from trinitylake_spark.lakehouse.transaction import Transaction

_SCHEMA = pa.schema([("a", pa.int32())])
_MANY_TABLES = 50
_PEER_WRITERS = 8
_EVEN = 1 / 3
_KEEPS = 0.8
ONE_ENGINE, OWN_ENGINES, OWN_MACHINES = WHO = ("one engine", "own engines", "own machines")
_names = count()


@dataclass
class Result:
    """What one setting gave.

    Args:
        writers: how many.
        commits: acknowledged ones.
        failed: commits that ended with an error.
        seconds: from the first to the last.
        fairness: the slowest writer's rate over the fastest's.
        waits: of each commit, milliseconds.
        who: ours or a peer, and how the writers are related.
        tables: ``one`` or ``own``.
        latency_ms: of each storage call.
        retries: attempts beyond the first, of one commit on average.
        overtaken: by how many versions a commit was overtaken at most.
    """

    writers: int
    commits: int
    failed: int
    seconds: float
    fairness: float
    waits: list[float] = field(repr=False)
    who: str = ""
    tables: str = "own"
    latency_ms: float = 0.0
    retries: float = 0.0
    overtaken: int = 0

    @property
    def rate(self) -> float:
        """Commits a second."""
        return self.commits / self.seconds

    def percentile(self, share: float) -> float:
        """Return the wait that a share of all commits does not exceed."""
        ordered = sorted(self.waits)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def race(stage: Stage, writers: int, commits: int, commit: Callable[[int, int], bool]) -> Result:
    """Let writers commit at the same time; return what was measured, still without a name.

    Args:
        stage: runs them.
        writers: how many.
        commits: of each.
        commit: does commit ``n`` of writer ``w``; False if it failed for good.
    """
    failed: list[int] = []
    waits: list[float] = []
    times: list[float] = []
    began = stage.monotonic()

    def work(writer: int) -> None:
        """Run one writer to its end."""
        for number in range(commits):
            start = stage.monotonic()
            if commit(writer, number):
                waits.append((stage.monotonic() - start) * 1000)
            else:
                failed.append(writer)
        times.append(stage.monotonic() - began)

    stage.run([partial(work, writer) for writer in range(writers)])
    return Result(
        writers=writers,
        commits=len(waits),
        failed=len(failed),
        seconds=stage.monotonic() - began,
        fairness=min(times) / max(times),
        waits=waits,
    )


# --- ours ----------------------------------------------------------------------------------------


@dataclass
class Place:
    """A lakehouse in memory, behind a network.

    Args:
        stage: the time of the network and of everybody.
        storage: of the tree.
        warehouse: of the data.
    """

    stage: Stage
    storage: SlowStorage
    warehouse: SlowStorage

    @classmethod
    def create(cls, stage: Stage, names: Iterable[str]) -> Place:
        """Make a lakehouse with some tables; its network is quick for now."""
        url = f"memory://concurrency-{next(_names)}"
        urls = (url, f"{url}/data")
        if isinstance(stage, VirtualTime):
            place = cls(stage, *(VirtualStorage(each, stage) for each in urls))
        else:
            place = cls(stage, *(SlowStorage(each, stage) for each in urls))
        lake = place.open()
        create_lakehouse(lake.services, new_lakehouse_definition(), probe=False)
        with lake.transaction() as transaction:
            transaction.create_namespace("ns")
            for name in dict.fromkeys(names):
                transaction.create_table("ns", name, _SCHEMA)
        return place

    def open(self, *, queue: bool = False) -> Lakehouse:
        """Open the lakehouse, as another process would unless its commits queue up."""
        ids = self.stage.ids if isinstance(self.stage, VirtualTime) else SystemIds()
        services = Services(
            self.storage,
            formats=[DeltaFormat()],
            warehouse=self.warehouse,
            clock=self.stage,
            ids=ids,
            turns=FairTurns() if queue else NoTurns(),
        )
        return Lakehouse(services)

    def set_latency(self, seconds: float) -> None:
        """Let every call take so long from now on."""
        self.storage.seconds = self.warehouse.seconds = seconds


def ours(
    writers: int, commits: int, latency: float, *, one_table: bool, who: str = ONE_ENGINE
) -> Result:
    """Append to Delta tables.

    Args:
        writers: how many.
        commits: of each.
        latency: of each storage call, seconds.
        one_table: all append to the same table.
        who: how the writers are related.
    """
    names = ["t"] * writers if one_table else [f"t{n}" for n in range(writers)]
    place = Place.create(VirtualTime(1) if who == OWN_MACHINES else RealTime(), names)
    shared = [place.open(queue=True)] * writers
    lakes = shared if who == ONE_ENGINE else [place.open() for _ in range(writers)]
    for lake in lakes:
        lake.snapshot()
    place.storage.roots = 0
    place.set_latency(latency)

    def commit(writer: int, number: int) -> bool:
        """One commit of one writer."""
        transaction = lakes[writer].begin()
        append(lakes[writer], transaction, names[writer], f"{writer}-{number}")
        try:
            transaction.commit()
        except CommitConflictError:
            return False
        return True

    result = race(place.stage, writers, commits, commit)
    place.set_latency(0)
    result.who, result.tables = who, "one" if one_table else "own"
    result.latency_ms = latency * 1000
    result.retries = (place.storage.roots - result.commits) / max(1, result.commits)
    result.overtaken = _check(place.open(), set(names), result.commits)
    place.storage.clear()
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
    names = [f"t{n}" for n in range(_MANY_TABLES)]
    place = Place.create(RealTime(), names)
    lake = place.open(queue=True)
    place.set_latency(latency)
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
    place.storage.clear()
    return medians[0], medians[1]


def _delta(lake: Lakehouse) -> DeltaFormat:
    found = lake.services.table_format()
    assert isinstance(found, DeltaFormat)
    return found


def _check(lake: Lakehouse, names: set[str], commits: int) -> int:
    """Return how often a commit was overtaken at most.

    Raises:
        AssertionError: an acknowledged commit is not there once; a fast wrong answer is none.
    """
    snapshot = lake.snapshot()
    found = sum(read_table(snapshot.table("ns", n).definition).segment.version for n in names)
    if found != commits:
        message = f"{commits} commits were acknowledged, {found} are in the logs"
        raise AssertionError(message)
    roots = lake.services.finder.roots(range(2, snapshot.version + 1))
    return max(root.info.overtaken for root in roots)


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

    result = race(RealTime(), writers, commits, commit)
    result.who = f"icechunk {ic.__version__}"
    result.retries = (next(attempts) - result.commits) / max(1, result.commits)
    return result


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
        "overtaken",
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
            f"{each.rate:.0f}" if each.rate > 20 else f"{each.rate:.1f}",
            f"[red]{each.failed}" if each.failed else "0",
            f"{each.retries:.1f}",
            str(each.overtaken),
            f"{each.percentile(0.5):.0f}",
            f"{each.percentile(0.99):.0f}",
            f"[{fair}]{each.fairness:.2f}",
        )
    return table


def aims(results: Sequence[Result]) -> list[str]:
    """Say what eight writers reach: many are no slower than one, nobody fails, nobody starves."""
    lines = []
    for many in (r for r in results if r.writers == _PEER_WRITERS):
        alike = (many.who, many.tables, many.latency_ms)
        alone = next(
            (r for r in results if r.writers == 1 and (r.who, r.tables, r.latency_ms) == alike),
            None,
        )
        if alone is None:
            continue
        kept = many.rate / alone.rate
        reached = [kept >= _KEEPS, many.failed == 0, many.fairness >= _EVEN]
        marks = ["[green]yes[/]" if each else "[red]no[/]" for each in reached]
        lines.append(
            f"{many.who}, {many.tables} {'table' if many.tables == 'one' else 'tables'}, "
            f"{many.latency_ms:.0f} ms: {kept:.2f} of one writer's rate (aim ≥ {_KEEPS}: "
            f"{marks[0]}), {many.failed} failed (aim 0: {marks[1]}), slowest/fastest "
            f"{many.fairness:.2f} (aim ≥ {_EVEN:.2f}: {marks[2]})"
        )
    return lines


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="benchmarks.concurrency", description=__doc__)
    parser.add_argument("--writers", type=int, nargs="+", default=[1, 4, 8, 16, 64])
    parser.add_argument("--latency", type=float, nargs="+", default=[0, 5, 50], help="ms")
    parser.add_argument("--commits", type=int, default=10, help="of each writer")
    parser.add_argument("--who", nargs="+", choices=WHO, default=WHO)
    parser.add_argument("--json", type=Path, help="also write all results to this file")
    arguments = parser.parse_args()
    console = Console(width=120)
    results = [
        ours(writers, arguments.commits, ms / 1000, one_table=one_table, who=who)
        for ms in arguments.latency
        for who in arguments.who
        if ms > 0 or who != OWN_MACHINES
        for one_table in (False, True)
        for writers in arguments.writers
    ]
    peers = [icechunk(writers, arguments.commits) for writers in arguments.writers]
    results += [peer for peer in peers if peer is not None]
    console.print(report(results))
    for line in aims(results):
        console.print(line)
    if None in peers:
        console.print("Icechunk is missing: make bench-writers installs it")
    for ms in arguments.latency:
        one, many = many_tables(ms / 1000)
        console.print(f"latency {ms:.0f} ms: commit of 1 table {one:.0f} ms, of 50 {many:.0f} ms")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(r) for r in results], indent=1))


if __name__ == "__main__":
    main()
