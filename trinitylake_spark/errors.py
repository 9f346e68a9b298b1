"""Every error that the library raises: one root, few classes, grouped by what the caller would do.

The tree::

    TrinityLakeError
    ├── CommitConflictError     another transaction got in the way: rerun the whole transaction
    ├── CommitUnknownError      the outcome could not be read: ask ``commit_status`` later
    ├── StatementConflictError  another statement of the open transaction: run this one again
    ├── TransactionStateError   BEGIN inside, COMMIT outside, finished or expired transaction
    ├── ReadOnlyError           a write to something that cannot be written
    ├── NotFoundError           a name, version, snapshot or file that does not exist
    ├── AlreadyExistsError      a name or file that exists already
    ├── InvalidInputError       an argument that can never work
    ├── UnsupportedError        refused by name, with a reason and a way out
    ├── StorageError            the storage failed; the outcome of a read is "don't know"
    ├── CorruptError            a file is not what its rules say
    └── EngineError             the engine process is gone or broken

``kind`` is stable and append-only; it is the Spark error condition of the same name.
Nobody needs to parse a message.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar


class Kind(StrEnum):
    """Stable names of every condition; in Spark the same string is the error condition."""

    COMMIT_CONFLICT = "TRINITYLAKE_COMMIT_CONFLICT"
    COMMIT_RETRIES_EXHAUSTED = "TRINITYLAKE_COMMIT_RETRIES_EXHAUSTED"
    COMMIT_UNKNOWN = "TRINITYLAKE_COMMIT_UNKNOWN"
    STATEMENT_CONFLICT = "TRINITYLAKE_STATEMENT_CONFLICT"
    TRANSACTION_ACTIVE = "TRINITYLAKE_TRANSACTION_ACTIVE"
    NO_TRANSACTION = "TRINITYLAKE_NO_TRANSACTION"
    TRANSACTION_FINISHED = "TRINITYLAKE_TRANSACTION_FINISHED"
    TRANSACTION_EXPIRED = "TRINITYLAKE_TRANSACTION_EXPIRED"
    TRANSACTION_MOVED = "TRINITYLAKE_TRANSACTION_MOVED"
    TRANSACTION_NOT_FOUND = "TRINITYLAKE_TRANSACTION_NOT_FOUND"
    TRANSACTION_ALREADY_EXISTS = "TRINITYLAKE_TRANSACTION_ALREADY_EXISTS"
    STALE_PLAN = "TRINITYLAKE_STALE_PLAN"
    READ_ONLY = "TRINITYLAKE_READ_ONLY"
    VERSION_NOT_FOUND = "TRINITYLAKE_VERSION_NOT_FOUND"
    VERSION_EXPIRED = "TRINITYLAKE_VERSION_EXPIRED"
    INVALID_VERSION = "TRINITYLAKE_INVALID_VERSION"
    VERSION_OVERFLOW = "TRINITYLAKE_VERSION_OVERFLOW"
    SNAPSHOT_NOT_FOUND = "TRINITYLAKE_SNAPSHOT_NOT_FOUND"
    SNAPSHOT_ALREADY_EXISTS = "TRINITYLAKE_SNAPSHOT_ALREADY_EXISTS"
    TIMESTAMP_OUT_OF_RANGE = "TRINITYLAKE_TIMESTAMP_OUT_OF_RANGE"
    LAKEHOUSE_NOT_FOUND = "TRINITYLAKE_LAKEHOUSE_NOT_FOUND"
    LAKEHOUSE_ALREADY_EXISTS = "TRINITYLAKE_LAKEHOUSE_ALREADY_EXISTS"
    NAMESPACE_NOT_FOUND = "TRINITYLAKE_NAMESPACE_NOT_FOUND"
    NAMESPACE_ALREADY_EXISTS = "TRINITYLAKE_NAMESPACE_ALREADY_EXISTS"
    NAMESPACE_NOT_EMPTY = "TRINITYLAKE_NAMESPACE_NOT_EMPTY"
    TABLE_NOT_FOUND = "TRINITYLAKE_TABLE_NOT_FOUND"
    TABLE_ALREADY_EXISTS = "TRINITYLAKE_TABLE_ALREADY_EXISTS"
    VIEW_NOT_FOUND = "TRINITYLAKE_VIEW_NOT_FOUND"
    VIEW_ALREADY_EXISTS = "TRINITYLAKE_VIEW_ALREADY_EXISTS"
    INVALID_NAME = "TRINITYLAKE_INVALID_NAME"
    INVALID_ARGUMENT = "TRINITYLAKE_INVALID_ARGUMENT"
    INVALID_URL = "TRINITYLAKE_INVALID_URL"
    SETUP = "TRINITYLAKE_SETUP"
    UNSUPPORTED = "TRINITYLAKE_UNSUPPORTED"
    STORAGE = "TRINITYLAKE_STORAGE"
    NOT_EXCLUSIVE = "TRINITYLAKE_NOT_EXCLUSIVE"
    OBJECT_NOT_FOUND = "TRINITYLAKE_OBJECT_NOT_FOUND"
    OBJECT_ALREADY_EXISTS = "TRINITYLAKE_OBJECT_ALREADY_EXISTS"
    CREATE_UNKNOWN = "TRINITYLAKE_CREATE_UNKNOWN"
    CORRUPT = "TRINITYLAKE_CORRUPT"
    ENGINE = "TRINITYLAKE_ENGINE"


_SQL_STATES: dict[Kind, str] = {
    Kind.COMMIT_CONFLICT: "40001",
    Kind.COMMIT_RETRIES_EXHAUSTED: "40001",
    Kind.COMMIT_UNKNOWN: "40003",
    Kind.STATEMENT_CONFLICT: "55006",
    Kind.TRANSACTION_ACTIVE: "25001",
    Kind.NO_TRANSACTION: "25P01",
    Kind.TRANSACTION_FINISHED: "25000",
    Kind.TRANSACTION_EXPIRED: "25P04",
    Kind.TRANSACTION_MOVED: "25000",
    Kind.TRANSACTION_NOT_FOUND: "42704",
    Kind.TRANSACTION_ALREADY_EXISTS: "42710",
    Kind.STALE_PLAN: "25000",
    Kind.READ_ONLY: "25006",
    Kind.VERSION_NOT_FOUND: "22023",
    Kind.VERSION_EXPIRED: "22023",
    Kind.INVALID_VERSION: "22023",
    Kind.VERSION_OVERFLOW: "54000",
    Kind.SNAPSHOT_NOT_FOUND: "22023",
    Kind.SNAPSHOT_ALREADY_EXISTS: "42710",
    Kind.TIMESTAMP_OUT_OF_RANGE: "22023",
    Kind.LAKEHOUSE_NOT_FOUND: "3D000",
    Kind.LAKEHOUSE_ALREADY_EXISTS: "42P04",
    Kind.NAMESPACE_NOT_FOUND: "42704",
    Kind.NAMESPACE_ALREADY_EXISTS: "42P06",
    Kind.NAMESPACE_NOT_EMPTY: "2BP01",
    Kind.TABLE_NOT_FOUND: "42P01",
    Kind.TABLE_ALREADY_EXISTS: "42P07",
    Kind.VIEW_NOT_FOUND: "42P01",
    Kind.VIEW_ALREADY_EXISTS: "42P07",
    Kind.INVALID_NAME: "42602",
    Kind.INVALID_ARGUMENT: "22023",
    Kind.INVALID_URL: "22023",
    Kind.SETUP: "56038",
    Kind.UNSUPPORTED: "0A000",
    Kind.STORAGE: "58030",
    Kind.NOT_EXCLUSIVE: "58030",
    Kind.OBJECT_NOT_FOUND: "58030",
    Kind.OBJECT_ALREADY_EXISTS: "58030",
    Kind.CREATE_UNKNOWN: "58030",
    Kind.CORRUPT: "XX001",
    Kind.ENGINE: "58000",
}


class TrinityLakeError(Exception):
    """Root of every error.

    Args:
        message: one or two sentences: what happened, and what to do next.
        kind: the stable name; a class's own default if left out.
        fields: typed facts about the failure (table, version, path …), kept in ``fields``.
    """

    default_kind: ClassVar[Kind] = Kind.ENGINE

    def __init__(self, message: str, *, kind: Kind | None = None, **fields: Any) -> None:  # noqa: ANN401 - facts differ by kind
        super().__init__(message)
        self.message = message
        self.kind = kind or self.default_kind
        self.fields = fields

    @property
    def sql_state(self) -> str:
        """The SQLSTATE that belongs to ``kind``, five characters."""
        return _SQL_STATES[self.kind]

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors cross process borders, so kind and fields survive pickling."""
        return _rebuild, (type(self), self.message, self.kind, self.fields)


