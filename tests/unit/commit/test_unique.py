"""Files of a commit that failed are deleted."""

from __future__ import annotations

import threading

from tests.support.lakes import memory
from trinitylake_spark.commit.unique import discard_unique
from trinitylake_spark.testing.counting import CountingStorage
from trinitylake_spark.testing.faulty import Effect, Fault, FaultyStorage

_MANY = 100


def _filled(name: str) -> tuple[CountingStorage, list[str]]:
    storage = CountingStorage(memory(name))
    paths = [f"{number:03}" for number in range(_MANY)]
    for path in paths:
        storage.create(path, b"")
    return storage, paths


def test_one_failed_delete_ends_nothing() -> None:
    """All but the file that cannot be deleted are gone, wherever that stands; nothing is raised."""
    storage, paths = _filled("discard-one")
    faults = [Fault(Effect.REFUSE, ["delete"], path=lambda path: path in ("000", "050", "099"))]
    discard_unique(FaultyStorage(storage, faults), paths)
    assert storage.list() == ["000", "050", "099"]


def test_deletes_go_side_by_side() -> None:
    """Where calls wait for a network sixteen are on their way at once."""
    inner, paths = _filled("discard-together")
    together = threading.Barrier(16)

    class Together(CountingStorage):
        def delete(self, path: str) -> None:
            if path < "016":
                together.wait(60)
            super().delete(path)

    storage = Together(inner)
    storage.parallel = True
    discard_unique(storage, paths)
    assert inner.list() == []


def test_a_storage_that_is_gone_is_left_alone() -> None:
    """After as many failures as there are threads nobody waits for the others: they are garbage."""
    for parallel in (False, True):
        inner, paths = _filled("discard-dead")
        storage = FaultyStorage(inner, [Fault(Effect.REFUSE, ["delete"])])
        storage.parallel = parallel
        discard_unique(storage, paths)
        assert 16 <= len(storage.injected) <= 32
        assert inner.list() == paths
