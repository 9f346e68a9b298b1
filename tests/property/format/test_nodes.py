"""Any node survives its file in any encoding, and any damage is found or harmless."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tests.support.node_tables import to_file
from trinitylake_spark.errors import CorruptError
from trinitylake_spark.format.nodefile import Message, NodeFile, decode_node, encode_node

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_PATH = st.from_regex(r"[a-z0-9é]{1,8}(/[a-z0-9.]{1,4}[a-z])?", fullmatch=True)
_MESSAGE = st.builds(Message, _TEXT, st.none() | _PATH, _TEXT)
_ORDER = 8


@st.composite
def nodes(draw: st.DrawFn) -> NodeFile:
    """Roots with up to seven keys, leaf or inner, and a buffer."""
    keys = sorted(draw(st.sets(_TEXT, max_size=_ORDER - 1)))
    count = len(keys)
    inner = draw(st.booleans())
    unknown = draw(st.dictionaries(_TEXT, _TEXT, max_size=3))
    return NodeFile(
        {**unknown, "created_at_millis": "5", "lakehouse_def": "_d"},
        keys,
        draw(st.lists(_PATH, min_size=count, max_size=count)),
        draw(st.lists(_PATH, min_size=count + 1, max_size=count + 1)) if inner else [],
        draw(st.lists(_MESSAGE, max_size=5)),
    )


def _without_n_keys(node: NodeFile) -> NodeFile:
    node.system.pop("n_keys", None)
    return node


@st.composite
def encodings(draw: st.DrawFn, node: NodeFile) -> bytes:
    """The node's table as some other writer may have stored it."""
    batch = pa.ipc.open_file(pa.BufferReader(encode_node(node, _ORDER))).get_batch(0)
    kinds: list[Any] = [pa.utf8(), pa.large_utf8(), pa.dictionary(pa.int16(), pa.utf8())]
    kind = draw(st.sampled_from(kinds))
    names = batch.schema.names
    batch = pa.RecordBatch.from_arrays([c.cast(kind) for c in batch.columns], names=names)
    cut = draw(st.integers(0, batch.num_rows))
    # One dictionary per file: the file format cannot replace it between batches.
    whole = pa.types.is_dictionary(kind)
    return to_file(
        [batch] if whole else [batch.slice(0, cut), batch.slice(cut)],
        stream=draw(st.booleans()),
        compression=draw(st.sampled_from([None, "lz4", "zstd"])),
    )


@given(nodes().map(_without_n_keys))
def test_round_trip(node: NodeFile) -> None:
    """What is written is read, with N and without."""
    data = encode_node(node, _ORDER)
    assert decode_node(data, "root", _ORDER) == node
    assert decode_node(data, "root") == node


@given(st.data())
def test_every_encoding(data: st.DataObject) -> None:
    """Another writer's choice of format, types, batches and compression changes nothing."""
    node = data.draw(nodes().map(_without_n_keys))
    assert decode_node(data.draw(encodings(node)), "root", _ORDER) == node


@st.composite
def damages(draw: st.DrawFn, data: bytes) -> bytes:
    """A few flipped bits, a piece cut out, or a number made huge."""
    broken = bytearray(data)
    kind = draw(st.sampled_from(["flip", "cut", "huge"]))
    at = draw(st.integers(0, len(broken) - 1))
    if kind == "flip":
        for _ in range(draw(st.integers(1, 4))):
            broken[draw(st.integers(0, len(broken) - 1))] ^= 1 << draw(st.integers(0, 7))
    elif kind == "cut":
        del broken[at : draw(st.integers(at + 1, len(broken)))]
    else:
        number = draw(st.sampled_from([0, 2**31 - 1, 2**40, 2**63 - 1]))
        broken[at : at + 8] = number.to_bytes(8, "little")
    return bytes(broken)


@given(st.data())
def test_damage(data: st.DataObject) -> None:
    """A damaged file is a CorruptError, or a node that keeps every rule: never a surprise."""
    node = data.draw(nodes())
    broken = data.draw(damages(data.draw(encodings(node))))
    try:
        found = decode_node(broken, "root", _ORDER)
    except CorruptError as error:
        facts = error.fields
        assert facts["path"] == "root"
        assert {"rule", "found"} <= set(facts)
        return
    assert all(operator.lt(a, b) for a, b in pairwise(found.keys))
    assert len(found.keys) == len(found.values) < _ORDER
    assert len(found.children) in (0, len(found.keys) + 1)
    assert decode_node(encode_node(found, _ORDER), "root", _ORDER) == found
