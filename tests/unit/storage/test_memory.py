"""The storage in memory: who shares what."""

from __future__ import annotations

import pytest

from trinitylake_spark.errors import InvalidInputError, Kind
from trinitylake_spark.storage import open_storage
from trinitylake_spark.storage.memory import MemoryStorage


def test_same_name_is_the_same_store() -> None:
    """Whoever opens a name sees the objects of all others."""
    MemoryStorage("memory://shared").create("a", b"x")
    assert open_storage("memory://shared/").read("a") == b"x"
    assert open_storage("memory://other").list() == []


def test_a_folder_is_part_of_its_store() -> None:
    """A root in a folder sees its own objects; the store sees them below the folder."""
    folder = MemoryStorage("memory://tree/lake")
    whole = MemoryStorage("memory://tree")
    folder.create("a", b"x")
    assert folder.url == "memory://tree/lake/"
    assert whole.list() == ["lake/a"]
    whole.create("b", b"y")
    folder.clear()
    assert whole.list() == ["b"]


def test_later_changes_of_a_buffer_do_not_show() -> None:
    """An object is what the bytes were when it was created."""
    storage = MemoryStorage("memory://buffer")
    data = bytearray(b"x")
    storage.write("a", data)
    data[0] = 0
    assert storage.read("a") == b"x"


@pytest.mark.parametrize("url", ["memory://", "memory:///a", "memory://a/../b", "memory://a//b"])
def test_urls_that_are_refused(url: str) -> None:
    """A store has a name, and folders that normalising leaves alone."""
    with pytest.raises(InvalidInputError) as caught:
        open_storage(url)
    assert caught.value.kind is Kind.INVALID_URL


def test_options_are_refused() -> None:
    """There are none."""
    with pytest.raises(InvalidInputError, match="fsync"):
        open_storage("memory://a", {"fsync": "true"})
