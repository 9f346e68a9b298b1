"""Deletion vectors as Delta stores them: read, written, and not trusted."""

from __future__ import annotations

import base64

import pytest
from pyroaring import BitMap64

from tests.support.delta_tables import Bench
from trinitylake_spark.delta.vectors import new_vector, read_vector
from trinitylake_spark.errors import CorruptError, UnsupportedError

# What the protocol's specification shows.
_PREFIXED = "ab^-aqEH.-t@S}K{vb[*k^"
_PREFIXED_FILE = "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
_MAGIC, _OLD_MAGIC = bytes.fromhex("d1d33964"), bytes.fromhex("d0d33964")


def _store(bench: Bench, rows: BitMap64, location: str = "data/t") -> dict[str, object]:
    made = new_vector(bench.context, location, rows)
    bench.storage.create(made.path, made.data)
    return made.descriptor


@pytest.mark.parametrize(
    "rows",
    [{0}, {1, 5, 70_000}, set(range(5000)), {3, 2**32 + 1, 2**33}],
    ids=["one", "sparse", "run", "many"],
)
def test_a_written_vector_is_read_back(rows: set[int]) -> None:
    """Also with more positions than 32 bits hold; the descriptor counts the rows."""
    bench = Bench(f"vector-round-{max(rows)}")
    descriptor = _store(bench, BitMap64(rows))

    assert descriptor["cardinality"] == len(rows)
    assert descriptor["offset"] == 1
    assert set(read_vector(bench.context, "data/t", descriptor)) == rows
    assert set(read_vector(bench.context, "data/t", None)) == set()


def test_names_and_inline_vectors_are_those_of_the_protocol() -> None:
    """A file's name comes from the UUID in base85, below its prefix; inline text is base85 too."""
    bench = Bench("vector-names")
    made = new_vector(bench.context, "data/t", BitMap64([3, 4]))
    bench.storage.create(f"{bench.context.warehouse_path('data/t')}/{_PREFIXED_FILE}", made.data)
    named = {**made.descriptor, "pathOrInlineDv": _PREFIXED}
    assert set(read_vector(bench.context, "data/t", named)) == {3, 4}

    found = read_vector(bench.context, "data/t", _inline(_MAGIC, {3, 4, 7, 11, 18, 29}))
    assert set(found) == {3, 4, 7, 11, 18, 29}


def test_what_is_not_understood_is_left_alone() -> None:
    """An absolute path, and the form of the first versions, are refused by name."""
    bench = Bench("vector-foreign")
    old = _inline(_OLD_MAGIC, {3, 4})
    with pytest.raises(UnsupportedError, match="first versions"):
        read_vector(bench.context, "data/t", old)
    with pytest.raises(UnsupportedError, match="outside"):
        read_vector(
            bench.context, "data/t", {**old, "storageType": "p", "pathOrInlineDv": "file:///x"}
        )


@pytest.mark.parametrize("at", [1, 8, -1], ids=["length", "bitmap", "checksum"])
def test_damage_is_found(at: int) -> None:
    """A changed byte anywhere is an error, never other rows."""
    bench = Bench(f"vector-damage-{at}")
    made = new_vector(bench.context, "data/t", BitMap64([1, 2, 3]))
    data = bytearray(made.data)
    data[at] ^= 1
    bench.storage.create(made.path, bytes(data))
    with pytest.raises(CorruptError):
        read_vector(bench.context, "data/t", made.descriptor)
    whole = _store(bench, BitMap64([1, 2, 3]))
    with pytest.raises(CorruptError):
        read_vector(bench.context, "data/t", {**whole, "cardinality": 4})


def _inline(magic: bytes, rows: set[int]) -> dict[str, object]:
    """Return the descriptor of a vector inside of the log."""
    git = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    zeromq = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    data = magic + BitMap64(rows).serialize()
    text = base64.b85encode(data + bytes(-len(data) % 4)).decode()
    return {
        "storageType": "i",
        "pathOrInlineDv": text.translate(str.maketrans(git, zeromq)),
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }
