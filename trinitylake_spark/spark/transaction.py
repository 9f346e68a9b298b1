"""Transactions for Python code that runs on Spark: a ``with`` block, and a rerun on conflicts."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

from pyspark.errors import PySparkException

from trinitylake_spark import errors
from trinitylake_spark.clock import SystemClock
from trinitylake_spark.commit.rerun import RERUNS, reruns
from trinitylake_spark.errors import (
    CommitConflictError,
    Kind,
    StatementConflictError,
    TrinityLakeError,
)
from trinitylake_spark.lakehouse.transaction import isolation_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import Row, SparkSession

T = TypeVar("T")

_CLASSES: dict[Kind, type[TrinityLakeError]] = {
    Kind.COMMIT_CONFLICT: errors.CommitConflictError,
    Kind.COMMIT_RETRIES_EXHAUSTED: errors.CommitConflictError,
    Kind.COMMIT_UNKNOWN: errors.CommitUnknownError,
    Kind.STATEMENT_CONFLICT: errors.StatementConflictError,
    Kind.TRANSACTION_ACTIVE: errors.TransactionStateError,
    Kind.NO_TRANSACTION: errors.TransactionStateError,
    Kind.TRANSACTION_FINISHED: errors.TransactionStateError,
    Kind.TRANSACTION_EXPIRED: errors.TransactionStateError,
    Kind.TRANSACTION_MOVED: errors.TransactionStateError,
    Kind.TRANSACTION_NOT_FOUND: errors.NotFoundError,
    Kind.TRANSACTION_ALREADY_EXISTS: errors.AlreadyExistsError,
    Kind.VERSION_EXPIRED: errors.NotFoundError,
    Kind.READ_ONLY: errors.ReadOnlyError,
    Kind.INVALID_ARGUMENT: errors.InvalidInputError,
    Kind.UNSUPPORTED: errors.UnsupportedError,
    Kind.STORAGE: errors.StorageError,
    Kind.CORRUPT: errors.CorruptError,
    Kind.ENGINE: errors.EngineError,
}


@dataclass(slots=True)
class SparkTransaction:
    """A transaction of a Spark session.

    Args:
        id: its id, the argument of ``commit_status``.
        base_version: the lake version that it sees.
        version: the lake version it committed; None before, and if it changed nothing.
    """

    id: str
    base_version: int
    version: int | None = None


@contextmanager
def transaction(
    spark: SparkSession,
    catalog: str | None = None,
    *,
    isolation: str | None = None,
    message: str | None = None,
    idempotency_key: str | None = None,
) -> Iterator[SparkTransaction]:
    """Run the block in a transaction: COMMIT at its end, ROLLBACK if it raises.

    Args:
        spark: the session.
        catalog: which lakehouse; if left out, the one that SQL's ``BEGIN`` would choose: the
            session's current catalog if it is one, else the only one.
        isolation: ``snapshot`` or ``serializable``; the catalog's own if left out.
        message: shown in the version history.
        idempotency_key: a second commit under the same key changes nothing and reports the
            version of the first.

    Raises:
        CommitConflictError: another transaction got in the way; nothing was changed.
        CommitUnknownError: ask ``commit_status`` with the transaction's id.
        StatementConflictError: threads of the block wrote to one table at once.
        TransactionStateError: the session is in a transaction already.
        InvalidInputError: no such isolation level.
        TrinityLakeError: kind ``SETUP``: the session has no lakehouse, or several to choose from.
    """
    begun = _begin(spark, catalog, isolation, message, idempotency_key)
    name = catalog or cast("str", _row(spark, "SHOW TRANSACTION")["catalog"])
    tx = SparkTransaction(begun["transaction_id"], begun["version"])
    try:
        yield tx
    except PySparkException as error:
        _roll_back(spark, name)
        typed = typed_error(error)
        if isinstance(typed, CommitConflictError | StatementConflictError):
            raise typed from error
        raise
    except BaseException:
        _roll_back(spark, name)
        raise
    tx.version = _call(spark, name, "commit", {})["version"]


def run_transaction(
    spark: SparkSession,
    fn: Callable[..., T],
    catalog: str | None = None,
    *,
    retries: int = RERUNS,
    isolation: str | None = None,
    message: str | None = None,
    idempotency_key: str | None = None,
) -> T:
    """Run a function in a transaction; on a conflict run it again, after a jittered wait.

    Args:
        spark: the session.
        fn: does the work; gets the transaction if it needs an argument, or if its first one is
            called ``tx``. It may run several times, so everything it does outside of the
            lakehouse must bear that.
        catalog: as for ``transaction``.
        retries: how often to run it again.
        isolation: as for ``transaction``.
        message: as for ``transaction``.
        idempotency_key: as for ``transaction``.

    Returns:
        What ``fn`` returned in the run that committed.

    Raises:
        CommitConflictError: the last run had a conflict too, or others were faster for so long
            (kind ``COMMIT_RETRIES_EXHAUSTED``) that no other run was begun.
        StatementConflictError: threads of ``fn`` wrote to one table at once. It is not run again
            for that: the thread that lost can run its statement again.
    """
    takes_one = _takes_transaction(fn)

    def once() -> T:
        with transaction(
            spark,
            catalog,
            isolation=isolation,
            message=message,
            idempotency_key=idempotency_key,
        ) as tx:
            return fn(tx) if takes_one else fn()

    result: T = reruns(SystemClock(), retries)(once)
    return result


def _takes_transaction(fn: Callable[..., object]) -> bool:
    """Tell whether the first argument is meant for the transaction: a default is for the caller."""
    first = next(iter(inspect.signature(fn).parameters.values()), None)
    if first is None or first.kind in (first.KEYWORD_ONLY, first.VAR_KEYWORD):
        return False
    return first.default is first.empty or first.name == "tx"


def typed_error(error: PySparkException) -> TrinityLakeError | None:
    """Return our own error for a Spark error that carries one of our conditions, else None."""
    try:
        kind = Kind(error.getCondition() or "")
    except ValueError:
        return None
    fields = dict(error.getMessageParameters() or {})
    fields.pop("message", None)
    return _CLASSES.get(kind, TrinityLakeError)(str(error), kind=kind, **fields)


def _begin(
    spark: SparkSession,
    catalog: str | None,
    isolation: str | None,
    message: str | None,
    idempotency_key: str | None,
) -> Row:
    """Open a transaction; return its id and the version that it sees."""
    if catalog is not None:
        arguments = {
            "isolation": isolation,
            "message": message,
            "idempotency_key": idempotency_key,
        }
        return _call(spark, catalog, "begin", {k: v for k, v in arguments.items() if v is not None})
    # Only the statement has a rule for the catalog that nobody names.
    text = "BEGIN"
    if isolation is not None:
        text += f" ISOLATION LEVEL {isolation_named(isolation)}"
    if message is not None:
        text += f" COMMENT {_literal(message)}"
    if idempotency_key is not None:
        text += f" IDEMPOTENCY KEY {_literal(idempotency_key)}"
    return _row(spark, text)


def _call(spark: SparkSession, catalog: str, procedure: str, arguments: dict[str, str]) -> Row:
    # Spark binds no parameter markers in CALL, so the values are written as literals.
    named = ", ".join(f"{name} => {_literal(value)}" for name, value in arguments.items())
    quoted = catalog.replace("`", "``")
    return _row(spark, f"CALL `{quoted}`.system.{procedure}({named})")


def _row(spark: SparkSession, statement: str) -> Row:
    """Return the one row that a statement answers; our own errors come typed."""
    try:
        rows = spark.sql(statement).collect()
    except PySparkException as error:
        typed = typed_error(error)
        if typed is None:
            raise
        raise typed from error
    return cast("Row", rows[0])


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _roll_back(spark: SparkSession, catalog: str) -> None:
    """Undo; a transaction that is over already (a failed COMMIT, an engine lost) stays over."""
    try:
        _call(spark, catalog, "rollback", {})
    except TrinityLakeError as error:
        if error.kind not in {Kind.NO_TRANSACTION, Kind.ENGINE}:
            raise
