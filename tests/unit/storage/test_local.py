"""The local storage: exclusive, whole, durable, and precise about what failed."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.creators import body, race
from trinitylake_spark.errors import (
    AlreadyExistsError,
    InvalidInputError,
    Kind,
    NotFoundError,
    StorageError,
)
from trinitylake_spark.storage import exclusive, open_storage
from trinitylake_spark.storage.local import LocalStorage

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def storage(tmp_path: Path) -> LocalStorage:
    """An empty folder that does not exist yet."""
    return LocalStorage(str(tmp_path / "lake"))


def _raise(code: int) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        """Stand in for a call of the operating system."""
        raise OSError(code, os.strerror(code))

    return fail


def _leftovers(storage: LocalStorage) -> list[str]:
    temporary = Path(storage.url.removeprefix("file://")) / ".tmp"
    return [file.name for file in temporary.iterdir()] if temporary.exists() else []


@pytest.mark.slow
def test_one_winner_among_processes_and_threads(tmp_path: Path) -> None:
    """Of 32 creators in 8 processes one wins each of 200 rounds, and nobody reads a part."""
    storage = LocalStorage(str(tmp_path))
    winners = race(tmp_path, processes=8, threads=4, rounds=200)
    assert [len(won) for won in winners] == [1] * 200
    for number, (winner,) in enumerate(winners):
        assert storage.read(f"round/{number}") == body(winner)
    assert _leftovers(storage) == []


def test_killed_creator_leaves_no_part(tmp_path: Path) -> None:
    """A process that is killed while it creates leaves whole objects or none."""
    size = 300_000
    code = (
        "import sys\n"
        "from trinitylake_spark.storage.local import LocalStorage\n"
        "storage = LocalStorage(sys.argv[1], fsync=False)\n"
        f"for i in range(100_000): storage.create(str(i), b'x' * {size}); print(i, flush=True)\n"
    )
    for number in range(3):
        folder = tmp_path / str(number)
        with subprocess.Popen(
            [sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for _ in range(20 + number):
                process.stdout.readline()
            process.kill()
        storage = LocalStorage(str(folder))
        paths = storage.list()
        assert len(paths) >= 20
        assert {len(storage.read(path)) for path in paths} == {size}


def test_bytes_are_durable_before_the_name(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Order of a create: force the bytes, link the name, force the folders."""
    steps: list[str] = []
    fsync, link = os.fsync, os.link

    def record_fsync(descriptor: int) -> None:
        """Note what is forced to disk, and force it."""
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "bytes"
        steps.append(kind)
        fsync(descriptor)

    def record_link(old: Path, new: Path) -> None:
        """Make the link, and note it if that worked."""
        link(old, new)
        steps.append("link")

    monkeypatch.setattr(os, "fsync", record_fsync)
    monkeypatch.setattr(os, "link", record_link)
    storage.create("a/b/c", b"x")
    # c's own folder, and once the folders that hold a/b, a, and the root itself.
    assert steps == ["bytes", "link", "folder", "folder", "folder", "folder"]
    steps.clear()
    storage.create("a/b/d", b"x")
    assert steps == ["bytes", "link", "folder"]
    steps.clear()
    storage.write("a/b/d", b"y")
    assert steps == ["bytes", "folder"]


