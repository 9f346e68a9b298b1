"""Random transactions on lists: the workload of the list-append checker.

A key lives in one of four tables. In the *value* tables (``u0``, ``u1``) a list is the value of a
row and an append is an UPDATE; in the *row* tables (``r0``, ``r1``) a list is made of rows, and an
append is an INSERT that reads nothing. The second table of each kind is partitioned. Meanwhile
others compact the value tables, which moves rows between files and must disturb nobody.
"""

from __future__ import annotations

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.support.list_append import APPEND, READ, Op, Txn, check
from tests.support.row_tables import SNAPSHOT, Assignment, Conflict, Row, Tables, row, where
from tests.support.workers import run_workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


TABLES = ("u0", "u1", "r0", "r1")
_KEYS = 4
_LONGEST = 4
_COMPACTIONS = 0.08
_ROLLBACKS = 0.05


@dataclass
class History:
    """What a run leaves behind.

    Args:
        txns: every transaction as its client saw it.
        final: each list in the end.
    """

    txns: list[Txn] = field(default_factory=list)
    final: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def commits(self) -> int:
        """How many transactions committed."""
        return sum(txn.committed for txn in self.txns)


def create_tables(tables: Tables, names: Sequence[str] = TABLES) -> None:
    """Create the tables, with an empty list for each key of the value tables."""
    session = tables.session()
    session.create_namespace()
    for table in names:
        rows = [row(k, "", _partition(k)) for k in range(_KEYS)] if table[0] == "u" else []
        session.create(table, *rows, partitioned=table[1] == "1")


def read_all(tables: Tables, names: Sequence[str] = TABLES) -> dict[str, tuple[int, ...]]:
    """Return every list as it is now."""
    session = tables.session()
    return {
        _key(table, k): _list(session.select(table), table, k)
        for table in names
        for k in range(_KEYS)
    }


class Appender:
    """One client: a session that runs random transactions, one after the other.

    Args:
        tables: the lakehouse.
        seed: of all its choices.
        number: makes ids and values of its own.
        level: isolation of its transactions.
        names: the tables that it uses, two value tables first.
    """

    def __init__(
        self, tables: Tables, seed: int, number: int, level: str, names: Sequence[str] = TABLES
    ) -> None:
        self._session = tables.session()
        self._names = names
        self._chance = random.Random(f"{seed}-{number}")
        self._next = number * 1_000_000
        self._level = level
        self.txns: list[Txn] = []

    def steps(self) -> Iterator[None]:
        """Run transactions for ever; others may run wherever this yields."""
        while True:
            if self._chance.random() < _COMPACTIONS:
                yield from self._compaction()
            yield from self._transaction()

    def _transaction(self) -> Iterator[None]:
        self._next += 1
        txn = Txn(self._next, begun=time.monotonic())
        self.txns.append(txn)
        try:
            self._session.begin(self._level)
            yield
            for _ in range(self._chance.randint(1, _LONGEST)):
                txn.ops.append(self._op())
                yield
            if self._chance.random() < _ROLLBACKS:
                self._session.rollback()
            else:
                self._session.commit()
                txn.committed = True
        except Conflict:
            pass
        finally:
            txn.ended = time.monotonic()

    def _op(self) -> Op:
        table, k = self._chance.choice(self._names), self._chance.randrange(_KEYS)
        if self._chance.random() < 0.5:
            return Op(READ, _key(table, k), _list(self._session.select(table), table, k))
        self._next += 1
        value = self._next
        if table[0] == "r":
            self._session.insert(table, row(k, value, _partition(k)))
        else:
            changed = self._session.update(table, where(k=k, p=_partition(k)), _append(value))
            assert changed == 1
        return Op(APPEND, _key(table, k), (value,))

    def _compaction(self) -> Iterator[None]:
        """OPTIMIZE in a transaction, so that others come in between."""
        try:
            self._session.begin(self._level)
            major = self._chance.random() < 0.5
            self._session.compact(self._chance.choice(self._names[:2]), major=major)
            yield
            self._session.commit()
        except Conflict:
            pass


