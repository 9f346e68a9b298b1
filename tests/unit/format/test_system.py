"""System rows of roots: written in full, read from anybody (format.md §3.2)."""

from __future__ import annotations

import base64

import pytest

from tests.support.node_tables import BUFFER, ROOT, TABLE, node
from trinitylake_spark.errors import CorruptError
from trinitylake_spark.format.nodefile import decode_node
from trinitylake_spark.format.system import (
    CommitKind,
    Isolation,
    RootInfo,
    is_known_row,
    parse_root_info,
)

FULL = RootInfo(
    created_at_millis=1735689600000,
    lakehouse_def="_lakehouse_def_U.binpb",
    version=3,
    previous_root="_01000000000000000000000000000000.ipc",
    rollback_from_root="_01000000000000000000000000000000.ipc",
    txn_id="T3",
    time_version=1735689500000,
    commit_kind=CommitKind.ROLLBACK,
    isolation=Isolation.SERIALIZABLE,
    actions=[b"\x08\x01\xff", b"", b"third"],
    author="ann",
    message="größe\nof things",
    idempotency_key="load-7",
    overtaken=17,
    extra={"color": "blue"},
)


def test_round_trip() -> None:
    """All fields survive, unknown rows too, and parsing can check the file's name."""
    assert parse_root_info(FULL.to_rows(), "root", 3) == FULL


def test_rows_as_specified() -> None:
    """Names and forms of format.md §3.2; actions are padded base64, numbered from zero."""
    rows = FULL.to_rows()
    assert rows["created_at_millis"] == "1735689600000"
    assert rows["commit_kind"] == "rollback"
    assert rows["isolation"] == "SERIALIZABLE"
    assert rows["n_actions"] == "3"
    assert base64.b64decode(rows["action.00000000"], validate=True) == b"\x08\x01\xff"
    assert rows["action.00000002"] == "dGhpcmQ="
    assert "n_keys" not in rows


def test_rows_of_version_zero() -> None:
    """A first root has no previous one, was no rollback, and says so by leaving rows out."""
    first = RootInfo(created_at_millis=0, lakehouse_def="_d", version=0, txn_id="T0")
    assert set(first.to_rows()) == {
        "created_at_millis",
        "lakehouse_def",
        "version",
        "txn_id",
        "n_actions",
    }


def test_foreign_root() -> None:
    """The rows that the reference writes are enough; the file's name gives the version."""
    rows = {"created_at_millis": "5", "lakehouse_def": "_d", "previous_root": "_p"}
    info = parse_root_info(rows, "root", 7)
    assert info.version == 7
    assert info.txn_id is info.time_version is info.commit_kind is info.isolation is None
    assert info.actions == []
    assert (info.author, info.message, info.idempotency_key) == ("", "", None)


def test_copy_under_another_name() -> None:
    """Without a name that tells, the row does; with neither the version is unknown."""
    rows = {"created_at_millis": "5", "lakehouse_def": "_d"}
    assert parse_root_info(rows, "_snapshot_U.ipc").version is None
    assert parse_root_info({**rows, "version": "9"}, "_snapshot_U.ipc").version == 9


def test_rows_of_the_example() -> None:
    """A root read from its file gives the same rows."""
    info = parse_root_info(decode_node(node(ROOT, TABLE, BUFFER), "root", 4).system, "root", 3)
    assert (info.version, info.txn_id) == (3, "T3")
    assert info.previous_root == "_01000000000000000000000000000000.ipc"


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"version": "4"}, "version equals"),
        ({"version": "x"}, "version is a decimal"),
        ({"version": "03"}, "version is a decimal"),
        ({"created_at_millis": None}, "created_at_millis"),
        ({"created_at_millis": "-5"}, "created_at_millis is a decimal"),
        ({"lakehouse_def": None}, "lakehouse_def"),
        ({"lakehouse_def": "s3://other/def"}, "URI"),
        ({"lakehouse_def": "../def"}, r"'\.\.'"),
        ({"previous_root": "/_0"}, "absolute"),
        ({"rollback_from_root": ""}, "empty"),
        ({"time_version": "soon"}, "time_version is a decimal"),
        ({"commit_kind": "Logical"}, "commit_kind is one of logical, physical"),
        ({"isolation": "READ_COMMITTED"}, "isolation is one of SNAPSHOT, SERIALIZABLE"),
        ({"n_actions": "2"}, "counts the action rows"),
        ({"n_actions": "99999999999"}, "counts the action rows"),
        ({"n_actions": None}, "counts the action rows"),
        ({"action.00000001": None, "action.00000009": "AA=="}, "system row action.00000001"),
        ({"action.00000001": "%%%"}, "padded base64"),
        ({"action.00000001": "AAA"}, "padded base64"),
    ],
)
def test_rows_that_break_rules(change: dict[str, str | None], rule: str) -> None:
    """Each is a CorruptError that names the file and the rule."""
    rows = {k: v for k, v in {**FULL.to_rows(), **change}.items() if v is not None}
    with pytest.raises(CorruptError, match=rule) as caught:
        parse_root_info(rows, "some-root", 3)
    assert caught.value.fields["path"] == "some-root"
    assert {"rule", "found"} <= set(caught.value.fields)


@pytest.mark.parametrize("row", ["version", "n_keys", "author", "action.00000000"])
def test_known_rows(row: str) -> None:
    """Rows with a meaning must not be there twice."""
    assert is_known_row(row)


@pytest.mark.parametrize("row", ["", "Version", "action.", "action.0", "action.000000000", "x"])
def test_unknown_rows(row: str) -> None:
    """All others are some later writer's business."""
    assert not is_known_row(row)
