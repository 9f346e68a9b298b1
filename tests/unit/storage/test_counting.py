"""Calls are recorded in order and passed on."""

from __future__ import annotations

import pytest

from trinitylake_spark.errors import NotFoundError
from trinitylake_spark.storage.memory import MemoryStorage
from trinitylake_spark.testing.counting import Call, CountingStorage


def test_records_every_call() -> None:
    """All operations show, also those that fail, and calls for many as the calls they are."""
    storage = CountingStorage(MemoryStorage("memory://counting"))
    storage.create("a", b"x")
    storage.write("b", b"y")
    assert storage.read("a") == b"x"
    assert storage.exists("b")
    assert storage.list("a") == ["a"]
    storage.delete("a")
    with pytest.raises(NotFoundError):
        storage.read("a")
    assert storage.calls == [
        Call("create", "a"),
        Call("write", "b"),
        Call("read", "a"),
        Call("exists", "b"),
        Call("list", "a"),
        Call("delete", "a"),
        Call("read", "a"),
    ]
    storage.clear()
    storage.create_all({"c": b"", "d": b""})
    assert storage.read_all(["c", "d", "b"]) == [b"", b"", b"y"]
    assert storage.count() == 5
    assert storage.count("create") == 2
    assert storage.count("read", lambda path: path < "c") == 1
