"""Keys of the tree: golden vectors of format.md §4, and keys that cannot be."""

from __future__ import annotations

import pytest

from trinitylake_spark.errors import CorruptError, InvalidInputError, Kind
from trinitylake_spark.format.keys import (
    KeyCodec,
    NameSizes,
    ObjectKey,
    ObjectType,
    encode_type_id,
    prefix_end,
)


@pytest.fixture
def codec() -> KeyCodec:
    """Name fields of 8 bytes, as in the examples."""
    return KeyCodec(NameSizes(8, 8, 8))


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "A==="),
        (1, "B==="),
        (2, "C==="),
        (3, "D==="),
        (4, "E==="),
        (62, "+==="),
        (63, "/==="),
        (64, "BA=="),
        (4095, "//=="),
        (4096, "BAA="),
        (64**4 - 1, "////"),
    ],
)
def test_type_ids(number: int, text: str) -> None:
    """Golden vectors of format.md §4."""
    assert encode_type_id(number) == text


@pytest.mark.parametrize("number", [-1, 64**4])
def test_type_ids_out_of_range(number: int) -> None:
    """Four digits hold no more."""
    with pytest.raises(ValueError, match="four"):
        encode_type_id(number)


def test_golden_keys(codec: KeyCodec) -> None:
    """The examples of format.md §4, and the pads in bytes of its ``größe``."""
    assert codec.namespace_key("default") == "B===default "
    assert codec.table_key("default", "table") == "C===default table   "
    assert codec.view_key("default", "view") == "D===default view    "
    assert codec.namespace_key("größe") == "B===größe "
    assert len(codec.namespace_key("größe").encode()) == 12


def test_prefixes(codec: KeyCodec) -> None:
    """All objects of a kind, or of a namespace, share a prefix, and nothing else has it."""
    assert codec.namespaces_prefix() == "B==="
    assert codec.tables_prefix("ns") == "C===ns      "
    assert codec.views_prefix("ns") == "D===ns      "
    assert not codec.table_key("ns1", "t").startswith(codec.tables_prefix("ns"))


def test_order_of_padded_names(codec: KeyCodec) -> None:
    """Space is below every allowed byte, so a name sorts before those that it begins."""
    keys = [codec.namespace_key(name) for name in ("ns", "ns!", "ns-1", "ns1", "nsé", "ns表")]
    assert sorted(keys) == keys == sorted(keys, key=str.encode)


def test_prefix_end_is_tight() -> None:
    """Nothing lies between the strings with the prefix and the bound."""
    assert prefix_end("B===") == "B==>"
    assert prefix_end("C===ns ") == "C===ns!"
    assert prefix_end("a\ud7ff") == "a\ue000"
    assert prefix_end("a\U0010ffff") == "b"


def test_decode(codec: KeyCodec) -> None:
    """A key tells what it is the key of."""
    assert codec.decode(codec.namespace_key("a")) == ObjectKey(ObjectType.NAMESPACE, "a", None)
    assert codec.decode(codec.table_key("größe", "表")) == ObjectKey(
        ObjectType.TABLE, "größe", "表"
    )
    assert codec.decode(codec.view_key("a", "12345678")) == ObjectKey(
        ObjectType.VIEW, "a", "12345678"
    )


def test_key_of_decoded_key(codec: KeyCodec) -> None:
    """Taking a key apart and putting it together again gives the key."""
    for key in (codec.namespace_key("a"), codec.table_key("a", "t"), codec.view_key("a", "v")):
        assert codec.key(codec.decode(key)) == key


@pytest.mark.parametrize(
    "key",
    [
        "",
        "B==",
        "A===default ",
        "E===default table   ",
        "b===default ",
        "B===default",
        "B===default  ",
        "C===default table  ",
        "C===default table    ",
        "B===        ",
        "C===default         ",
        "C===aaaaaaaéble    ",
    ],
)
def test_decode_of_no_key(codec: KeyCodec, key: str) -> None:
    """An unknown type, a wrong length, an empty name, a field that cuts a character."""
    with pytest.raises(CorruptError) as caught:
        codec.decode(key)
    assert {"key", "rule", "found"} <= set(caught.value.fields)


def test_names_are_checked(codec: KeyCodec) -> None:
    """No key is made of a name that breaks the rules, or of one that does not fit."""
    calls = [
        lambda: codec.namespace_key("a b"),
        lambda: codec.table_key("ns", "123456789"),
        lambda: codec.table_key("123456789", "t"),
        lambda: codec.view_key("ns", ""),
        lambda: codec.tables_prefix(""),
    ]
    for call in calls:
        with pytest.raises(InvalidInputError) as caught:
            call()
        assert caught.value.kind is Kind.INVALID_NAME


def test_sizes_differ_by_kind() -> None:
    """Tables and views have fields of their own sizes."""
    codec = KeyCodec(NameSizes(namespace=3, table=4, view=5))
    assert codec.table_key("n", "t") == "C===n  t   "
    assert codec.view_key("n", "v") == "D===n  v    "
    assert codec.decode("D===n  v    ") == ObjectKey(ObjectType.VIEW, "n", "v")
