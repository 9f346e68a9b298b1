"""A bank: accounts in several tables, transfers between them, a ledger, and auditors.

Money is only moved, so the total of all accounts is the same for everybody at any moment: for an
auditor inside a transaction, and at every version that was ever committed. Each transfer also
enters itself in the ledger, so at every version the balances follow from the ledger as well.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.support.row_tables import Conflict, adding, row, values, where

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.row_tables import Row, Session, Tables

BRANCHES = ("north", "east", "south")
ACCOUNTS = 3
_DEPOSIT = 100
TOTAL = len(BRANCHES) * ACCOUNTS * _DEPOSIT
_LEDGER = "ledger"
_TABLES = (*BRANCHES, _LEDGER)


def create_bank(tables: Tables) -> int:
    """Create a table of accounts for each branch, and the ledger; return the version."""
    session = tables.session()
    session.create_namespace()
    for number, branch in enumerate(BRANCHES):
        rows = [row(k, _DEPOSIT, f"p{k % 2}") for k in range(ACCOUNTS)]
        session.create(branch, *rows, partitioned=number == 0)
    session.create(_LEDGER)
    return newest(tables)


def audit(session: Session, **when: Any) -> str:
    """Add everything up; return what is wrong, or nothing. ``when`` travels in time."""
    return _wrong({table: session.select(table, **when) for table in _TABLES})


def _wrong(rows: Mapping[str, list[Row]]) -> str:
    moved: Counter[tuple[str, int]] = Counter()
    for entry in rows[_LEDGER]:
        transfer = entry["v"]
        moved[transfer["from"][0], transfer["from"][1]] -= transfer["amount"]
        moved[transfer["to"][0], transfer["to"][1]] += transfer["amount"]
    balances = {
        (branch, key): value for branch in BRANCHES for key, value in values(rows[branch]).items()
    }
    if sum(balances.values()) != TOTAL:
        return f"the total is {sum(balances.values())}: {balances}"
    wrong = {a: b for a, b in balances.items() if b != _DEPOSIT + moved[a]}
    return f"the ledger does not explain {wrong}" if wrong else ""


class Teller:
    """One client: makes transfers, and now and then audits.

    Args:
        tables: the lakehouse.
        seed: of all choices.
        number: makes ledger keys of its own.
        level: isolation of its transactions.
    """

    def __init__(self, tables: Tables, seed: int, number: int, level: str) -> None:
        self._session = tables.session()
        self._chance = random.Random(f"{seed}-{number}")
        self._next = number * 1_000_000
        self._level = level
        self.done = 0
        """Transfers and audits begun."""
        self.transfers: dict[int, int] = {}
        """Version of each transfer that was acknowledged, by its key in the ledger."""
        self.faults: list[str] = []
        """What audits inside of transactions found."""

    def steps(self) -> Iterator[None]:
        """Work for ever; others may work wherever this yields."""
        while True:
            self.done += 1
            if self._chance.random() < 0.3:
                yield from self._audit()
            else:
                yield from self._transfer()

    def _transfer(self) -> Iterator[None]:
        accounts = [(branch, k) for branch in BRANCHES for k in range(ACCOUNTS)]
        (source, a), (target, b) = self._chance.sample(accounts, 2)
        amount = self._chance.randint(1, 30)
        self._next += 1
        try:
            self._session.begin(self._level)
            yield
            self._session.update(source, where(k=a), adding(-amount))
            yield
            self._session.insert(
                _LEDGER, row(self._next, {"from": (source, a), "to": (target, b), "amount": amount})
            )
            yield
            self._session.update(target, where(k=b), adding(amount))
            yield
            version = self._session.commit()
            assert version is not None
            self.transfers[self._next] = version
        except Conflict:
            pass

    def _audit(self) -> Iterator[None]:
        """Add everything up in one transaction, with others at work between its reads."""
        self._session.begin(self._level)
        rows = {}
        for table in _TABLES:
            yield
            rows[table] = self._session.select(table)
        fault = _wrong(rows)
        if fault:
            self.faults.append(fault)
        self._session.rollback()


def audit_history(tables: Tables, tellers: list[Teller], first: int) -> list[str]:
    """Audit each version from ``first`` on, and find every transfer in the version it got."""
    session = tables.session()
    faults = [fault for teller in tellers for fault in teller.faults]
    entered: dict[int, int] = {}
    for version in range(first, newest(tables) + 1):
        fault = audit(session, version=str(version))
        if fault:
            faults.append(f"version {version}: {fault}")
        for entry in session.select(_LEDGER, version=str(version)):
            entered.setdefault(entry["k"], version)
    acknowledged = {k: v for teller in tellers for k, v in teller.transfers.items()}
    if entered != acknowledged:
        faults.append(f"acknowledged {acknowledged}, found {entered}")
    return faults


def newest(tables: Tables) -> int:
    """Return the lakehouse's newest version."""
    session = tables.session()
    version = session.begin()
    session.rollback()
    return version
