"""Log entries: read as Delta writes them, written so that Delta reads them."""

from __future__ import annotations

import json

import pytest

from tests.support.delta_tables import add, insert, written_by_delta
from trinitylake_spark.delta.entry import encode_entry, file_key, file_path, parse_entry
from trinitylake_spark.errors import CorruptError

WRITTEN = (
    [("p", v) for v in range(21)] + [("d", v) for v in range(9)] + [("r", v) for v in range(5)]
)


@pytest.mark.parametrize(("table", "version"), WRITTEN)
def test_entries_of_delta_survive_a_round_trip(table: str, version: int) -> None:
    """Reading and writing an entry keeps every action and every field."""
    entry = written_by_delta(table, version)

    assert entry == parse_entry(encode_entry(entry), "again")


def test_facts_of_an_entry_are_found() -> None:
    """Operation, timestamp and the high-water mark of row ids are where Delta puts them."""
    entry = written_by_delta("r", 2)

    assert entry.operation == "WRITE"
    assert entry.in_commit_timestamp == 1795243984247
    assert entry.row_id_high_water_mark == 2


def test_file_keys_tell_deletion_vectors_apart() -> None:
    """The same file with another deletion vector is another state of that file."""
    entry = written_by_delta("d", 2)
    added, removed = entry.adds[0], entry.removes[0]

    assert added["path"] == removed["path"]
    assert file_key(added) != file_key(removed) == removed["path"]
    assert file_path(file_key(added)) == added["path"]


@pytest.mark.parametrize("line", [b"{", b"[]", b"3", b'{"add": 3}', b"{}"])
def test_other_bytes_are_refused(line: bytes) -> None:
    """What is no list of actions is named as corrupt, with its path."""
    with pytest.raises(CorruptError) as caught:
        parse_entry(b'{"add":{"path":"x"}}\n' + line, "the/path.json")

    assert caught.value.fields["path"] == "the/path.json"


def test_null_actions_and_blank_lines_are_ignored() -> None:
    """Some writers spell out absent actions as null."""
    line = json.dumps({"add": {"path": "x"}, "remove": None}).encode()

    assert list(parse_entry(b"\n" + line + b"\n\n", "p").actions) == [("add", {"path": "x"})]


def test_equal_actions_leave_the_entry_itself() -> None:
    """An entry that does not change is the same object, so that nothing is written again."""
    entry = insert(add("f1"))

    assert entry.replaced(list(entry.actions)) is entry
