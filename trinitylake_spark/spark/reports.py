"""Tables of the reserved namespace ``system``: what a lakehouse says about itself, as rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from trinitylake_spark.errors import Kind, NotFoundError
from trinitylake_spark.lakehouse.history import describe_version, roots_down
from trinitylake_spark.lakehouse.properties import all_properties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from trinitylake_spark.lakehouse.actions import Change
    from trinitylake_spark.lakehouse.history import VersionInfo
    from trinitylake_spark.lakehouse.prepared import PreparedInfo
    from trinitylake_spark.spark.sessions import Session

Column = tuple[str, str]
"""Name and type as in Spark's DDL."""

CHANGES = "ARRAY<STRUCT<object: STRING, name: STRING, operation: STRING>>"
TRANSACTIONS: Sequence[Column] = (
    ("name", "STRING"),
    ("transaction_id", "STRING"),
    ("state", "STRING"),
    ("version", "BIGINT"),
    ("isolation_level", "STRING"),
    ("base_version", "BIGINT"),
    ("author", "STRING"),
    ("message", "STRING"),
    ("began_at", "TIMESTAMP"),
    ("expires_at", "TIMESTAMP"),
    ("changes", CHANGES),
)
"""What is shown of prepared transactions."""


@dataclass(frozen=True, slots=True)
class Report:
    """One table of ``system``.

    Args:
        columns: names and types.
        rows: yields the rows, newest first where there is an order.
    """

    columns: Sequence[Column]
    rows: Callable[[Session], Iterator[Sequence[Any]]]


def answer(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return rows as the bridge reads them."""
    return {"columns": [list(column) for column in columns], "rows": [list(row) for row in rows]}


def names() -> list[str]:
    """Return the names of all tables of ``system``."""
    return sorted(_REPORTS)


def read(session: Session, name: str, limit: int | None) -> dict[str, Any]:
    """Return the rows of a table of ``system``.

    Args:
        session: whose lakehouse.
        name: the table's name, in any case.
        limit: at most so many rows; all if None.

    Raises:
        NotFoundError: kind ``TABLE_NOT_FOUND``.
    """
    report = _REPORTS.get(name.lower())
    if report is None:
        raise NotFoundError(
            f"There is no table system.{name}; there is: {', '.join(names())}.",
            kind=Kind.TABLE_NOT_FOUND,
            namespace="system",
            table=name,
        )
    rows = [] if limit == 0 else list(islice(report.rows(session), limit))
    return answer(report.columns, rows)


def micros(moment: datetime | None) -> int | None:
    """Return a time as UTC epoch microseconds, as Spark holds it."""
    if moment is None:
        return None
    return int(moment.timestamp()) * 1_000_000 + moment.microsecond


def _versions(session: Session) -> Iterator[Sequence[Any]]:
    """Yield the history, in a transaction as of its beginning."""
    finder, transaction = session.lake.lakehouse.services.finder, session.transaction
    latest = finder.latest() if transaction is None else transaction.base.root
    return (_version_row(describe_version(root)) for root in roots_down(finder, latest))


def _version_row(info: VersionInfo) -> Sequence[Any]:
    return [
        info.version,
        micros(info.created_at),
        micros(info.time_version),
        info.kind,
        info.transaction_id,
        info.isolation_level,
        info.author,
        info.message,
        info.rolled_back_to,
        changes_column(info.changes),
    ]


def _transactions(session: Session) -> Iterator[Sequence[Any]]:
    """Yield the prepared transactions there are now: they are no part of any version."""
    return (transaction_row(info) for info in session.lake.lakehouse.transactions())


def transaction_row(info: PreparedInfo) -> Sequence[Any]:
    """Return what is known of a prepared transaction as a row of ``TRANSACTIONS``."""
    return [
        info.name,
        info.transaction_id,
        info.state,
        info.version,
        info.isolation_level,
        info.base_version,
        info.author,
        info.message,
        micros(info.began_at),
        micros(info.expires_at),
        changes_column(info.changes),
    ]


def changes_column(changes: Iterable[Change]) -> list[dict[str, str]]:
    """Return changes as Spark holds them."""
    return [
        {"object": change.object, "name": change.name, "operation": change.operation}
        for change in changes
    ]


def _properties(session: Session) -> Iterator[Sequence[Any]]:
    """Yield the properties, in a transaction with its own changes."""
    transaction = session.transaction
    definition = (
        session.lake.lakehouse.snapshot().layout.definition
        if transaction is None
        else transaction.definition
    )
    return iter(sorted(all_properties(definition).items()))


_REPORTS = {
    "versions": Report(
        (
            ("version", "BIGINT"),
            ("created_at", "TIMESTAMP"),
            ("time_version", "TIMESTAMP"),
            ("kind", "STRING"),
            ("transaction_id", "STRING"),
            ("isolation_level", "STRING"),
            ("author", "STRING"),
            ("message", "STRING"),
            ("rolled_back_to", "BIGINT"),
            ("changes", CHANGES),
        ),
        _versions,
    ),
    "transactions": Report(TRANSACTIONS, _transactions),
    "properties": Report((("key", "STRING"), ("value", "STRING")), _properties),
}
