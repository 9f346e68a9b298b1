"""What an engine keeps stays the same however many statements and sessions it has served."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.bridge import BridgeError, appending, replacing

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.bridge import Catalog, Statement

_STATEMENTS = 10_000
_SESSIONS = 1_000
_WARM = 2_000
"""After so many the bounded caches are full: of roots, nodes, log entries and views."""
_WRITES = 40
"""Every so many statements one of those that write does; the others find nothing or fail."""

_NOTHING = {"namespace": "ns", "statement": None}
_OPEN_FILES = Path("/proc/self/fd")


def _kept(catalog: Catalog) -> dict[str, int]:
    """Count what an engine that leaks would have more of."""
    catalog.bridge.calls.clear()
    gc.collect()
    return {
        **catalog.bridge.service.held(),
        "threads": threading.active_count(),
        "files": sum(1 for _ in _OPEN_FILES.glob("*")),
        "objects": len(gc.get_objects()),
    }


def _reads(statement: Statement, _: int) -> None:
    statement.load("t")


def _finds_nothing(statement: Statement, _: int) -> None:
    statement.load("t", "write")


def _looks_for_what_is_not_there(statement: Statement, _: int) -> None:
    with pytest.raises(BridgeError):
        statement.load("nothing")


def _is_late(statement: Statement, number: int) -> None:
    log = statement.load("t", "write")
    if number % _WRITES:
        return
    meanwhile = statement.catalog.statement()
    meanwhile.update("t", "f1", "f1")
    statement.catalog.call("tables", **_NOTHING, ended_statements=[meanwhile.name])
    with pytest.raises(BridgeError):
        log.commit(replacing("f1", "late"))


def _writes(statement: Statement, number: int) -> None:
    log = statement.load("u", "write")
    if number % _WRITES == 0:
        log.commit(appending(f"f{number}"))


KINDS: list[Callable[[Statement, int], None]] = [
    _reads,
    _finds_nothing,
    _looks_for_what_is_not_there,
    _is_late,
    _writes,
]


def _serve(catalog: Catalog, first: int, last: int) -> None:
    """Run statements of all kinds in turn; each ends, as the JVM says with its next call."""
    ended: list[str] = []
    for number in range(first, last):
        statement = catalog.statement()
        KINDS[number % len(KINDS)](statement, number // len(KINDS))
        ended.append(statement.name)
        if len(ended) > 2:
            catalog.call("tables", **_NOTHING, ended_statements=ended)
            ended = []
    catalog.call("tables", **_NOTHING, ended_statements=ended)


def test_ten_thousand_statements_leave_nothing(catalog: Catalog) -> None:
    """Reads, writes, no-ops, failures: after 10,000 there is no more than after 2,000."""
    catalog.create("u")
    _serve(catalog, 0, _WARM)
    before = _kept(catalog)
    _serve(catalog, _WARM, _STATEMENTS)
    after = _kept(catalog)

    assert after.pop("objects") < before.pop("objects") * 1.2
    assert after == before


def test_a_thousand_sessions_leave_nothing(catalog: Catalog, tmp_path: Path) -> None:
    """Each is dropped in mid-transaction, which is rolled back."""

    def come_and_go(number: int) -> None:
        visitor = catalog.bridge.open(tmp_path / "lake")
        visitor.procedure("begin")
        visitor.insert("t", f"never{number}")
        visitor.statement().load("t", "write")
        visitor.call("catalog_close")

    for number in range(_SESSIONS // 5):
        come_and_go(number)
    before = _kept(catalog)
    for number in range(_SESSIONS // 5, _SESSIONS):
        come_and_go(number)
    after = _kept(catalog)

    assert after.pop("objects") < before.pop("objects") * 1.2
    assert after == before
    assert catalog.files("t") == {"f1", "f2"}
