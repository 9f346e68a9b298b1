"""The tree alone: apply one message, load in bulk, look up, scan; no definitions, no Spark.

    python -m benchmarks.tree_core [--keys 1000 100000 1000000] [--commits 2000] [--load]

Nodes go to memory, so the times are those of the tree and of encoding, and the bytes and files
are exact. ``--load`` also creates the largest number of keys in transactions of 1,000, on disk
without fsync, and reports time, bytes, files, write amplification and this process's memory.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from statistics import mean, median
from typing import TYPE_CHECKING, NamedTuple

from trinitylake_spark.clock import SystemClock
from trinitylake_spark.format.keys import KeyCodec, NameSizes
from trinitylake_spark.format.nodefile import Message, NodeFile, encode_node
from trinitylake_spark.format.paths import optimise_path, root_path
from trinitylake_spark.format.system import CommitKind, Isolation, RootInfo
from trinitylake_spark.ids import SeededIds
from trinitylake_spark.storage.local import LocalStorage
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.tree.limits import Limits
from trinitylake_spark.tree.read import lookup, scan, walk
from trinitylake_spark.tree.store import NodeStore
from trinitylake_spark.tree.write import apply

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trinitylake_spark.storage.base import Storage

TABLES_IN_NAMESPACE = 100
BATCH = 1_000
MIB = 1024 * 1024
DEFINITION = "_lakehouse_def_6fcb514b-b878-4c9d-95b7-8dc3a7ce6fd8.binpb"


class Commit(NamedTuple):
    """What one commit cost."""

    root_bytes: int
    node_bytes: int
    nodes: int
    seconds: float

    @property
    def written(self) -> int:
        """Bytes of all files."""
        return self.root_bytes + self.node_bytes


class Bench:
    """A tree that measures its commits.

    Args:
        storage: where the files go.
    """

    def __init__(self, storage: Storage) -> None:
        self.limits = Limits()
        self.storage = storage
        self.store = NodeStore(storage)
        self.ids = SeededIds(1)
        self.clock = SystemClock()
        self.codec = KeyCodec(NameSizes())
        self.version = 0
        self.root = NodeFile(self._system("t0"), [], [], [])

    def key(self, i: int) -> str:
        """The key of table i."""
        namespace, table = divmod(i, TABLES_IN_NAMESPACE)
        return self.codec.table_key(f"ns{namespace:05d}", f"table_{table:03d}")

    def value(self, i: int) -> str:
        """A new definition path for table i."""
        return optimise_path(f"table-table_{i % 100:03d}-ns{i // 100:05d}-{self.ids.uuid4()}.binpb")

    def commit(self, tables: Iterable[int]) -> Commit:
        """Change some tables in one txn."""
        txn = self.ids.uuid4()
        messages = [Message(self.key(i), self.value(i), txn) for i in tables]
        system = self._system(txn)
        started = time.perf_counter()
        change = apply(
            self.store,
            self.root,
            messages,
            self.limits,
            self.ids,
            self.clock,
            system=system,
            keep_txn=txn,
        )
        order = self.limits.order
        files = {path: encode_node(node, order) for path, node in change.nodes.items()}
        root = encode_node(change.root, order)
        for path, data in files.items():
            self.storage.create(path, data)
            self.store.put_cache(path, change.nodes[path])
        self.version += 1
        self.storage.create(root_path(self.version), root)
        seconds = time.perf_counter() - started
        self.root = change.root
        return Commit(len(root), sum(map(len, files.values())), len(files), seconds)

    def load(self, keys: int) -> list[Commit]:
        """Create tables in transactions of 1,000."""
        return [self.commit(range(i, min(i + BATCH, keys))) for i in range(0, keys, BATCH)]

    def _system(self, txn: str) -> dict[str, str]:
        return RootInfo(
            created_at_millis=self.clock.now_millis(),
            lakehouse_def=DEFINITION,
            version=self.version,
            previous_root=root_path(self.version),
            txn_id=txn,
            time_version=self.clock.now_millis(),
            commit_kind=CommitKind.LOGICAL,
            isolation=Isolation.SNAPSHOT,
            actions=[b"x" * 120],
        ).to_rows()


def memory_mib() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report(label: str, commits: list[Commit]) -> None:
    """Print one line about many commits."""
    written = sorted(each.written for each in commits)
    small = sum(size <= 64 * 1024 for size in written) / len(written)
    print(
        f"  {label:<24} ms median {1e3 * median(c.seconds for c in commits):7.2f}"
        f" mean {1e3 * mean(c.seconds for c in commits):7.2f}"
        f" | bytes median {median(written):9.0f} mean {mean(written):9.0f}"
        f" max {written[-1]:10d}, at most 64 KiB {small:6.1%}"
        f" | files mean {1 + mean(c.nodes for c in commits):5.2f}"
    )


def measure(keys: int, commits: int) -> None:
    """Load a lake of ``keys`` tables and measure single changes and reads on it."""
    storage = MemoryStorage(f"memory://bench-{keys}")
    bench = Bench(storage)
    bench.load(keys)
    chance = random.Random(7)
    order = bench.limits.order
    height = max((visit.depth for visit in walk(bench.store, bench.root, order=order)), default=0)
    print(f"{keys} keys, {height} levels below the root")
    first = bench.commit([0])
    print(f"  first change after load: {first.written} bytes, {1 + first.nodes} files")
    report("one table, anywhere", [bench.commit([chance.randrange(keys)]) for _ in range(commits)])
    report("one table, 100 in use", [bench.commit([chance.randrange(100)]) for _ in range(commits)])
    wanted = [bench.key(chance.randrange(keys)) for _ in range(1_000)]
    for label in ("cold", "warm"):
        started = time.perf_counter()
        for key in wanted:
            lookup(bench.store, bench.root, key, order)
        print(f"  lookup, {label}: {1e3 * (time.perf_counter() - started) / len(wanted):.4f} ms")
    started = time.perf_counter()
    prefix = bench.codec.tables_prefix("ns00003")
    found = sum(1 for _ in scan(bench.store, bench.root, prefix, prefix + "~", order=order))
    print(f"  names of a namespace of {found}: {1e3 * (time.perf_counter() - started):.2f} ms")
    storage.clear()


def bulk(keys: int) -> None:
    """One txn of many tables, and the next commit, which flushes all of them."""
    bench = Bench(MemoryStorage("memory://bench-bulk"))
    bench.load(BATCH)
    report(f"{keys} in one commit", [bench.commit(range(BATCH, BATCH + keys))])
    report("the next commit", [bench.commit([0])])


def load(keys: int) -> None:
    """Many tables in transactions of 1,000, in files."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(LocalStorage(folder, fsync=False))
        started = time.perf_counter()
        commits = bench.load(keys)
        seconds = time.perf_counter() - started
        written = sum(each.written for each in commits)
        content = len(encode_node(bench.root, bench.limits.order)) + sum(
            len(encode_node(visit.node, bench.limits.order))
            for visit in walk(bench.store, bench.root, order=bench.limits.order)
        )
        print(
            f"{keys} tables in transactions of {BATCH}: {seconds:.1f} s, {written / MIB:.0f} MiB,"
            f" {sum(1 + each.nodes for each in commits)} files,"
            f" write amplification {written / content:.1f}, memory {memory_mib():.0f} MiB"
        )


def main() -> None:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--keys", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--commits", type=int, default=2_000)
    parser.add_argument("--load", action="store_true")
    arguments = parser.parse_args()
    if arguments.load:
        load(max(arguments.keys))
    print("bulk")
    bulk(100_000)
    for keys in arguments.keys:
        measure(keys, arguments.commits)


if __name__ == "__main__":
    main()
