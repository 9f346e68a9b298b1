"""One schedule: writers, a compactor and an expirer at work on one lakehouse, all by a seed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.simulation.history import Attempt, Judgement
from tests.simulation.world import Disk, Faults, Killed, SimulatedStorage, World
from tests.support.lakes import new_lake, open_lake
from tests.support.list_table import append, read, rewrite
from trinitylake_spark.commit.versions import YOUNGEST_EXPIRABLE_MILLIS
from trinitylake_spark.errors import (
    CommitConflictError,
    CommitUnknownError,
    NotFoundError,
    StorageError,
    TransactionStateError,
    TrinityLakeError,
)
from trinitylake_spark.format.paths import FLOOR_PATH, encode_version, root_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from trinitylake_spark.lakehouse.lakehouse import Lakehouse

TABLES = ("a", "b", "c")
COMMIT_SECONDS = (300.0, 300.0, 300.0, 0.02)
PROFILES = (
    Faults(),
    Faults(kill=0.01),
    Faults(lose_reply=0.05, repeat=0.05),
    Faults(refuse=0.03, lose_request=0.05, lose_reply=0.05, repeat=0.05, late=0.05),
    Faults(refuse=0.05, lose_request=0.1, lose_reply=0.1, repeat=0.1, late=0.1, kill=0.01),
)


def play_all(seeds: Iterable[int]) -> int:
    """Play the schedules of some seeds; return how many. A failure names its seed."""
    played = 0
    for seed in seeds:
        try:
            Run(seed).play()
        except BaseException as error:
            error.add_note(f"SIMULATION_SEED={seed}")
            raise
        played += 1
    return played


class Run:
    """One schedule."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.world = World(seed)
        self.disk = Disk()
        self.attempts: list[Attempt] = []
        self._value = 0
        calm = SimulatedStorage(self.world, self.disk, Faults())
        new_lake(calm, clock=self.world, ids=self.world, warehouse=self._warehouse(calm),
                 definition={"order": 3, "node_file_max_size_bytes": 4096},
                 tables=TABLES)  # fmt: skip

    def play(self) -> None:
        """Let everybody work, then judge what is stored."""
        chance = self.world.chance
        faults = chance.choice(PROFILES)
        works: list[Callable[[], None]] = [
            partial(self._writer, self._open(faults)) for _ in range(chance.choice((2, 3, 4)))
        ]
        if chance.random() < 0.3:
            works.append(partial(self._compactor, self._open(faults)))
        if chance.random() < 0.4:
            works.append(partial(self._expirer, self._open(Faults())))
        self.world.run(works)
        for path, data in self.disk.late:
            self.disk.create(path, data)
        judgement = Judgement(self.disk, self.seed % 100)
        judgement.check(self.attempts)

    def _open(self, faults: Faults) -> Lakehouse:
        """Open the lakehouse as a process of its own."""
        storage = SimulatedStorage(self.world, self.disk, faults)
        return open_lake(
            storage,
            clock=self.world,
            ids=self.world,
            warehouse=self._warehouse(storage),
            commit_seconds=self.world.chance.choice(COMMIT_SECONDS),
        )

    def _warehouse(self, storage: SimulatedStorage) -> SimulatedStorage:
        return SimulatedStorage(
            storage._world, self.disk, storage._faults, url=f"{storage.url}data/"
        )

    def _writer(self, lake: Lakehouse) -> None:
        for _ in range(self.world.chance.choice((1, 2, 4))):
            try:
                tx = lake.begin(isolation=self.world.chance.choice(("snapshot", "serializable")))
            except StorageError:
                continue
            attempt = Attempt(tx.id, tx.isolation, tx.base.version)
            self.attempts.append(attempt)
            try:
                self._work(tx, attempt)
                self._stall()
                attempt.version = tx.commit()
                attempt.outcome = "committed" if attempt.appends else "read"
            except Killed:
                raise
            except CommitUnknownError:
                attempt.outcome = "unknown"
            except CommitConflictError:
                attempt.outcome = "refused"
            except (StorageError, NotFoundError, TransactionStateError):
                attempt.outcome = "failed"

    def _work(self, tx: object, attempt: Attempt) -> None:
        """Read some tables, append to some, replace some by what was read and one more."""
        chance = self.world.chance
        for name in chance.sample(TABLES, chance.choice((0, 1, 2))):
            attempt.reads[name] = read(tx, name)
        for name in chance.sample(TABLES, chance.choice((0, 1, 1, 2))):
            self._value += 1
            value = self._value
            attempt.appends[name] = [value]
            if chance.random() < 0.7:
                append(tx, name, value)
                continue
            attempt.updates.add(name)
            attempt.reads[name] = read(tx, name)
            rewrite(tx, name, [*attempt.reads[name], value])

    def _stall(self) -> None:
        """Sometimes a writer is held up for so long that its base version may expire."""
        if self.world.chance.random() < 0.2:
            for _ in range(20):
                self.world.step()
            self.world.millis += YOUNGEST_EXPIRABLE_MILLIS

    def _compactor(self, lake: Lakehouse) -> None:
        for _ in range(2):
            try:
                lake.compact_tree()
            except (StorageError, CommitConflictError, CommitUnknownError, NotFoundError):
                continue

    def _expirer(self, lake: Lakehouse) -> None:
        """Expire by the rules of format.md §8.5: floor first, then old roots, ascending."""
        storage = lake.services.storage
        for _ in range(3):
            for _ in range(self.world.chance.choice((5, 20, 60))):
                self.world.step()
            latest = lake.services.finder.latest()
            floor = max(lake.services.finder.floor(), latest.version - 1)
            storage.write(FLOOR_PATH, encode_version(floor))
            for version in range(floor):
                try:
                    root = lake.services.finder.roots([version])[0]
                except TrinityLakeError:
                    continue
                age = self.world.millis - root.info.created_at_millis
                if age < YOUNGEST_EXPIRABLE_MILLIS:
                    break
                storage.delete(root_path(version))