def _rebuild(
    cls: type[TrinityLakeError], message: str, kind: Kind, fields: dict[str, Any]
) -> TrinityLakeError:
    return cls(message, kind=kind, **fields)


class CommitConflictError(TrinityLakeError):
    """Another transaction changed something this one depends on; rerun the transaction."""

    default_kind = Kind.COMMIT_CONFLICT


class CommitUnknownError(TrinityLakeError):
    """The commit may or may not have happened; ``commit_status(transaction_id)`` tells later."""

    default_kind = Kind.COMMIT_UNKNOWN


class StatementConflictError(TrinityLakeError):
    """Another statement of the same transaction, which is still open, changed the table first."""

    default_kind = Kind.STATEMENT_CONFLICT


class TransactionStateError(TrinityLakeError):
    """The transaction is not in the state that the call needs."""

    default_kind = Kind.TRANSACTION_FINISHED


class ReadOnlyError(TrinityLakeError):
    """A write to a past version, an exported snapshot or the ``system`` namespace."""

    default_kind = Kind.READ_ONLY


class NotFoundError(TrinityLakeError):
    """A name, version, snapshot or stored object that does not exist."""

    default_kind = Kind.OBJECT_NOT_FOUND


class AlreadyExistsError(TrinityLakeError):
    """A name or stored object that exists already, or a namespace that is not empty."""

    default_kind = Kind.OBJECT_ALREADY_EXISTS


class InvalidInputError(TrinityLakeError, ValueError):
    """An argument that can never work."""

    default_kind = Kind.INVALID_ARGUMENT


class UnsupportedError(TrinityLakeError):
    """Refused by name, with the reason and the way out."""

    default_kind = Kind.UNSUPPORTED


class StorageError(TrinityLakeError):
    """The storage failed (timeout, permission, server error): nothing is known about the object."""

    default_kind = Kind.STORAGE


class CorruptError(TrinityLakeError):
    """A file breaks a rule of the format: names the file, the rule, what was found."""

    default_kind = Kind.CORRUPT


class EngineError(TrinityLakeError):
    """The engine process is gone, broken, or was called by somebody without its secret."""

    default_kind = Kind.ENGINE
