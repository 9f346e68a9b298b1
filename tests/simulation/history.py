"""What must be true of a history, whatever happened: checked from the stored bytes alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.support.lakes import open_lake
from tests.support.list_table import items
from trinitylake_spark.clock import ManualClock
from trinitylake_spark.format.paths import FLOOR_PATH, HINT_PATH, parse_root_path
from trinitylake_spark.storage.memory import MemoryStorage

if TYPE_CHECKING:
    from tests.simulation.world import Disk

Tables = dict[str, list[int]]


@dataclass
class Attempt:
    """One transaction as its writer knows it.

    ``outcome`` is ``committed``, ``refused``, ``failed`` (the storage, certainly nothing
    committed), ``unknown``, or ``running`` if the writer was killed.
    """

    id: str
    isolation: str
    base: int
    reads: Tables = field(default_factory=dict)
    appends: Tables = field(default_factory=dict)
    updates: set[str] = field(default_factory=set)
    """Tables that were replaced by what was read from them and one more item."""
    outcome: str = "running"
    version: int | None = None


class Judgement:
    """Everything that was ever stored, version by version.

    Args:
        disk: the storage after the run.
        number: makes the copy's name unique.
    """

    def __init__(self, disk: Disk, number: int) -> None:
        storage = MemoryStorage(f"memory://judge-{number}")
        storage.clear()
        for path, data in disk.ever.items():
            if path not in (HINT_PATH, FLOOR_PATH):
                storage.write(path, data)
        self._lake = open_lake(storage, clock=ManualClock())
        roots = (parse_root_path(path) for path in disk.ever)
        self.latest = max(version for version in roots if version is not None)
        self.transactions: dict[str, int] = {}
        self.content: list[Tables] = []
        finder = self._lake.services.finder
        for version in range(self.latest + 1):
            root = finder.root(version)
            assert root.info.txn_id not in self.transactions, "a transaction committed twice"
            self.transactions[root.info.txn_id or ""] = version
            snapshot = self._lake.at(version=version)
            names = snapshot.tables("s") if snapshot.has_namespace("s") else []
            self.content.append({n: items(snapshot.table("s", n).definition) for n in names})
        self._storage = storage

    def check(self, attempts: list[Attempt]) -> None:
        """Check all that the writers were told against all that is stored."""
        assert self._lake.check(deep=True).problems == []
        for attempt in attempts:
            self._check_outcome(attempt)
            self._check_reads(attempt)
        made = {self.transactions[a.id]: a for a in attempts if a.id in self.transactions}
        for version in range(2, self.latest + 1):
            self._check_change(version, made.get(version))
        self._storage.clear()

    def _check_outcome(self, attempt: Attempt) -> None:
        """Acknowledged is there, refused is not; unknown may be either, but never half."""
        stored = self.transactions.get(attempt.id)
        if attempt.outcome == "committed":
            assert stored == attempt.version, f"acknowledged {attempt} is at {stored}"
        elif attempt.outcome in ("refused", "failed"):
            assert stored is None, f"{attempt} was committed as {stored}"

    def _check_reads(self, attempt: Attempt) -> None:
        """A transaction reads one version; SERIALIZABLE: still true just before its own."""
        for table, found in attempt.reads.items():
            assert found == self.content[attempt.base].get(table), f"{attempt} read a mixture"
        version = self.transactions.get(attempt.id)
        if version is not None and attempt.isolation == "SERIALIZABLE":
            for table, found in attempt.reads.items():
                now = self.content[version - 1].get(table)
                assert found == now, f"{attempt} rests on stale {table}: {found} {now}"

    def _check_change(self, version: int, attempt: Attempt | None) -> None:
        """A version changes exactly what its transaction did, all of it, in place."""
        before, after = self.content[version - 1], self.content[version]
        changed = {name for name in before.keys() | after.keys()
                   if before.get(name) != after.get(name)}  # fmt: skip
        if attempt is None:
            assert not changed, f"version {version} changed {changed} for nobody"
            return
        assert changed == set(attempt.appends), f"version {version}: {changed} by {attempt}"
        for table, values in attempt.appends.items():
            assert after[table] == before[table] + values, f"version {version} lost an update"