def interleaved(tables: Tables, seed: int, level: str, *, clients: int, number: int) -> History:
    """Run clients in one thread, switching between them at random: the same seed, the same run."""
    create_tables(tables)
    appenders = [Appender(tables, seed, n, level) for n in range(clients)]
    running = [appender.steps() for appender in appenders]
    chance = random.Random(seed)
    while sum(len(appender.txns) for appender in appenders) < number + clients:
        next(chance.choice(running))
    for each in running:
        each.close()
    txns = [t for a in appenders for t in a.txns]
    return History(txns, read_all(tables))


def threaded(
    tables: Tables,
    seed: int,
    level: str,
    *,
    clients: int,
    number: int,
    first: int = 0,
    names: Sequence[str] = TABLES,
) -> list[Txn]:
    """Run clients in as many threads; the seed decides what they do, the machine when.

    Args:
        tables: the lakehouse, with its tables.
        seed: of all choices.
        level: of all transactions.
        clients: how many.
        number: transactions of each.
        first: number of the first client, for clients of several processes.
        names: the tables.
    """
    appenders = [Appender(tables, seed, first + n, level, names) for n in range(clients)]

    def work(appender: Appender) -> list[Txn]:
        """Run one client to its end."""
        steps = appender.steps()
        while len(appender.txns) <= number:
            next(steps)
        steps.close()
        return appender.txns

    with ThreadPoolExecutor(clients) as pool:
        return [txn for txns in pool.map(work, appenders) for txn in txns]


def several_processes(
    url: str,
    seed: int,
    level: str,
    *,
    processes: int,
    clients: int,
    number: int,
    storage: Mapping[str, str] | None = None,
) -> History:
    """Run threads in several processes on one lakehouse, each with an engine of its own."""
    tables = Tables(url, storage)
    create_tables(tables)
    arguments = [((url, storage), seed, n, level, clients, number) for n in range(processes)]
    reports = run_workers(_work, arguments)
    errors = [report for report in reports if isinstance(report, str)]
    assert not errors, errors
    return History([txn for report in reports for txn in report], read_all(Tables(url, storage)))


def report(history: History, level: str, seed: int) -> str:
    """Say how to run it again, and what was found.

    Rows of their own are no list to SNAPSHOT; the order of commits is promised to SERIALIZABLE.
    """
    rows = {key for key in history.final if key.startswith("r")} if level == SNAPSHOT else ()
    found = check(history.txns, history.final, level, sets=rows)
    again = [f"replay with TRINITYLAKE_SEED={seed}"] if found else []
    return "\n".join([*again, *map(str, found)])


def _work(
    lake: tuple[str, Mapping[str, str] | None],
    seed: int,
    process: int,
    level: str,
    clients: int,
    number: int,
    results: Any,
) -> None:
    try:
        first = process * clients
        results.put(
            threaded(Tables(*lake), seed, level, clients=clients, number=number, first=first)
        )
    except BaseException as error:
        results.put(f"process {os.getpid()}: {error!r}")
        raise


def _append(value: int) -> Assignment:
    return Assignment(
        f"trim(LEADING ',' FROM concat(v, ',{value}'))",
        lambda before: {"v": f"{before['v']},{value}".lstrip(",")},
    )


def _list(rows: list[Row], table: str, k: int) -> tuple[int, ...]:
    found = [one["v"] for one in rows if one["k"] == k]
    if table[0] == "r":
        return tuple(found)
    assert len(found) == 1, f"{table} has row {k} {len(found)} times"
    return tuple(int(v) for v in found[0].split(",") if v)


def _key(table: str, k: int) -> str:
    return f"{table}.{k}"


def _partition(k: int) -> str:
    return "xy"[k % 2]
