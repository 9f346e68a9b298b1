"""The tree when it is large: a load, single commits, bytes, objects, round trips, memory.

    python -m benchmarks.tree [--tables 1000000] [--commits 400] [--strict] [--memory]

A lakehouse is filled through the core, in transactions of 1,000 tables, each with its definition
file, on local storage without fsync (or in memory, with ``--memory``). Then single tables are
changed in it and in a lakehouse of 1,000 tables in turns. Bytes and objects are counted at the
storage; round trips are the time that a commit takes on a storage that waits a fixed time in each
call, in units of it. The load runs in a process of its own, whose memory is the engine's.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

from benchmarks.bars import Report, take_turns
from benchmarks.lakes import (
    TABLES_IN_NAMESPACE,
    Meter,
    change,
    create_tables,
    load,
    new_lake,
    open_lake,
    place,
)
from trinitylake_spark.clock import SystemClock
from trinitylake_spark.format.keys import KeyCodec, NameSizes
from trinitylake_spark.format.nodefile import Message, NodeFile, encode_node
from trinitylake_spark.format.paths import parse_root_path, root_path, table_definition_path
from trinitylake_spark.format.system import CREATED_AT
from trinitylake_spark.ids import SeededIds
from trinitylake_spark.storage.local import LocalStorage
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.tree.limits import Limits
from trinitylake_spark.tree.read import walk
from trinitylake_spark.tree.store import NodeStore
from trinitylake_spark.tree.write import apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.lakehouse.lakehouse import Lakehouse
    from trinitylake_spark.storage.base import Storage

MIB = 1024 * 1024
SMALL = 1_000
ONE_TRANSACTION = 100_000
JAVA_SECONDS = 2.9 + 1.5
"""Build and first commit of 100,000 tables by the Java successor, as peers.md measured it."""
LATENCY = 0.02


@dataclass(frozen=True)
class Loaded:
    """What a load cost.

    Args:
        seconds: of all transactions.
        bytes: written, all files.
        objects: written.
        peak_mib: the most memory that the process had.
    """

    seconds: float
    bytes: int
    objects: int
    peak_mib: float


class Waiting(Meter):
    """A storage far away: each call waits; calls that are made side by side wait side by side."""

    seconds = 0.0
    root_at = 0.0
    """When the last root was there."""

    def __init__(self, inner: Storage) -> None:
        super().__init__(inner)
        self.parallel = True

    def read(self, path: str) -> bytes:
        """Wait and pass on."""
        time.sleep(self.seconds)
        return super().read(path)

    def write(self, path: str, data: bytes) -> None:
        """Wait and pass on."""
        time.sleep(self.seconds)
        super().write(path, data)

    def write_hint(self, path: str, data: bytes) -> None:
        """Wait and pass on."""
        time.sleep(self.seconds)
        super().write_hint(path, data)

    def create(self, path: str, data: bytes) -> None:
        """Wait and pass on."""
        time.sleep(self.seconds)
        super().create(path, data)
        if parse_root_path(path) is not None:
            self.root_at = time.perf_counter()


def fill(url: str, tables: int) -> Loaded:
    """Fill a new lakehouse; runs in a process of its own if the storage is not memory."""
    meter = Meter(_storage(url))
    lake = new_lake(meter)
    began = time.perf_counter()
    load(lake, tables)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Loaded(seconds, meter.put_bytes, meter.puts, peak)


def _storage(url: str) -> Storage:
    if url.startswith("memory://"):
        return MemoryStorage(url)
    return LocalStorage(url, fsync=False)


class Bench:
    """Everything that is measured.

    Args:
        report: where the figures go.
        place: URL or folder that lakehouses are made below.
        tables: of the large lakehouse.
        commits: changes of one table to measure.
    """

    def __init__(self, report: Report, place: str, tables: int, commits: int) -> None:
        self._report = report
        self._place = place
        self._tables = tables
        self._commits = commits
        self._chance = random.Random(7)

    def run(self) -> None:
        """Measure everything."""
        large, small = f"{self._place}/large", f"{self._place}/small"
        self._load(large)
        fill(small, SMALL)
        self._one_transaction()
        big = open_lake(_storage(large))
        self._names(big)
        self._beside(big, open_lake(_storage(small)))
        self._sizes(large)
        self._trips(large)

    def _load(self, url: str) -> None:
        """Fill the large lakehouse; report what it took."""
        if url.startswith("memory://"):
            loaded = fill(url, self._tables)
        else:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                loaded = pool.apply(fill, (url, self._tables))
        lake = open_lake(_storage(url))
        root = lake.snapshot().root
        order = lake.snapshot().layout.order
        meter = Meter(lake.services.storage)
        nodes = [visit.path for visit in walk(lake.services.nodes, root.node, order=order)]
        live = sum(len(meter.read(path)) for path in nodes)
        definitions = (
            sum(_definition_bytes(lake, self._chance.randrange(self._tables)) for _ in range(100))
            / 100
            * self._tables
        )
        self._report.note(
            f"{self._tables} tables in transactions of 1,000 on {url.partition(':')[0]}:"
            f" {loaded.seconds:.0f} s, {loaded.bytes / MIB:.0f} MiB in {loaded.objects} files;"
            f" the tree's files are {(loaded.bytes - definitions) / MIB:.0f} MiB of that,"
            f" {live / MIB:.0f} MiB of them in use: write amplification"
            f" {(loaded.bytes - definitions) / live:.1f}; {len(nodes)} nodes"
        )
        if not url.startswith("memory://"):
            self._report.add("memory of a load, MiB", loaded.peak_mib, 512, "peak of the process")

    def _one_transaction(self) -> None:
        """Create many tables in one transaction, then commit once more, which flushes them."""
        name = "100,000 tables in one transaction / Java successor"
        theirs = f"theirs is not run here: {JAVA_SECONDS} s, the anchor of the issue"
        built, flushed = _tree_alone(ONE_TRANSACTION)
        how = f"{built:.1f} s and the next commit {flushed:.1f} s; {theirs}"
        self._report.add(f"{name}, tree alone", (built + flushed) / JAVA_SECONDS, 2, how)
        lake = new_lake(MemoryStorage("memory://one-transaction"))
        began = time.perf_counter()
        with lake.transaction() as transaction:
            create_tables(transaction, range(ONE_TRANSACTION))
        built = time.perf_counter() - began
        change(lake, [0], 1)
        flushed = time.perf_counter() - began - built
        how = f"{built:.1f} s and the next commit {flushed:.1f} s, in memory; theirs is the tree"
        self._report.add(f"{name}, with definitions", (built + flushed) / JAVA_SECONDS, 2, how)

    def _names(self, lake: Lakehouse) -> None:
        """SHOW TABLES of one namespace among many."""
        times: dict[str, list[float]] = {"cold": [], "warm": []}
        for _ in range(20):
            namespace, _table = place(self._chance.randrange(self._tables))
            for kind, times_of_kind in times.items():
                began = time.perf_counter()
                found = len(lake.tables(namespace))
                times_of_kind.append((time.perf_counter() - began) * 1e3)
                assert found == TABLES_IN_NAMESPACE, kind
        how = f"ms, nodes not cached; cached {median(times['warm']):.2f} ms"
        self._report.add("SHOW TABLES of 100", median(times["cold"]), 10, how)

    def _beside(self, large: Lakehouse, small: Lakehouse) -> None:
        """One-table commits on both, in turns."""
        for _ in range(200):
            change(small, [self._chance.randrange(SMALL)], 1)
            change(large, [self._chance.randrange(self._tables)], 1)
        pairs = take_turns(
            lambda n: change(large, [self._chance.randrange(self._tables)], n),
            lambda n: change(small, [self._chance.randrange(SMALL)], n),
            pairs=self._commits,
        )
        name = f"commit at {self._tables} tables / at {SMALL}"
        self._report.pair(f"{name}, median", pairs, 2)
        ratio = mean(pairs.ours) / mean(pairs.peer)
        how = f"{mean(pairs.ours):.2f} ms to {mean(pairs.peer):.2f} ms, flushes included"
        self._report.add(f"{name}, mean", ratio, 2, how)

    def _sizes(self, url: str) -> None:
        """Bytes and objects of one-table commits."""
        meter = Meter(_storage(url))
        lake = open_lake(meter)
        for where, limit in (("anywhere", self._tables), ("100 in use", 100)):
            bytes_put, objects = [], []
            for number in range(self._commits):
                meter.clear()
                change(lake, [self._chance.randrange(limit)], number)
                bytes_put.append(meter.put_bytes)
                objects.append(meter.puts)
            node_size = lake.snapshot().layout.limits.node_file_max_size_bytes
            bytes_put.sort()
            objects.sort()
            last = len(objects) - 1
            self._report.add(
                f"one table changed, {where}: bytes",
                median(bytes_put),
                64_000,
                f"median; mean {mean(bytes_put):.0f}, 95 % {bytes_put[int(0.95 * last)]},"
                f" max {bytes_put[-1]}; {_share(bytes_put, 64_000)} within the aim",
            )
            self._report.add(
                f"one table changed, {where}: objects",
                median(objects),
                6,
                f"median with the hint; mean {mean(objects):.2f}, max {objects[-1]};"
                f" {_share(objects, 6)} within the aim",
            )
            how = "mean bytes / node_file_max_size_bytes"
            self._report.add(f"node sizes a commit, {where}", mean(bytes_put) / node_size, 2, how)

    def _trips(self, url: str) -> None:
        """Sequential round trips of a commit, with everything cached and with nothing."""
        waiting = Waiting(_storage(url))
        lake = open_lake(waiting)
        trips: dict[str, list[tuple[int, int]]] = {"warm": [], "cold": []}
        for number in range(20):
            # Change the same table twice: the second time its definition is cached too.
            table = self._chance.randrange(self._tables)
            change(lake, [table], number)
            trips["warm"].append(_trips(waiting, lambda: lake, table))
            other = self._chance.randrange(self._tables)
            trips["cold"].append(_trips(waiting, lambda: open_lake(waiting), other))
        for kind, aim in (("warm", 3), ("cold", 9)):
            until_root, until_return = ([trip[i] for trip in trips[kind]] for i in range(2))
            how = (
                f"median, until the commit stands, most {max(until_root)};"
                f" until commit() returns {median(until_return):.0f}"
            )
            self._report.add(f"sequential round trips, {kind}", median(until_root), aim, how)


def _tree_alone(tables: int) -> tuple[float, float]:
    """Put many keys into an empty tree and commit, then one more; return the seconds of both."""
    storage, ids, limits = MemoryStorage("memory://alone"), SeededIds(1), Limits()
    nodes, keys = NodeStore(storage), KeyCodec(NameSizes())
    root = NodeFile({CREATED_AT: "0"}, [], [], [])
    seconds = []
    for version, numbers in enumerate((range(tables), range(1))):
        began = time.perf_counter()
        txn = ids.uuid4()
        messages = [
            Message(keys.table_key(*place(n)), table_definition_path(*place(n), txn, 200), txn)
            for n in numbers
        ]
        system = {CREATED_AT: str(version)}
        made = apply(nodes, root, messages, limits, ids, SystemClock(), system=system, keep_txn=txn)
        for path, node in made.nodes.items():
            storage.create(path, encode_node(node, limits.order))
        storage.create(root_path(version), encode_node(made.root, limits.order))
        seconds.append(time.perf_counter() - began)
        root = made.root
    return seconds[0], seconds[1]


def _definition_bytes(lake: Lakehouse, number: int) -> int:
    entry = lake.snapshot().table(*place(number))
    return len(entry.definition.SerializeToString())


def _share(values: list[int], aim: int) -> str:
    return f"{sum(value <= aim for value in values) / len(values):.0%}"


def _trips(storage: Waiting, make: Callable[[], Lakehouse], table: int) -> tuple[int, int]:
    """Change a table; return how often that waited until the root was there, and until the end."""
    storage.seconds = LATENCY
    began = time.perf_counter()
    change(make(), [table], 1)
    ended = time.perf_counter()
    storage.seconds = 0.0
    return int((storage.root_at - began) / LATENCY), int((ended - began) / LATENCY)


def main() -> int:
    """Run what the arguments ask for; return the exit code."""
    parser = argparse.ArgumentParser(prog="benchmarks.tree")
    parser.add_argument("--tables", type=int, default=1_000_000)
    parser.add_argument("--commits", type=int, default=400)
    parser.add_argument("--memory", action="store_true", help="no files; memory is not judged then")
    parser.add_argument("--strict", action="store_true", help="a bar missed is a failure")
    parser.add_argument("--folder", help="where the files go; default: the system's for such")
    arguments = parser.parse_args()
    report = Report(f"a tree of {arguments.tables} tables")
    with tempfile.TemporaryDirectory(prefix="trinitylake-bench-", dir=arguments.folder) as folder:
        where = "memory://bench" if arguments.memory else str(Path(folder))
        Bench(report, where, arguments.tables, arguments.commits).run()
    return report.finish(strict=arguments.strict)


if __name__ == "__main__":
    sys.exit(main())