def test_fsync_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``fsync=false`` nothing is forced to disk, and all else works."""
    monkeypatch.setattr(os, "fsync", _raise(errno.EIO))
    storage = open_storage(f"file://{tmp_path}", {"fsync": "false"})
    storage.create("a", b"x")
    storage.write("a", b"y")
    assert storage.read("a") == b"y"


def test_files_follow_the_umask(storage: LocalStorage, tmp_path: Path) -> None:
    """Others can read what the umask lets them read, unlike files of ``mkstemp``."""
    old = os.umask(0o022)
    try:
        storage.create("a", b"x")
        storage.write("b", b"x")
    finally:
        os.umask(old)
    for name in "ab":
        assert stat.S_IMODE((tmp_path / "lake" / name).stat().st_mode) == 0o644


def test_temporary_files_are_hidden_and_reserved(storage: LocalStorage) -> None:
    """What a crash left in ``.tmp`` is never listed, and nobody creates objects there."""
    storage.create("a", b"x")
    (Path(storage.url.removeprefix("file://")) / ".tmp" / "left").write_bytes(b"part")
    assert storage.list() == ["a"]
    assert storage.list(".tmp") == []
    with pytest.raises(InvalidInputError, match="reserved"):
        storage.create(".tmp/a", b"x")


def test_lists_links_to_files_but_not_below_links_to_folders(
    storage: LocalStorage, tmp_path: Path
) -> None:
    """A link that leads back up does not make a listing endless."""
    storage.create("folder/a", b"x")
    root = tmp_path / "lake"
    (root / "folder" / "up").symlink_to(root, target_is_directory=True)
    (root / "folder" / "b").symlink_to(root / "folder" / "a")
    assert storage.list() == ["folder/a", "folder/b"]


@pytest.mark.parametrize("operation", ["read", "exists", "delete"])
@pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ESTALE, errno.ETIMEDOUT])
def test_a_failure_is_not_an_absence(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch, operation: str, code: int
) -> None:
    """Only the file system's own "no such file" counts as absent: probing relies on it."""
    call = {"read": "builtins.open", "exists": "os.stat", "delete": "os.unlink"}[operation]
    with monkeypatch.context() as patch:
        patch.setattr(call, _raise(code))
        with pytest.raises(StorageError) as caught:
            getattr(storage, operation)("a")
    assert caught.value.kind is Kind.STORAGE
    assert caught.value.fields["operation"] == operation


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (errno.EIO, Kind.CREATE_UNKNOWN),
        (errno.ESTALE, Kind.CREATE_UNKNOWN),
        (errno.ENOSPC, Kind.STORAGE),
        (errno.EACCES, Kind.STORAGE),
        (errno.EROFS, Kind.STORAGE),
    ],
)
def test_a_failed_link_says_whether_it_may_have_happened(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch, code: int, kind: Kind
) -> None:
    """A refusal is certain; after any other failure the caller has to read back."""
    monkeypatch.setattr(os, "link", _raise(code))
    with pytest.raises(StorageError) as caught:
        storage.create("a", b"x")
    assert caught.value.kind is kind
    assert _leftovers(storage) == []


