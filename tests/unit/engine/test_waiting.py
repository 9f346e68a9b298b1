"""What does not wait while a COMMIT does."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from trinitylake_spark.lakehouse.transaction import Transaction

if TYPE_CHECKING:
    import pytest

    from tests.support.bridge import Catalog

_PATIENCE = 60


def test_show_transaction_answers_while_a_commit_waits(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows the transaction that is being committed, also if statements have just ended."""
    held, go = threading.Event(), threading.Event()
    commit = Transaction.commit

    def slow(self: Transaction) -> int | None:
        held.set()
        assert go.wait(_PATIENCE)
        return commit(self)

    before = catalog.bridge.service.held()["statements"]
    ((transaction, _),) = catalog.procedure("begin")
    statement = catalog.statement()
    statement.insert("t", "f3")
    monkeypatch.setattr(Transaction, "commit", slow)
    with ThreadPoolExecutor(2) as pool:
        committing = pool.submit(catalog.procedure, "commit")
        assert held.wait(_PATIENCE)
        shown = pool.submit(
            catalog.call,
            "procedure",
            name="show_transaction",
            arguments={},
            ended_statements=[statement.name],
        )
        try:
            (row,) = shown.result(_PATIENCE)["rows"]
        finally:
            go.set()
        committing.result(_PATIENCE)

    assert row[0] == transaction
    assert "ns.t" in str(row[-1])
    assert catalog.procedure("show_transaction") == []
    catalog.call("tables", namespace="ns", statement=None)
    assert catalog.bridge.service.held()["statements"] == before
