"""Which paths and URLs a storage takes."""

from __future__ import annotations

import pytest

from trinitylake_spark.errors import InvalidInputError, Kind
from trinitylake_spark.storage.paths import check_path, check_prefix, check_url_path, path_problem
from trinitylake_spark.testing.storage_conformance import BAD_PATHS, ODD_NAMES


@pytest.mark.parametrize("path", BAD_PATHS)
def test_bad_paths(path: str) -> None:
    """Whatever could leave the root or has two spellings has a problem that can be said."""
    assert path_problem(path)
    with pytest.raises(InvalidInputError):
        check_path(path)


@pytest.mark.parametrize("path", [*ODD_NAMES, "a/b", ".a", "a./b", "...", "a/..b", "s3:/b"])
def test_good_paths(path: str) -> None:
    """Dots that are part of a name are harmless, and so is every odd character."""
    assert path_problem(path) is None
    check_path(path)


@pytest.mark.parametrize("prefix", ["", "a", "a/", "a/b", "..", "a/..", "a/."])
def test_good_prefixes(prefix: str) -> None:
    """A prefix may end anywhere, so its last part may be any string."""
    check_prefix(prefix)


@pytest.mark.parametrize("prefix", ["/", "/a", "../", "../a", "a//", "a//b", "./a"])
def test_bad_prefixes(prefix: str) -> None:
    """Its folders are folders of the root."""
    with pytest.raises(InvalidInputError):
        check_prefix(prefix)


@pytest.mark.parametrize("path", ["", "/", "a", "/a", "a/", "/a/b/"])
def test_good_url_paths(path: str) -> None:
    """One slash at either end does not matter."""
    check_url_path(f"s3://bucket{path}", path)


@pytest.mark.parametrize("path", ["/..", "/a/../b", "//a", "a//", "/./a", "/a/."])
def test_bad_url_paths(path: str) -> None:
    """What POSIX normalisation would change is refused (format.md §2.1)."""
    with pytest.raises(InvalidInputError) as caught:
        check_url_path(f"s3://bucket{path}", path)
    assert caught.value.kind is Kind.INVALID_URL
