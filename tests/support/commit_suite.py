"""Commits through a faulty network: made exactly once, or not at all, or said to be unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import pytest

from tests.servers.fault_proxy import Effect, Fault, FaultProxy
from tests.support.scale import FULL
from trinitylake_spark.errors import CommitConflictError, CommitUnknownError, StorageError
from trinitylake_spark.lakehouse.lakehouse import Lakehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.base import Server
    from trinitylake_spark.lakehouse.transaction import Transaction


class Lakes(NamedTuple):
    """One lakehouse, seen directly and through the proxy."""

    direct: Lakehouse
    shaky: Lakehouse


_FAULTS = {
    "one-reply-lost": Fault(Effect.DROP_REPLY, times=1),
    "all-replies-lost": Fault(Effect.DROP_REPLY),
    "one-request-lost": Fault(Effect.DROP_REQUEST, times=1),
    "all-requests-lost": Fault(Effect.DROP_REQUEST),
    "reply-too-late": Fault(Effect.DELAY_REPLY, seconds=3.0, times=1),
    "reply-late": Fault(Effect.DELAY_REPLY, seconds=0.3),
    "no-answer": Fault(Effect.HANG, times=2),
    "network-dies": Fault(Effect.DIE),
}


class CommitSuite:
    """What a commit does when the request that creates its root, or the reply, is lost."""

    roots: ClassVar[bytes]
    """Pattern of the request that creates a root."""
    hasty: ClassVar[dict[str, str]]

    begins: ClassVar[dict[str, str]] = {"timeout": "1500ms"}
    """More patience, for the transaction has to begin, too."""

    def options(self, server: Server) -> dict[str, str]:
        """Options to open the server's storage with."""
        raise NotImplementedError

    @pytest.fixture
    def lakes(self, server: Server, prefix: str, proxy: FaultProxy) -> Iterator[Lakes]:
        """A new lakehouse."""
        behind = server.through(proxy.address)
        hasty = {**self.options(behind), **self.hasty, **self.begins}
        url = server.url(f"{prefix}-lake")
        with (
            Lakehouse.create(url, storage_options=self.options(server)) as direct,
            Lakehouse.open(behind.url(f"{prefix}-lake"), storage_options=hasty) as shaky,
        ):
            yield Lakes(direct, shaky)

    @pytest.mark.parametrize("competitor", [True, False] if FULL else [True])
    @pytest.mark.parametrize("trouble", _FAULTS)
    def test_commit_is_made_once(
        self, lakes: Lakes, proxy: FaultProxy, trouble: str, competitor: bool
    ) -> None:
        """What commit() reports is what the lakehouse shows, and it shows it at most once."""
        transaction = lakes.shaky.begin()
        transaction.create_namespace("mine")
        if competitor:
            with lakes.direct.transaction() as theirs:
                theirs.create_namespace("theirs")
        plan = _FAULTS[trouble]
        fault = Fault(plan.effect, self.roots, plan.times, plan.seconds)
        proxy.break_with(fault)
        reported = _commit(transaction)
        proxy.break_with(None)
        assert fault.hits > 0

        status = lakes.direct.commit_status(transaction.id)
        ids = [version.transaction_id for version in lakes.direct.versions()]
        assert ids.count(transaction.id) == (1 if status.state == "committed" else 0)
        assert ("mine" in lakes.direct.namespaces()) == (status.state == "committed")
        assert ("theirs" in lakes.direct.namespaces()) == competitor
        if reported == "committed":
            assert status.state == "committed"
            assert status.version == transaction.version
        elif reported == "failed":
            assert status.state == "not committed"
        assert lakes.direct.check().problems == []

    def test_network_dies_after_the_root_is_stored(self, lakes: Lakes, proxy: FaultProxy) -> None:
        """If even reading back fails the outcome is unknown, and commit_status tells later."""
        transaction = lakes.shaky.begin()
        transaction.create_namespace("mine")
        proxy.break_with(Fault(Effect.DIE, self.roots))
        assert _commit(transaction) == "unknown"
        proxy.break_with(None)
        status = lakes.shaky.commit_status(transaction.id)
        assert (status.state, status.version) == ("committed", 1)

    def test_next_transaction_goes_on(self, lakes: Lakes, proxy: FaultProxy) -> None:
        """After any trouble the same client works on, from what is really there."""
        for number, fault in enumerate((Effect.DROP_REPLY, Effect.DIE, Effect.DROP_REQUEST)):
            transaction = lakes.shaky.begin()
            transaction.create_namespace(f"n{number}")
            proxy.break_with(Fault(fault, self.roots, times=1))
            _commit(transaction)
            proxy.break_with(None)
        with lakes.shaky.transaction() as last:
            last.create_namespace("last")
        assert last.version == lakes.direct.version
        assert lakes.shaky.namespaces() == lakes.direct.namespaces()


def _commit(transaction: Transaction) -> str:
    try:
        transaction.commit()
    except CommitUnknownError:
        return "unknown"
    except (CommitConflictError, StorageError):
        return "failed"
    return "committed"
