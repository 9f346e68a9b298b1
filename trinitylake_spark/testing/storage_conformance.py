"""What every storage must do, as tests to subclass (format.md §1).

To test a storage of your own::

    class TestMyStorage(StorageConformance):
        @pytest.fixture
        def storage(self):
            with MyStorage("my://server/unique-folder") as storage:
                yield storage

        def another(self, storage):           # a second client of the same objects
            return MyStorage(storage.url)

Each test starts on an empty storage. Needs pytest.
"""

# ruff: noqa: S101 - assert is how tests speak

from __future__ import annotations

import hashlib
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

import pytest

from trinitylake_spark.errors import (
    AlreadyExistsError,
    InvalidInputError,
    Kind,
    NotFoundError,
)
from trinitylake_spark.storage import Storage, open_storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BAD_PATHS = ("", "/", "/a", "a/", "a//b", ".", "..", "./a", "a/.", "../a", "a/../b", "a/..", "a\0b")
"""Paths that could leave the root or have two spellings (format.md §2.1)."""

ODD_NAMES = (
    "a b",
    "a=b+c&d",
    "100%25",
    "what?",
    "a#b",
    "größe",
    "表",
    "😀",
    "q'uo\"te",
    "back\\slash",
    "[x]*{y}",
    "~tilde",
    "a:b@c",
    "a;b,c",
    "x" * 200,
)
"""Names that a client may escape, decode or take for a pattern."""


