"""One entry of a Delta log: its actions, read from bytes and written back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trinitylake_spark.errors import CorruptError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Action = dict[str, Any]
"""The body of one action, by Delta's field names."""

ROW_TRACKING_DOMAIN = "delta.rowTracking"

FILE_FACTS = (
    "path",
    "partitionValues",
    "size",
    "stats",
    "tags",
    "deletionVector",
    "baseRowId",
    "defaultRowCommitVersion",
)
"""What the addition and the removal of a file both say about it."""


@dataclass(frozen=True)
class Entry:
    """The actions of one commit, in order: (kind, body) such as ``("add", {"path": …})``.

    Bodies are shared, never changed in place; a changed entry is a new one.
    """

    actions: tuple[tuple[str, Action], ...]

    def of(self, kind: str) -> list[Action]:
        """Return the bodies of all actions of one kind."""
        return [body for found, body in self.actions if found == kind]

    def first(self, kind: str) -> Action | None:
        """Return the body of the first action of one kind, or None."""
        return next((body for found, body in self.actions if found == kind), None)

    @cached_property
    def commit_info(self) -> Action:
        """Who did what; empty if the writer left it out."""
        return self.first("commitInfo") or {}

    @cached_property
    def adds(self) -> list[Action]:
        """Data files that the commit adds."""
        return self.of("add")

    @cached_property
    def removes(self) -> list[Action]:
        """Data files that the commit removes."""
        return self.of("remove")

    @property
    def metadata(self) -> Action | None:
        """The table's new metadata, if the commit changes them."""
        return self.first("metaData")

    @property
    def protocol(self) -> Action | None:
        """The table's new protocol, if the commit changes it."""
        return self.first("protocol")

    @property
    def operation(self) -> str:
        """Delta's name of the operation, such as ``WRITE``."""
        return str(self.commit_info.get("operation", ""))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the operation as Delta recorded them, mostly strings."""
        found = self.commit_info.get("operationParameters")
        return found if isinstance(found, dict) else {}

    @property
    def in_commit_timestamp(self) -> int | None:
        """The in-commit timestamp in UTC epoch milliseconds, if the table has them."""
        found = self.commit_info.get("inCommitTimestamp")
        return int(found) if found is not None else None

    @cached_property
    def row_id_high_water_mark(self) -> int | None:
        """The highest row id given out so far, if this commit moves it."""
        for domain in self.of("domainMetadata"):
            if domain.get("domain") == ROW_TRACKING_DOMAIN and not domain.get("removed"):
                return int(json.loads(domain["configuration"])["rowIdHighWaterMark"])
        return None

    def replaced(self, actions: Sequence[tuple[str, Action]]) -> Entry:
        """Return this entry with other actions; itself if they are the same."""
        return self if tuple(actions) == self.actions else Entry(tuple(actions))


def file_key(action: Action) -> str:
    """Return what identifies a data file's state: its path and its deletion vector's id."""
    vector = action.get("deletionVector")
    if not vector:
        return str(action["path"])
    offset = vector.get("offset")
    at = "" if offset is None else f"@{offset}"
    return f"{action['path']}#{vector['storageType']}{vector['pathOrInlineDv']}{at}"


def file_path(key: str) -> str:
    """Return the path in a file's key."""
    return key.partition("#")[0]


def parse_entry(data: bytes, path: str) -> Entry:
    """Read a log entry.

    Args:
        data: one JSON object a line.
        path: where it was read, for errors.

    Raises:
        CorruptError: a line is not an action.
    """
    return Entry(tuple(_parse_lines(data, path)))


def encode_entry(entry: Entry) -> bytes:
    """Return an entry as Delta writes it: one compact JSON object a line."""
    return b"".join(
        json.dumps({kind: body}, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        for kind, body in entry.actions
    )


def _parse_lines(data: bytes, path: str) -> Iterator[tuple[str, Action]]:
    for line in data.splitlines():
        if not line.strip():
            continue
        try:
            action = json.loads(line)
        except ValueError as error:
            raise _corrupt(path, line) from error
        if not isinstance(action, dict) or not action:
            raise _corrupt(path, line)
        for kind, body in action.items():
            if body is None:
                continue
            if not isinstance(body, dict):
                raise _corrupt(path, line)
            yield kind, body


def _corrupt(path: str, line: bytes) -> CorruptError:
    found = line[:120].decode(errors="replace")
    return CorruptError(
        f"{path} is corrupt: a Delta log entry holds one JSON action a line, found {found!r}.",
        path=path,
        rule="Delta protocol: one action a line",
        found=found,
    )
