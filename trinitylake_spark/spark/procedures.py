"""``CALL <catalog>.system.…``: every procedure, its parameters and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from trinitylake_spark.errors import InvalidInputError
from trinitylake_spark.lakehouse.prepared import PreparedTransactions
from trinitylake_spark.spark.reports import (
    CHANGES,
    TRANSACTIONS,
    answer,
    changes_column,
    micros,
    transaction_row,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from trinitylake_spark.spark.reports import Column
    from trinitylake_spark.spark.sessions import Session

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Rows = list[list[Any]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a procedure.

    Args:
        name: its name.
        type: as in Spark's DDL.
        required: a call without it is refused.
    """

    name: str
    type: str = "STRING"
    required: bool = False


class Effect(StrEnum):
    """What a procedure does, as far as the bridge must know where it may be called."""

    READS = "reads"
    """It shows something."""
    CHANGES = "changes"
    """It changes the lakehouse or a prepared transaction."""
    BOUNDS = "bounds"
    """It begins or ends the session's transaction."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure.

    Args:
        parameters: in the order of a call by position; required ones first.
        columns: of the rows that it answers.
        run: does it.
        effect: what it does.
    """

    parameters: Sequence[Parameter]
    columns: Sequence[Column]
    run: Callable[[Session, Mapping[str, Any]], _Rows]
    effect: Effect = Effect.CHANGES


def describe() -> list[dict[str, Any]]:
    """Return all procedures as the bridge offers them to Spark."""
    return [
        {
            "name": name,
            "parameters": [
                {"name": p.name, "type": p.type, "required": p.required}
                for p in procedure.parameters
            ],
            "columns": [list(column) for column in procedure.columns],
            "effect": str(procedure.effect),
        }
        for name, procedure in _PROCEDURES.items()
    ]


