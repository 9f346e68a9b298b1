"""Names of files: golden vectors of format.md §2.2 to §2.4, and limits."""

from __future__ import annotations

import pytest

from trinitylake_spark.errors import CorruptError, InvalidInputError, Kind, TrinityLakeError
from trinitylake_spark.format.paths import (
    MAX_VERSION,
    check_relative_path,
    encode_version,
    lakehouse_definition_path,
    namespace_definition_path,
    node_path,
    optimise_path,
    parse_root_path,
    parse_version,
    root_path,
    table_definition_path,
    view_definition_path,
)

U = "6fcb514b-b878-4c9d-95b7-8dc3a7ce6fd8"

ROOTS = {
    0: "_00000000000000000000000000000000.ipc",
    1: "_10000000000000000000000000000000.ipc",
    2: "_01000000000000000000000000000000.ipc",
    3: "_11000000000000000000000000000000.ipc",
    4: "_00100000000000000000000000000000.ipc",
    100: "_00100110000000000000000000000000.ipc",
    255: "_11111111000000000000000000000000.ipc",
    256: "_00000000100000000000000000000000.ipc",
    12345678: "_01110010100001100011110100000000.ipc",
    4294967295: "_11111111111111111111111111111111.ipc",
}

OPTIMISED = {
    "": "0000/0000/0000/00000000-",
    "a": "0101/0110/1001/10110010-a",
    "my/path/my-table-definition.binpb": (
        "1101/0111/0011/01111110-my-path-my-table-definition.binpb"
    ),
    "my-table-definition.binpb": "1011/1010/0010/11001011-my-table-definition.binpb",
    f"node-{U}.ipc": f"1011/0000/1010/01001110-node-{U}.ipc",
    f"namespace-default-{U}.binpb": f"0110/1110/1010/00101111-namespace-default-{U}.binpb",
    f"namespace-ns1-{U}.binpb": f"0111/1000/0001/10011111-namespace-ns1-{U}.binpb",
    f"table-t1-ns1-{U}.binpb": f"1001/0011/1000/10010110-table-t1-ns1-{U}.binpb",
    f"view-v1-ns1-{U}.binpb": f"1110/0001/1101/00111000-view-v1-ns1-{U}.binpb",
    f"table-a/b-ns1-{U}.binpb": f"1001/0110/1001/11010100-table-a-b-ns1-{U}.binpb",
    f"table-größe-ns1-{U}.binpb": f"1110/1010/1110/01110011-table-größe-ns1-{U}.binpb",
}


@pytest.mark.parametrize(("version", "path"), ROOTS.items())
def test_root_paths(version: int, path: str) -> None:
    """Golden vectors of format.md §2.2, there and back."""
    assert root_path(version) == path
    assert parse_root_path(path) == version


@pytest.mark.parametrize(
    "path",
    [
        "",
        "_.ipc",
        "_0.ipc",
        "_" + "0" * 31 + ".ipc",
        "_" + "0" * 33 + ".ipc",
        "_" + "0" * 64 + ".ipc",
        "_" + "0" * 31 + "2.ipc",
        "_" + "0" * 32 + ".ipc\n",
        "_" + "0" * 32 + ".arrow",
        "a_" + "0" * 32 + ".ipc",
        "_" + "٠" * 32 + ".ipc",
        "_latest_hint",
    ],
)
def test_what_is_no_root_path(path: str) -> None:
    """Exactly 32 binary digits; a listing holds other files that start with ``_``."""
    assert parse_root_path(path) is None


def test_versions_end() -> None:
    """The last version is 2^32 - 1; a commit beyond fails by name."""
    with pytest.raises(TrinityLakeError) as caught:
        root_path(MAX_VERSION + 1)
    assert caught.value.kind is Kind.VERSION_OVERFLOW
    with pytest.raises(InvalidInputError) as caught:
        root_path(-1)
    assert caught.value.kind is Kind.INVALID_VERSION