class StorageConformance:
    """The suite. Subclasses set what their storage needs; no test is to be removed."""

    creators: ClassVar[int] = 32
    """Concurrent creators of one object."""
    rounds: ClassVar[int] = 20
    """Objects that they race for."""
    big: ClassVar[int] = 3_000_000
    """Bytes of the largest object; below the store's limit of one value."""
    many: ClassVar[int] = 1100
    """Objects in one listing: more than one page of the store."""

    @pytest.fixture
    def storage(self) -> Iterator[Storage]:
        """Yield an empty storage; subclasses must define it."""
        raise NotImplementedError

    def another(self, storage: Storage) -> Storage:
        """Return a second client of the same objects; by default its URL is opened again."""
        return open_storage(storage.url)

    # --- one object -----------------------------------------------------------------------------

    def test_url_ends_in_a_slash(self, storage: Storage) -> None:
        """The root is a folder, so that a path can be appended to its URL."""
        assert storage.url.endswith("/")
        assert "://" in storage.url

    @pytest.mark.parametrize("data", [b"", b"x", b"\0\xff\r\n" * 100, bytes(range(256)) * 64])
    def test_read_returns_what_was_created(self, storage: Storage, data: bytes) -> None:
        """Bytes come back as they were, also none at all."""
        storage.create("folder/object", data)
        assert storage.read("folder/object") == data

    def test_read_returns_a_big_object_whole(self, storage: Storage) -> None:
        """An object of several network packets or parts is one object."""
        data = _body("big", self.big)
        storage.create("big", data)
        assert storage.read("big") == data

    def test_read_of_an_absent_object(self, storage: Storage) -> None:
        """An object that was never there is reported as not found, and as nothing else."""
        with pytest.raises(NotFoundError) as caught:
            storage.read("absent")
        assert caught.value.kind is Kind.OBJECT_NOT_FOUND

    def test_a_folder_is_no_object(self, storage: Storage) -> None:
        """A path that others only start with does not exist."""
        storage.create("a/b/c", b"1")
        assert not storage.exists("a")
        assert not storage.exists("a/b")
        with pytest.raises(NotFoundError):
            storage.read("a/b")

    def test_nothing_lives_below_an_object(self, storage: Storage) -> None:
        """A path below an object does not exist; asking for it is no failure."""
        storage.create("a", b"1")
        assert not storage.exists("a/b")
        with pytest.raises(NotFoundError):
            storage.read("a/b")
        storage.delete("a/b")

    def test_write_creates_and_replaces(self, storage: Storage) -> None:
        """A write succeeds whatever was there, and leaves nothing of it."""
        for data in (b"first, and long", b"second", b"", b"third"):
            storage.write("hint", data)
            assert storage.read("hint") == data
        assert storage.list() == ["hint"]

    def test_delete(self, storage: Storage) -> None:
        """A deleted object is gone at once, and its neighbours are not."""
        for path in ("a", "ab", "b/a"):
            storage.create(path, path.encode())
        storage.delete("a")
        assert not storage.exists("a")
        assert storage.list() == ["ab", "b/a"]
        with pytest.raises(NotFoundError):
            storage.read("a")

    def test_delete_of_an_absent_object(self, storage: Storage) -> None:
        """Deleting twice is as good as deleting once."""
        storage.delete("absent")
        storage.delete("absent/too")
        storage.create("a", b"1")
        storage.delete("a")
        storage.delete("a")

    def test_exists(self, storage: Storage) -> None:
        """Existence follows creation and deletion."""
        assert not storage.exists("a")
        storage.create("a", b"")
        assert storage.exists("a")
        storage.delete("a")
        assert not storage.exists("a")

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_odd_names(self, storage: Storage, name: str) -> None:
        """A name is taken as it is: not escaped, decoded, normalised or cut."""
        for path in (name, f"folder/{name}"):
            storage.create(path, path.encode())
            assert storage.read(path) == path.encode()
            assert storage.exists(path)
            assert storage.list(path) == [path]
        assert storage.list() == sorted([name, f"folder/{name}"])
        storage.delete(name)
        assert storage.list() == [f"folder/{name}"]

    def test_names_are_case_sensitive(self, storage: Storage) -> None:
        """Names that differ in case are different objects."""
        storage.create("Name", b"1")
        storage.create("name", b"2")
        assert storage.read("Name") == b"1"

    @pytest.mark.parametrize("path", BAD_PATHS)
    def test_bad_paths_are_refused(self, storage: Storage, path: str) -> None:
        """No operation takes a path that could leave the root or have two spellings."""
        for call in _calls(storage, path):
            with pytest.raises(InvalidInputError):
                call()
        assert storage.list() == []

    # --- listing --------------------------------------------------------------------------------

    def test_list_takes_a_string_prefix(self, storage: Storage) -> None:
        """The prefix may end in the middle of a name, and folders are listed to their depth."""
        paths = ["_01", "_10", "a-b", "a/b-c", "a/b/c", "a/b0", "ab", "b/a"]
        for path in reversed(paths):
            storage.create(path, b"x")
        assert storage.list() == sorted(paths)
        assert storage.list("_") == ["_01", "_10"]
        assert storage.list("a") == ["a-b", "a/b-c", "a/b/c", "a/b0", "ab"]
        assert storage.list("a/") == ["a/b-c", "a/b/c", "a/b0"]
        assert storage.list("a/b") == ["a/b-c", "a/b/c", "a/b0"]
        assert storage.list("a/b/") == ["a/b/c"]
        assert storage.list("a/c") == []
        assert storage.list("c/") == []

    def test_list_takes_no_patterns(self, storage: Storage) -> None:
        """Characters that a shell or a server expands stand for themselves."""
        for path in ("a1", "a2", "a*", "a?", "a[12]", "a\\1"):
            storage.create(path, b"x")
        for prefix in ("a*", "a?", "a[12]", "a[", "a\\"):
            assert storage.list(prefix) == [p for p in storage.list() if p.startswith(prefix)]

    def test_list_is_sorted_and_complete(self, storage: Storage) -> None:
        """More objects than fit a page come back once each, in the order of code points."""
        paths = [f"many/{hashlib.sha256(b'%d' % i).hexdigest()[:12]}" for i in range(self.many)]
        storage.create_all(dict.fromkeys(paths, b"") | {"many0": b""})
        assert storage.list("many/") == sorted(paths)

    # --- exclusive creation ---------------------------------------------------------------------

    @pytest.mark.parametrize("data", [b"", b"first"])
    def test_create_refuses_an_existing_object(self, storage: Storage, data: bytes) -> None:
        """A second create fails and changes nothing, whatever the bodies."""
        storage.create("a", data)
        for body in (b"second", b"", data):
            with pytest.raises(AlreadyExistsError) as caught:
                storage.create("a", body)
            assert caught.value.kind is Kind.OBJECT_ALREADY_EXISTS
            assert storage.read("a") == data

    def test_create_refuses_a_written_object(self, storage: Storage) -> None:
        """It does not matter how the object came to be."""
        storage.write("a", b"written")
        with pytest.raises(AlreadyExistsError):
            storage.create("a", b"created")
        assert storage.read("a") == b"written"

    def test_create_after_delete(self, storage: Storage) -> None:
        """A name is free again once its object is deleted."""
        storage.create("a", b"1")
        storage.delete("a")
        storage.create("a", b"2")
        assert storage.read("a") == b"2"

    def test_one_of_many_creators_wins(self, storage: Storage) -> None:
        """Of many concurrent creators exactly one succeeds, and the object is the winner's."""
        clients = [storage, self.another(storage)]
        with _hasty_threads(), ThreadPoolExecutor(self.creators) as pool:
            for number in range(self.rounds):
                path = f"race/{number}"
                start = threading.Barrier(self.creators)

                def create(
                    creator: int, path: str = path, start: threading.Barrier = start
                ) -> int | None:
                    """Return the creator's number if it won."""
                    start.wait()
                    try:
                        clients[creator % 2].create(path, _body(creator, 2000))
                    except AlreadyExistsError:
                        return None
                    return creator

                winners = [w for w in pool.map(create, range(self.creators)) if w is not None]
                assert len(winners) == 1, f"creators {winners} all created {path}"
                assert storage.read(path) == _body(winners[0], 2000)
        clients[1].close()

    def test_readers_see_nothing_or_all(self, storage: Storage) -> None:
        """While an object is created and replaced, readers find it absent or whole."""
        size = min(self.big, 1_000_000)
        done = threading.Event()
        seen: list[str] = []

        def watch(path: str) -> int:
            """Read until all is done and once more; return how often the object was there."""
            found = 0
            last = False
            while not last:
                last = done.is_set()
                try:
                    data = storage.read(path)
                except NotFoundError:
                    continue
                found += 1
                if not _is_body(data, size):
                    seen.append(f"{path} with {len(data)} of {size} bytes")
            return found

        with ThreadPoolExecutor(4) as pool:
            watchers = [pool.submit(watch, path) for path in ("whole/c", "whole/w") * 2]
            try:
                storage.create("whole/c", _body("c", size))
                for number in range(10):
                    storage.write("whole/w", _body(number, size))
            finally:
                done.set()
            counts = [watcher.result() for watcher in watchers]
        assert min(counts) > 0
        assert not seen, f"readers saw {seen[0]}"

    # --- visibility, several objects ------------------------------------------------------------

    def test_everybody_sees_a_change_at_once(self, storage: Storage) -> None:
        """Once a call has returned, another client's reads and listings reflect it."""
        with self.another(storage) as other:
            for number in range(10):
                path = f"seen/{number}"
                assert not other.exists(path)
                storage.create(path, b"1")
                assert other.read(path) == b"1"
                assert path in other.list("seen/")
                storage.write(path, b"2")
                assert other.read(path) == b"2"
                storage.delete(path)
                assert not other.exists(path)
                assert path not in other.list("seen/")
                with pytest.raises(NotFoundError):
                    other.read(path)

    def test_create_all_and_read_all(self, storage: Storage) -> None:
        """Many objects are created and read in one call, in order."""
        objects = {f"all/{number}": _body(number, 500) for number in range(40)}
        storage.create_all(objects)
        assert storage.read_all(reversed(objects)) == list(reversed(objects.values()))
        storage.create_all({})
        assert storage.read_all([]) == []

    def test_create_all_reports_an_existing_object(self, storage: Storage) -> None:
        """One name that is taken fails the call, and the object keeps its content."""
        storage.create("all/3", b"old")
        with pytest.raises(AlreadyExistsError):
            storage.create_all({f"all/{number}": b"new" for number in range(6)})
        assert storage.read("all/3") == b"old"

    def test_read_all_reports_an_absent_object(self, storage: Storage) -> None:
        """One missing object fails the call."""
        storage.create("all/1", b"1")
        with pytest.raises(NotFoundError):
            storage.read_all(["all/1", "all/2"])

    def test_threads_share_a_storage(self, storage: Storage) -> None:
        """Every operation works from many threads at the same time."""

        def work(thread: int) -> None:
            """Do everything once to some objects of this thread's own."""
            for number in range(5):
                path = f"threads/{thread}/{number}"
                storage.create(path, _body(path, 300))
                storage.write("threads-hint", b"%d" % thread)
                assert storage.read(path) == _body(path, 300)
                assert storage.exists(path)
                assert path in storage.list(f"threads/{thread}/")
                storage.delete(path)

        with ThreadPoolExecutor(16) as pool:
            list(pool.map(work, range(16)))
        assert storage.list("threads/") == []


def _body(token: object, size: int) -> bytes:
    """Return bytes of which every part shows whose they are."""
    digest = hashlib.sha256(str(token).encode()).digest()
    return (digest * (size // len(digest) + 1))[:size]


def _is_body(data: bytes, size: int) -> bool:
    digest = data[: hashlib.sha256().digest_size]
    return len(data) == size and data == (digest * (size // len(digest) + 1))[:size]


def _calls(storage: Storage, path: str) -> list[Callable[[], object]]:
    return [
        lambda: storage.read(path),
        lambda: storage.write(path, b"x"),
        lambda: storage.create(path, b"x"),
        lambda: storage.delete(path),
        lambda: storage.exists(path),
    ]


@contextmanager
def _hasty_threads() -> Iterator[None]:
    """Let threads take turns every few microseconds, so that a gap in a create is found."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