def test_a_name_that_could_not_be_forced_is_unknown(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The object is visible and may vanish with the power: neither success nor failure."""
    storage.create("first", b"x")
    fsync = os.fsync

    def fail_on_folders(descriptor: int) -> None:
        """Force bytes to disk, but no names."""
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "I/O error")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail_on_folders)
    with pytest.raises(StorageError) as caught:
        storage.create("a", b"x")
    assert caught.value.kind is Kind.CREATE_UNKNOWN


def test_bytes_that_could_not_be_written_leave_nothing(
    storage: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk fails the create for certain, and no temporary file stays."""
    monkeypatch.setattr(os, "fsync", _raise(errno.ENOSPC))
    with pytest.raises(StorageError) as caught:
        storage.create("a", b"x")
    assert caught.value.kind is Kind.STORAGE
    assert not storage.exists("a")
    assert _leftovers(storage) == []


def test_a_file_in_the_way_of_a_folder_is_a_certain_failure(storage: LocalStorage) -> None:
    """Creating below an object fails and is no race."""
    storage.create("a", b"x")
    for call in (storage.create, storage.write):
        with pytest.raises(StorageError) as caught:
            call("a/b", b"x")
        assert caught.value.kind is Kind.STORAGE


@pytest.mark.parametrize("operation", ["create", "write"])
def test_a_folder_that_vanished_is_made_again(storage: LocalStorage, operation: str) -> None:
    """Who tidies up empty folders, also the one for temporary files, makes nothing fail."""
    root = Path(storage.url.removeprefix("file://"))
    storage.create("a/b/c", b"x")
    storage.delete("a/b/c")
    for folder in ("a/b", "a", ".tmp", ""):
        (root / folder).rmdir()
    getattr(storage, operation)("a/b/c", b"y")
    assert storage.read("a/b/c") == b"y"


def test_a_folder_in_the_way_is_no_winner(storage: LocalStorage) -> None:
    """A folder of that name is not somebody's object."""
    storage.create("a/b", b"x")
    with pytest.raises(StorageError):
        storage.create("a", b"x")


class TestWithoutHardLinks:
    """The fallbacks of format.md §1.2 where ``link`` is not supported."""

    @pytest.fixture(params=["renameat2", "copy"])
    def fallback(
        self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> LocalStorage:
        """A storage on a file system without links, and for ``copy`` without renameat2."""
        monkeypatch.setattr(os, "link", _raise(errno.EPERM))
        if request.param == "copy":
            monkeypatch.setattr(exclusive, "_rename", _raise(errno.EINVAL))
        else:
            monkeypatch.setattr(exclusive, "_copy", _raise(errno.EIO))
        return LocalStorage(str(tmp_path / "lake"))

    def test_create(self, fallback: LocalStorage) -> None:
        """The first create wins, the second loses and changes nothing."""
        fallback.create("a/b", b"first")
        with pytest.raises(AlreadyExistsError):
            fallback.create("a/b", b"second")
        assert fallback.read("a/b") == b"first"
        assert _leftovers(fallback) == []

    def test_race(self, fallback: LocalStorage) -> None:
        """One of many threads wins."""
        from trinitylake_spark.testing.storage_conformance import StorageConformance

        StorageConformance().test_one_of_many_creators_wins(fallback)


@pytest.mark.parametrize(
    "url", ["file://{}/lake", "file://{}/lake/", "{}/lake", "{}/lake/", "FILE://{}/lake"]
)
def test_urls_of_one_folder(tmp_path: Path, url: str) -> None:
    """All spellings of a folder open the same storage, with one canonical URL."""
    storage = open_storage(url.format(tmp_path))
    storage.create("a", b"x")
    assert storage.url == f"file://{tmp_path}/lake/"
    assert (tmp_path / "lake" / "a").read_bytes() == b"x"


def test_url_is_not_decoded(tmp_path: Path) -> None:
    """A per cent sign in a folder's name is itself."""
    storage = open_storage(f"file://{tmp_path}/a%20b c")
    storage.create("a", b"x")
    assert (tmp_path / "a%20b c" / "a").exists()
    assert storage.url == f"file://{tmp_path}/a%20b c/"


@pytest.mark.parametrize(
    "url",
    [
        "file://host/lake",
        "file://lake",
        "file:",
        "lake",
        "./lake",
        "/data/../lake",
        "file:///data/./lake",
        "file:///data//lake",
        "file:////data",
        "file:///data/..",
    ],
)
def test_urls_that_are_refused(url: str) -> None:
    """Another host, a relative path, and any path that normalising would change."""
    with pytest.raises(InvalidInputError) as caught:
        open_storage(url)
    assert caught.value.kind is Kind.INVALID_URL
    assert url in caught.value.message


def test_unknown_options_are_refused(tmp_path: Path) -> None:
    """A misspelt option is not silently ignored."""
    with pytest.raises(InvalidInputError, match="fsink"):
        open_storage(str(tmp_path), {"fsink": "false"})


def test_a_missing_root_is_an_empty_storage(storage: LocalStorage) -> None:
    """Nothing is there yet, and looking creates nothing."""
    assert storage.list() == []
    assert not storage.exists("a")
    with pytest.raises(NotFoundError):
        storage.read("a")
    assert not Path(storage.url.removeprefix("file://")).exists()


def test_a_listing_enters_only_folders_that_can_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prefix of names in the root is answered from the root, however many folders lie there."""
    storage = LocalStorage(tmp_path, fsync=False)
    for number in range(20):
        storage.create(f"data/t/p={number}/file", b"")
        storage.create(f"_{number:02}.ipc", b"")
    storage.create("_dtxn_x_1", b"")
    storage.create("_dtxn_x_folder/below/it", b"")
    entered: list[str] = []
    scan = os.scandir

    def scandir(path: str) -> Any:
        entered.append(os.path.relpath(path, tmp_path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert storage.list("_dtxn_x_") == ["_dtxn_x_1", "_dtxn_x_folder/below/it"]
    assert entered == [".", "_dtxn_x_folder", "_dtxn_x_folder/below"]
    entered.clear()
    assert storage.list("data/t/p=7/f") == ["data/t/p=7/file"]
    assert entered == ["data/t/p=7"]
