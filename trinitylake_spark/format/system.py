"""System rows: what the top of a node file says about the node and its commit (format.md §3.2)."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from trinitylake_spark.errors import CorruptError
from trinitylake_spark.format.paths import check_relative_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

CREATED_AT = "created_at_millis"
N_KEYS = "n_keys"
LAKEHOUSE_DEF = "lakehouse_def"
PREVIOUS_ROOT = "previous_root"
ROLLBACK_FROM_ROOT = "rollback_from_root"
VERSION = "version"
TXN_ID = "txn_id"
TIME_VERSION = "time_version"
COMMIT_KIND = "commit_kind"
ISOLATION = "isolation"
N_ACTIONS = "n_actions"
ACTION_PREFIX = "action."
AUTHOR = "author"
MESSAGE = "message"
IDEMPOTENCY_KEY = "idempotency_key"
OVERTAKEN = "overtaken"
PUBLICATION = "publication"
REVOKED_TXN = "revoked_txn"

_SINGLE = frozenset(
    {
        CREATED_AT,
        N_KEYS,
        LAKEHOUSE_DEF,
        PREVIOUS_ROOT,
        ROLLBACK_FROM_ROOT,
        VERSION,
        TXN_ID,
        TIME_VERSION,
        COMMIT_KIND,
        ISOLATION,
        N_ACTIONS,
        AUTHOR,
        MESSAGE,
        IDEMPOTENCY_KEY,
        OVERTAKEN,
        PUBLICATION,
        REVOKED_TXN,
    }
)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_ACTION = re.compile(r"action\.[0-9]{8}")
_E = TypeVar("_E", bound=StrEnum)


class CommitKind(StrEnum):
    """What a commit was for; a mixed one takes the first of logical, definition, physical."""

    LOGICAL = "logical"
    PHYSICAL = "physical"
    DEFINITION = "definition"
    ROLLBACK = "rollback"


class Isolation(StrEnum):
    """The two isolation levels (format.md §6.3)."""

    SNAPSHOT = "SNAPSHOT"
    SERIALIZABLE = "SERIALIZABLE"


def is_known_row(key: str) -> bool:
    """Tell whether a system row has a meaning, and so must not occur twice."""
    return key in _SINGLE or _ACTION.fullmatch(key) is not None


def parse_number(text: str, path: str, row: str) -> int:
    """Read an ASCII decimal without sign or leading zeros.

    Raises:
        CorruptError: it is anything else, or above 19 digits.
    """
    if not _NUMBER.fullmatch(text):
        _corrupt(path, f"row {row} is a decimal number", text)
    return int(text)


@dataclass(slots=True, kw_only=True)
class RootInfo:
    """What a root's system rows say, typed.

    A foreign writer may leave out everything marked [D] in format.md §3.2; then the field is
    None or empty. Times are UTC epoch milliseconds.
    """

    created_at_millis: int
    lakehouse_def: str
    version: int | None = None
    previous_root: str | None = None
    rollback_from_root: str | None = None
    txn_id: str | None = None
    time_version: int | None = None
    commit_kind: CommitKind | None = None
    isolation: Isolation | None = None
    actions: list[bytes] = field(default_factory=list)
    """Serialised ``ActionDef`` messages in order of execution."""
    author: str = ""
    message: str = ""
    idempotency_key: str | None = None
    overtaken: int = 0
    """Versions that others committed while this commit waited."""
    publication: str | None = None
    """Which attempt to commit a prepared transaction made the root (format.md §6.7)."""
    revoked_txn: str | None = None
    """A prepared transaction that can no longer commit (format.md §6.7)."""
    extra: dict[str, str] = field(default_factory=dict)
    """Rows that this version of the library does not know, kept as they are."""

    def to_rows(self) -> dict[str, str]:
        """Return the system rows of a root; ``n_keys`` is added when the node is encoded."""
        rows = {
            CREATED_AT: str(self.created_at_millis),
            LAKEHOUSE_DEF: self.lakehouse_def,
        }
        optional = {
            PREVIOUS_ROOT: self.previous_root,
            ROLLBACK_FROM_ROOT: self.rollback_from_root,
            VERSION: self.version,
            TXN_ID: self.txn_id,
            TIME_VERSION: self.time_version,
            COMMIT_KIND: self.commit_kind,
            ISOLATION: self.isolation,
            AUTHOR: self.author or None,
            MESSAGE: self.message or None,
            IDEMPOTENCY_KEY: self.idempotency_key,
            OVERTAKEN: self.overtaken or None,
            PUBLICATION: self.publication,
            REVOKED_TXN: self.revoked_txn,
        }
        rows.update((key, str(value)) for key, value in optional.items() if value is not None)
        rows[N_ACTIONS] = str(len(self.actions))
        rows.update(
            (f"{ACTION_PREFIX}{i:08d}", base64.b64encode(action).decode())
            for i, action in enumerate(self.actions)
        )
        rows.update(self.extra)
        return rows


def parse_root_info(rows: Mapping[str, str], path: str, version: int | None = None) -> RootInfo:
    """Read the system rows of a root.

    Args:
        rows: as ``decode_node`` returns them.
        path: the root's file, for errors.
        version: the version that the file's name says, to check the row against.

    Raises:
        CorruptError: a row that every writer writes is missing, a value has the wrong form, or
            the version is unlike the file's name.
    """
    stored_version = _optional_number(rows, VERSION, path)
    if version is not None and stored_version not in (None, version):
        _corrupt(path, f"row version equals the file name's {version}", str(stored_version))
    info = RootInfo(
        created_at_millis=parse_number(_required(rows, CREATED_AT, path), path, CREATED_AT),
        lakehouse_def=_required(rows, LAKEHOUSE_DEF, path),
        version=version if stored_version is None else stored_version,
        previous_root=rows.get(PREVIOUS_ROOT),
        rollback_from_root=rows.get(ROLLBACK_FROM_ROOT),
        txn_id=rows.get(TXN_ID),
        time_version=_optional_number(rows, TIME_VERSION, path),
        commit_kind=_optional_enum(CommitKind, rows, COMMIT_KIND, path),
        isolation=_optional_enum(Isolation, rows, ISOLATION, path),
        actions=_actions(rows, path),
        author=rows.get(AUTHOR, ""),
        message=rows.get(MESSAGE, ""),
        idempotency_key=rows.get(IDEMPOTENCY_KEY),
        overtaken=_optional_number(rows, OVERTAKEN, path) or 0,
        publication=rows.get(PUBLICATION),
        revoked_txn=rows.get(REVOKED_TXN),
        extra={key: value for key, value in rows.items() if not is_known_row(key)},
    )
    for link in (info.lakehouse_def, info.previous_root, info.rollback_from_root):
        if link is not None:
            check_relative_path(link, file=path)
    return info


def _required(rows: Mapping[str, str], key: str, path: str) -> str:
    value = rows.get(key)
    if value is None:
        _corrupt(path, f"a root has the system row {key}", "no such row")
    return value


def _optional_number(rows: Mapping[str, str], key: str, path: str) -> int | None:
    value = rows.get(key)
    return None if value is None else parse_number(value, path, key)


def _optional_enum(kind: type[_E], rows: Mapping[str, str], key: str, path: str) -> _E | None:
    value = rows.get(key)
    if value is None:
        return None
    try:
        return kind(value)
    except ValueError:
        _corrupt(path, f"row {key} is one of {', '.join(kind)}", value)


def _actions(rows: Mapping[str, str], path: str) -> list[bytes]:
    stored = [key for key in rows if _ACTION.fullmatch(key)]
    count = _optional_number(rows, N_ACTIONS, path) or 0
    if count != len(stored):
        _corrupt(path, f"row {N_ACTIONS} counts the action rows", f"{count}, rows {len(stored)}")
    actions = []
    for i in range(count):
        key = f"{ACTION_PREFIX}{i:08d}"
        try:
            actions.append(base64.b64decode(_required(rows, key, path), validate=True))
        except binascii.Error:
            _corrupt(path, f"row {key} is padded base64", rows[key][:80])
    return actions


def _corrupt(path: str, rule: str, found: str) -> NoReturn:
    raise CorruptError(
        f"{path} is corrupt: format.md §3.2 says that {rule}, found {found!r}.",
        path=path,
        rule=f"format.md §3.2: {rule}",
        found=found,
    )
