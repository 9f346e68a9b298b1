"""Batches of streams that others overtake: our conflict, or a number that Delta tries anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.bridge import Log, altering, appending, raises_kind
from trinitylake_spark.delta.entry import Entry

if TYPE_CHECKING:
    from tests.support.bridge import Catalog


def batch(*files: str, query: str = "q", blind: bool = True) -> Entry:
    """The entry of a batch; if not ``blind``, of one that read the table or replaces it."""
    info = appending().commit_info | {"operation": "STREAMING UPDATE", "isBlindAppend": blind}
    adds = [(kind, body) for kind, body in appending(*files).actions if kind == "add"]
    return Entry((("commitInfo", info), ("txn", {"appId": query, "version": 1}), *adds))


def stream_of(catalog: Catalog) -> Log:
    """Table ``t`` as a stream of the session sees it."""
    live = catalog.statement().load("t", "live")
    return Log(catalog.bridge, live.answer["stream_path"], {})


def overtake(catalog: Catalog, what: str) -> None:
    """Commit something to table ``t``."""
    log = catalog.statement().load("t", "write")
    if what == "INSERT":
        log.commit(appending("g"))
    elif what == "UPDATE":
        catalog.update("t", "f1", "f1b")
    elif what == "ALTER":
        log.commit(altering(log.entries(), {"a": "b"}))
    else:
        log.commit(batch("s"))


@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize(
    ("what", "blind", "kind"),
    [
        ("INSERT", True, "OBJECT_ALREADY_EXISTS"),
        ("INSERT", False, "OBJECT_ALREADY_EXISTS"),
        ("UPDATE", True, "OBJECT_ALREADY_EXISTS"),
        ("UPDATE", False, "COMMIT_CONFLICT"),
        ("ALTER", True, "COMMIT_CONFLICT"),
        ("the same query", True, "COMMIT_CONFLICT"),
    ],
)
def test_what_a_batch_can_follow(
    catalog: Catalog, other: Catalog, what: str, kind: str, *, blind: bool, is_listed: bool
) -> None:
    """Delta gives up where the kind is a conflict, so that it must hear it from here.

    Another stream of the session may have listed the log meanwhile.
    """
    stream = stream_of(catalog)
    number = stream.version() + 1
    overtake(other, what)
    if is_listed:
        stream.list()
    before = other.files("t")
    error = raises_kind(kind, lambda: stream.write(number, batch("x", blind=blind)))
    assert other.files("t") == before
    if kind == "COMMIT_CONFLICT":
        assert error.sql_state == "40001"
        assert error.fields["table"] == "ns.t"
    stream.commit(batch("x", query="another"))
    assert other.files("t") == before | {"x"}
