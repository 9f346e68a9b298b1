"""The conformance suite is worth something: storages with the usual faults fail it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from trinitylake_spark.errors import AlreadyExistsError
from trinitylake_spark.storage.local import LocalStorage
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.testing.storage_conformance import StorageConformance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trinitylake_spark.storage import Storage


class Suite(StorageConformance):
    """The suite as it is; not collected, as its name does not start with Test."""

    def another(self, storage: Storage) -> Storage:
        """A second client with the same fault."""
        return storage


class CheckThenSet(MemoryStorage):
    """Creates by looking first and storing then."""

    def create(self, path: str, data: bytes) -> None:
        """Let others run between the two steps, as any I/O does."""
        if self.exists(path):
            raise AlreadyExistsError(path)
        time.sleep(0)
        self.write(path, data)


class Overwriting(MemoryStorage):
    """Creates without looking."""

    def create(self, path: str, data: bytes) -> None:
        """Replace what is there."""
        self.write(path, data)


class OverwritingEmpty(MemoryStorage):
    """Creates exclusively, except that an empty body replaces (as s3fs does)."""

    def create(self, path: str, data: bytes) -> None:
        """Take another road for nothing."""
        if data:
            super().create(path, data)
        else:
            self.write(path, data)


class Torn(LocalStorage):
    """Creates with ``O_EXCL`` on the name itself and writes then."""

    def create(self, path: str, data: bytes) -> None:
        """One winner, but the name is there before the bytes are."""
        target = Path(self.url.removeprefix("file://")) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with target.open("xb", buffering=0) as file:
                for start in range(0, len(data), 4096):
                    file.write(data[start : start + 4096])
        except FileExistsError as error:
            raise AlreadyExistsError(path) from error


class FolderPrefix(MemoryStorage):
    """Lists by folder, where the contract says string."""

    def list(self, prefix: str = "") -> list[str]:
        """Add the slash that some clients add."""
        return super().list(prefix and prefix.rstrip("/") + "/")


@pytest.fixture
def name(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty memory store."""
    storage = MemoryStorage(f"memory://faults-{request.node.name.partition('[')[0]}")
    storage.clear()
    yield storage.url
    storage.clear()


def test_check_then_set_fails_the_race(name: str) -> None:
    """The narrowest gap between looking and storing is found."""
    with pytest.raises(AssertionError, match="all created"):
        Suite().test_one_of_many_creators_wins(CheckThenSet(name))


@pytest.mark.parametrize("data", [b"", b"first"])
def test_silent_overwrite_fails(name: str, data: bytes) -> None:
    """A create that replaces is found without any race."""
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        Suite().test_create_refuses_an_existing_object(Overwriting(name), data)


def test_overwrite_by_an_empty_body_fails(name: str) -> None:
    """An empty body is a body."""
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        Suite().test_create_refuses_an_existing_object(OverwritingEmpty(name), b"first")


def test_torn_creation_fails(tmp_path: Path) -> None:
    """A name that appears before its bytes is found by the watching readers."""
    with pytest.raises(AssertionError, match="bytes"):
        _repeat(lambda i: Suite().test_readers_see_nothing_or_all(Torn(f"{tmp_path}/{i}")))


def test_listing_by_folder_fails(name: str) -> None:
    """A prefix that is taken for a folder is found."""
    with pytest.raises(AssertionError):
        Suite().test_list_takes_a_string_prefix(FolderPrefix(name))


def _repeat(check: Any, times: int = 20) -> None:
    for i in range(times):
        check(i)
