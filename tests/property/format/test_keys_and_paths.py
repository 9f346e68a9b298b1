"""Keys and paths hold for every name, not only for the examples."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trinitylake_spark.errors import InvalidInputError
from trinitylake_spark.format.keys import KeyCodec, NameSizes, ObjectKey, ObjectType, prefix_end
from trinitylake_spark.format.names import validate_name
from trinitylake_spark.format.paths import (
    MAX_VERSION,
    check_relative_path,
    encode_version,
    parse_root_path,
    parse_version,
    root_path,
    table_definition_path,
    view_definition_path,
)

_FORBIDDEN = [chr(c) for c in (*range(0x21), 0x7F)]
SIZE = 20
U = "6fcb514b-b878-4c9d-95b7-8dc3a7ce6fd8"


def names(max_bytes: int = SIZE) -> st.SearchStrategy[str]:
    """Every name that format.md §4 allows."""
    letters = st.characters(exclude_categories=["Cs"], exclude_characters=_FORBIDDEN)
    text = st.text(letters, min_size=1, max_size=max_bytes)
    return text.filter(lambda name: len(name.encode()) <= max_bytes)


CODEC = KeyCodec(NameSizes(SIZE, SIZE, SIZE))


@given(st.text())
def test_names_are_allowed_or_refused(name: str) -> None:
    """The rule, said another way: what cannot be encoded or holds a control or space is out."""
    good = (
        0 < len(name.encode(errors="replace")) <= SIZE
        and not any(c in name for c in _FORBIDDEN)
        and not any(0xD800 <= ord(c) < 0xE000 for c in name)
    )
    try:
        validate_name("table", name, SIZE)
    except InvalidInputError:
        assert not good
    else:
        assert good


@given(names(), names())
def test_keys_round_trip(namespace: str, name: str) -> None:
    """A key gives back exactly the names that it was made of, in fields of fixed bytes."""
    table, view = CODEC.table_key(namespace, name), CODEC.view_key(namespace, name)
    assert CODEC.decode(table) == ObjectKey(ObjectType.TABLE, namespace, name)
    assert CODEC.decode(view) == ObjectKey(ObjectType.VIEW, namespace, name)
    assert CODEC.decode(CODEC.namespace_key(namespace)).namespace == namespace
    assert len(table.encode()) == len(view.encode()) == 4 + 2 * SIZE


@given(st.lists(st.tuples(names(), names()), min_size=2, max_size=8))
def test_order_is_that_of_bytes_and_groups(pairs: list[tuple[str, str]]) -> None:
    """Python's order of keys is the bytes' order, and follows the padded names."""
    keys = [CODEC.table_key(namespace, name) for namespace, name in pairs]
    assert sorted(keys) == sorted(keys, key=str.encode)
    by_name = sorted(pairs, key=lambda p: tuple(n.encode().ljust(SIZE) for n in p))
    assert [CODEC.table_key(*pair) for pair in by_name] == sorted(keys)


@given(names(), names(), names())
def test_a_prefix_bounds_its_keys_and_no_others(namespace: str, other: str, name: str) -> None:
    """A range scan from a prefix to its end finds the tables of one namespace."""
    prefix = CODEC.tables_prefix(namespace)
    inside = prefix <= CODEC.table_key(other, name) < prefix_end(prefix)
    assert inside == (other == namespace)
    assert not prefix <= CODEC.view_key(namespace, name) < prefix_end(prefix)
    assert not prefix <= CODEC.namespace_key(namespace) < prefix_end(prefix)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.text())
def test_prefix_end_bounds_any_text(prefix: str, text: str) -> None:
    """Exactly the strings that start with the prefix lie from it to its end."""
    if prefix == "\U0010ffff" * len(prefix):
        return
    assert prefix <= prefix + text < prefix_end(prefix)
    assert (prefix <= text < prefix_end(prefix)) == text.startswith(prefix)


@given(st.integers(0, MAX_VERSION))
def test_versions_round_trip(version: int) -> None:
    """A root's name and a hint's content give back the version."""
    assert parse_root_path(root_path(version)) == version
    assert parse_version(encode_version(version)) == version


@given(st.binary() | st.text("0123456789 \n").map(str.encode))
def test_any_hint_is_a_version_or_nothing(data: bytes) -> None:
    """No content of a hint file is an error."""
    version = parse_version(data)
    assert version is None or 0 <= version <= MAX_VERSION


@given(names(100), names(100), st.integers(80, 400))
def test_definition_paths_fit_and_stay_inside(namespace: str, name: str, limit: int) -> None:
    """Whatever the names, a path has at most the limit's bytes and is a good relative path."""
    make: Any
    for make in (table_definition_path, view_definition_path):
        path = make(namespace, name, U, limit)
        assert len(path.encode()) <= limit
        assert path.endswith(f"-{U}.binpb")
        check_relative_path(path, max_bytes=limit)
        assert path.count("/") == 3