@pytest.mark.parametrize("version", [0, 1, 100, MAX_VERSION])
def test_hint_content(version: int) -> None:
    """ASCII decimal without a newline (format.md §2.3)."""
    assert encode_version(version) == str(version).encode()
    assert parse_version(encode_version(version)) == version


@pytest.mark.parametrize(
    ("data", "version"),
    [
        (b"100\n", 100),
        (b" \t7\r\n", 7),
        (b"007", 7),
        (b"", None),
        (b" ", None),
        (b"-1", None),
        (b"+1", None),
        (b"1 2", None),
        (b"1_000", None),
        (b"1.0", None),
        (b"1e3", None),
        (b"abc", None),
        (b"\xd9\xa1", None),
        (b"\xff\xfe", None),
        (b"4294967296", None),
        (b"9" * 100_000, None),
        (b"0" * 100_000, 0),
    ],
)
def test_hint_reading(data: bytes, version: int | None) -> None:
    """White space is stripped; whatever is no version counts as absent, at no cost."""
    assert parse_version(data) == version


@pytest.mark.parametrize(("original", "optimised"), OPTIMISED.items())
def test_optimised_paths(original: str, optimised: str) -> None:
    """Golden vectors of format.md §2.4."""
    assert optimise_path(original) == optimised


def test_paths_of_every_kind() -> None:
    """The originals of format.md §2.1; a table's name comes before its namespace's."""
    assert node_path(U) == OPTIMISED[f"node-{U}.ipc"]
    assert len(node_path(U)) == 69
    assert lakehouse_definition_path(U) == f"_lakehouse_def_{U}.binpb"
    assert namespace_definition_path("ns1", U, 200) == OPTIMISED[f"namespace-ns1-{U}.binpb"]
    assert table_definition_path("ns1", "t1", U, 200) == OPTIMISED[f"table-t1-ns1-{U}.binpb"]
    assert view_definition_path("ns1", "v1", U, 200) == OPTIMISED[f"view-v1-ns1-{U}.binpb"]
    assert table_definition_path("ns1", "a/b", U, 200) == OPTIMISED[f"table-a/b-ns1-{U}.binpb"]


def test_long_names_are_cut() -> None:
    """The identifier is cut at a character's end until the path fits; the UUID keeps it unique."""
    path = table_definition_path("n" * 100, "t" * 100, U, 200)
    assert len(path) == 200
    assert path.endswith(f"-table-{'t' * 100}-{'n' * 26}-{U}.binpb")
    assert path == optimise_path(path[24:])
    for limit in range(80, 120):
        path = table_definition_path("名" * 33, "表" * 33, U, limit)
        assert limit - 3 < len(path.encode()) <= limit
    shortest = namespace_definition_path("n" * 100, U, 80)
    assert len(shortest) == 80
    assert shortest.endswith(f"-namespace-nnn-{U}.binpb")


@pytest.mark.parametrize(
    "path", ["a/b", "a.b", "..a", "_lakehouse_def_U.binpb", "a:b", *OPTIMISED.values()]
)
def test_relative_paths(path: str) -> None:
    """Whatever the library writes is fine."""
    check_relative_path(path, file="node")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../secret",
        "a/../../secret",
        "a//b",
        "./a",
        "a/",
        "a\0b",
        "s3://other/file",
        "file:///etc/passwd",
        "memory://x",
    ],
)
def test_paths_that_lead_elsewhere(path: str) -> None:
    """A lakehouse cannot make its reader open a file outside it."""
    with pytest.raises(CorruptError) as caught:
        check_relative_path(path, file="node-file")
    assert caught.value.fields["path"] == "node-file"
    assert caught.value.fields["found"] == path


def test_path_that_is_too_long() -> None:
    """The limit counts bytes."""
    check_relative_path("é" * 50, max_bytes=100)
    with pytest.raises(CorruptError, match="100 bytes"):
        check_relative_path("é" * 51, max_bytes=100)