def run(session: Session, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run a procedure.

    Args:
        session: who calls.
        name: the procedure, in any case.
        arguments: by name; timestamps are UTC epoch microseconds.

    Raises:
        InvalidInputError: there is no such procedure, or an argument is missing or has an
            impossible value.
    """
    procedure = _PROCEDURES.get(name.lower())
    if procedure is None:
        raise InvalidInputError(
            f"There is no procedure system.{name}; there is: {', '.join(sorted(_PROCEDURES))}.",
            procedure=name,
        )
    for parameter in procedure.parameters:
        if parameter.required and arguments.get(parameter.name) is None:
            raise InvalidInputError(
                f"Procedure {name} needs the argument {parameter.name}.",
                procedure=name,
                argument=parameter.name,
            )
    return answer(procedure.columns, procedure.run(session, arguments))


# --- transactions --------------------------------------------------------------------------------


def _begin(session: Session, arguments: Mapping[str, Any]) -> _Rows:
    transaction = session.begin(
        arguments.get("isolation"), arguments.get("message"), arguments.get("idempotency_key")
    )
    return [[transaction.id, transaction.base.version]]


def _commit(session: Session, _: Mapping[str, Any]) -> _Rows:
    return [list(session.commit())]


def _rollback(session: Session, _: Mapping[str, Any]) -> _Rows:
    return [[session.rollback()]]


def _show_transaction(session: Session, _: Mapping[str, Any]) -> _Rows:
    transaction = session.transaction or session.committing
    if transaction is None:
        return []
    began = _EPOCH + timedelta(milliseconds=transaction.began_at_millis)
    return [
        [
            transaction.id,
            session.catalog,
            str(transaction.isolation),
            transaction.base.version,
            transaction.message,
            micros(began),
            changes_column(transaction.changes()),
        ]
    ]


def _prepare_transaction(session: Session, arguments: Mapping[str, Any]) -> _Rows:
    name = arguments["name"]
    return [[name, session.prepare(name)]]


def _resume_transaction(session: Session, arguments: Mapping[str, Any]) -> _Rows:
    transaction = session.resume(arguments["name"])
    return [[transaction.id, transaction.base.version]]


def _commit_prepared(session: Session, arguments: Mapping[str, Any]) -> _Rows:
    session.require_no_transaction("COMMIT PREPARED")
    prepared = PreparedTransactions(session.lake.lakehouse.services)
    return [list(prepared.commit(arguments["name"]))]


def _rollback_prepared(session: Session, arguments: Mapping[str, Any]) -> _Rows:
    session.require_no_transaction("ROLLBACK PREPARED")
    return [[session.lake.lakehouse.rollback_prepared(arguments["name"], author=session.author)]]


def _show_transactions(session: Session, _: Mapping[str, Any]) -> _Rows:
    return [list(transaction_row(info)) for info in session.lake.lakehouse.transactions()]


def _commit_status(session: Session, arguments: Mapping[str, Any]) -> _Rows:
    status = session.lake.lakehouse.commit_status(arguments["transaction_id"])
    return [[str(status.state), status.version]]


# --- the lakehouse -------------------------------------------------------------------------------


def _rollback_to_version(session: Session, arguments: Mapping[str, Any]) -> _Rows:
    session.require_no_transaction("A rollback of the lakehouse")
    previous = session.lake.lakehouse.version
    target = int(arguments["version"])
    version = session.lake.lakehouse.rollback(to_version=target, author=session.author)
    return [[version, previous, target]]


def _rollback_to_timestamp(session: Session, arguments: Mapping[str, Any]) -> _Rows:
    session.require_no_transaction("A rollback of the lakehouse")
    lakehouse = session.lake.lakehouse
    previous = lakehouse.version
    moment = _EPOCH + timedelta(microseconds=int(arguments["timestamp"]))
    target = lakehouse.at(timestamp=moment).version
    version = lakehouse.rollback(to_version=target, author=session.author)
    return [[version, previous, target]]


def _set_property(session: Session, arguments: Mapping[str, Any]) -> _Rows:
    key, value = arguments["key"], arguments["value"]
    return [[session.edit(None, lambda transaction: transaction.set_property(key, value))]]


def _compact_tree(session: Session, _: Mapping[str, Any]) -> _Rows:
    session.require_no_transaction("A compaction of the tree")
    return [[session.lake.lakehouse.compact_tree(author=session.author)]]


def _check(session: Session, arguments: Mapping[str, Any]) -> _Rows:
    report = session.lake.lakehouse.check(deep=bool(arguments.get("deep")))
    return [[problem.path, problem.rule, problem.found] for problem in report.problems]


_NAME = (Parameter("name", required=True),)
_BEGUN = (("transaction_id", "STRING"), ("version", "BIGINT"))
_COMMITTED = (("version", "BIGINT"), ("transaction_id", "STRING"))
_ROLLED_BACK = (
    ("version", "BIGINT"),
    ("previous_version", "BIGINT"),
    ("rolled_back_to", "BIGINT"),
)
_PROCEDURES: Mapping[str, Procedure] = {
    "begin": Procedure(
        (Parameter("isolation"), Parameter("message"), Parameter("idempotency_key")),
        _BEGUN,
        _begin,
        Effect.BOUNDS,
    ),
    "commit": Procedure((), _COMMITTED, _commit, Effect.BOUNDS),
    "rollback": Procedure((), (("transaction_id", "STRING"),), _rollback, Effect.BOUNDS),
    "show_transaction": Procedure(
        (),
        (
            ("transaction_id", "STRING"),
            ("catalog", "STRING"),
            ("isolation_level", "STRING"),
            ("base_version", "BIGINT"),
            ("message", "STRING"),
            ("began_at", "TIMESTAMP"),
            ("changes", CHANGES),
        ),
        _show_transaction,
        Effect.READS,
    ),
    "prepare_transaction": Procedure(
        _NAME,
        (("name", "STRING"), ("transaction_id", "STRING")),
        _prepare_transaction,
        Effect.BOUNDS,
    ),
    "resume_transaction": Procedure(_NAME, _BEGUN, _resume_transaction, Effect.BOUNDS),
    "commit_prepared": Procedure(_NAME, _COMMITTED, _commit_prepared),
    "rollback_prepared": Procedure(_NAME, (("transaction_id", "STRING"),), _rollback_prepared),
    "show_transactions": Procedure((), TRANSACTIONS, _show_transactions, Effect.READS),
    "commit_status": Procedure(
        (Parameter("transaction_id", required=True),),
        (("status", "STRING"), ("version", "BIGINT")),
        _commit_status,
        Effect.READS,
    ),
    "rollback_to_version": Procedure(
        (Parameter("version", "BIGINT", required=True),), _ROLLED_BACK, _rollback_to_version
    ),
    "rollback_to_timestamp": Procedure(
        (Parameter("timestamp", "TIMESTAMP", required=True),), _ROLLED_BACK, _rollback_to_timestamp
    ),
    "set_property": Procedure(
        (Parameter("key", required=True), Parameter("value", required=True)),
        (("version", "BIGINT"),),
        _set_property,
    ),
    "compact_tree": Procedure((), (("version", "BIGINT"),), _compact_tree),
    "check": Procedure(
        (Parameter("deep", "BOOLEAN"),),
        (("path", "STRING"), ("rule", "STRING"), ("found", "STRING")),
        _check,
        Effect.READS,
    ),
}
