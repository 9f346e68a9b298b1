"""Opening a storage by its URL."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from trinitylake_spark.errors import InvalidInputError, Kind, UnsupportedError
from trinitylake_spark.storage import open_storage, registry
from trinitylake_spark.storage.memory import MemoryStorage

if TYPE_CHECKING:
    from types import ModuleType


def test_scheme_chooses_the_storage() -> None:
    """The scheme is taken in any case."""
    assert isinstance(open_storage("Memory://registry"), MemoryStorage)


@pytest.mark.parametrize("url", ["ftp://host/lake", "lake", "", "s3:/bucket", "://x", "c:\\lake"])
def test_unknown_schemes_name_the_known_ones(url: str) -> None:
    """The message says what would have been right."""
    with pytest.raises(InvalidInputError) as caught:
        open_storage(url)
    assert caught.value.kind is Kind.INVALID_URL
    for known in ("absolute path", "file://", "s3://", "gs://", "abfs://", "hdfs://", "redis://"):
        assert known in caught.value.message


@pytest.mark.parametrize(
    "url",
    ["s3://b/../f", "s3://b/a//c", "s3://b/./a", "gs://b/a/..", "redis://h:1/0/../a", "s3://b//a"],
)
def test_urls_that_normalising_changes_are_refused(url: str) -> None:
    """Two spellings of one root, or a way out of it, are no roots (format.md §2.1)."""
    with pytest.raises(InvalidInputError) as caught:
        open_storage(url)
    assert caught.value.kind is Kind.INVALID_URL


def test_missing_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the client library the message is the command that installs it."""

    def fail(name: str) -> ModuleType:
        """Import as if the client library were not there."""
        raise ModuleNotFoundError(f"No module named 'obstore' (for {name})", name="obstore")

    monkeypatch.setattr(registry, "import_module", fail)
    with pytest.raises(UnsupportedError, match=r"pip install 'trinitylake-spark\[s3\]'"):
        open_storage("s3://bucket/lake")


def test_broken_module_of_ours_is_not_called_a_missing_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only somebody else's package can be installed with an extra."""

    def fail(name: str) -> Any:
        """Import as if our own module were not there."""
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(registry, "import_module", fail)
    with pytest.raises(ModuleNotFoundError):
        open_storage("s3://bucket/lake")


def test_clients_are_imported_when_needed() -> None:
    """The local storage needs no client library, so none is loaded for it."""
    code = (
        "import sys, trinitylake_spark.storage as s; s.open_storage('/tmp/lake');"
        "bad = {'obstore', 'boto3', 'redis', 'valkey', 'fsspec', 'requests', 'pyarrow', 'pytest'};"
        "print(sorted(bad & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
