"""The storages that need no server pass the conformance suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from trinitylake_spark.storage import Storage, open_storage
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.testing.storage_conformance import StorageConformance

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class TestLocal(StorageConformance):
    """``file://`` with every object forced to disk."""

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Iterator[Storage]:
        """A folder that does not exist yet."""
        with open_storage(f"file://{tmp_path}/lake") as storage:
            yield storage


class TestLocalWithoutFsync(StorageConformance):
    """A plain path, without forcing anything to disk."""

    rounds = 100
    big = 5 * 2**20
    many = 10_000

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Iterator[Storage]:
        """A folder that does not exist yet."""
        with open_storage(str(tmp_path / "lake"), {"fsync": "false"}) as storage:
            yield storage


class TestMemory(StorageConformance):
    """``memory://`` as a whole store."""

    rounds = 100
    big = 5 * 2**20
    many = 10_000

    @pytest.fixture
    def storage(self) -> Iterator[Storage]:
        """A store of its own name, emptied before use."""
        storage = MemoryStorage("memory://conformance")
        storage.clear()
        yield storage
        storage.clear()


class TestMemoryFolder(TestMemory):
    """``memory://`` below a folder, beside a neighbour whose name starts alike."""

    @pytest.fixture
    def storage(self) -> Iterator[Storage]:
        """A folder; whatever lies beside it must never show."""
        whole = MemoryStorage("memory://conformance-folders")
        whole.clear()
        whole.create("lake2/neighbour", b"")
        yield MemoryStorage("memory://conformance-folders/lake")
        assert whole.read("lake2/neighbour") == b""
        whole.clear()
