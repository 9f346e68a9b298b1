"""The pinned log of one table: which commits, in which order, and the newest checkpoint.

A table definition holds a segment in its ``format_properties``: the commits after the sealed
history, the newest known checkpoint, and one pointer to the sealed history.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from trinitylake_spark.delta.names import checkpoint_name, renumber, seen_name
from trinitylake_spark.errors import CorruptError

if TYPE_CHECKING:
    from collections.abc import Mapping

LOCATION = "location"
TABLE_ID = "delta.table_id"
VERSION = "delta.version"
COMMITS = "delta.commits"
CHECKPOINT = "delta.checkpoint"
HISTORY = "delta.history"


class Commit(NamedTuple):
    """One log entry in a chain of commits."""

    version: int
    unique: str
    """What tells this commit from others of the same number; empty for commit 0."""
    size: int
    """Bytes."""
    millis: int
    """When it was written, UTC epoch milliseconds."""


class ListedFile(NamedTuple):
    """A file as it is listed to Delta."""

    name: str
    """Path below the log folder."""
    size: int
    millis: int


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint and the commit whose table state it holds.

    Args:
        version: number of the commit.
        unique: the commit's unique part, so that a chain with another commit of that number
            never takes this checkpoint for its own.
        token: name of the view that wrote it, which is the folder it is in.
        parts: its files, by canonical name.
    """

    version: int
    unique: str
    token: str
    parts: tuple[ListedFile, ...]

    def listed(self) -> list[ListedFile]:
        """Return the files as they are listed to Delta."""
        return [part._replace(name=checkpoint_name(self.token, part.name)) for part in self.parts]

    def to_json(self) -> str:
        """Return it as stored in a definition."""
        return _compact([self.version, self.unique, self.token, [list(p) for p in self.parts]])

    @classmethod
    def from_json(cls, text: str) -> Checkpoint:
        """Read what ``to_json`` wrote."""
        version, unique, token, parts = json.loads(text)
        return cls(version, unique, token, tuple(ListedFile(*part) for part in parts))


@dataclass(frozen=True, slots=True)
class Segment:
    """The log of one table as one definition pins it. Immutable.

    Args:
        location: the table's folder: relative to the root, or a full URI.
        table_id: the id in the table's first metadata, for people who look for it.
        commits: consecutive, oldest first, at least one; older ones are in the history.
        checkpoint: the newest one known, of a commit of this chain.
        history: path below the log folder of the newest sealed part, or None.
    """

    location: str
    table_id: str
    commits: tuple[Commit, ...]
    checkpoint: Checkpoint | None = None
    history: str | None = None

    @property
    def version(self) -> int:
        """Number of the newest commit."""
        return self.commits[-1].version

    @property
    def first(self) -> int:
        """Number of the oldest commit that is not sealed."""
        return self.commits[0].version

    def commit(self, version: int) -> Commit | None:
        """Return one commit, or None if it is sealed or does not exist."""
        index = version - self.first
        return self.commits[index] if 0 <= index < len(self.commits) else None

    def after(self, version: int) -> tuple[Commit, ...]:
        """Return the unsealed commits above ``version``."""
        return self.commits[max(0, version + 1 - self.first) :]

    def append(self, commit: Commit) -> Segment:
        """Return this log with one more commit; its number must be the next one."""
        if commit.version != self.version + 1:
            raise ValueError(f"commit {commit.version} does not follow {self.version}")
        return replace(self, commits=(*self.commits, commit))

    def extends(self, other: Segment) -> bool:
        """Tell whether this log is ``other`` or grew out of it by more commits."""
        if self.location != other.location or self.version < other.version:
            return False
        mine = self.commit(other.version)
        # A commit's number and unique part name the whole chain below it, so one look is enough.
        # Where even that commit is sealed here, too much happened in between to bother.
        return mine is not None and mine.unique == other.commits[-1].unique

    def to_properties(self) -> dict[str, str]:
        """Return the format properties that hold this segment."""
        properties = {
            LOCATION: self.location,
            TABLE_ID: self.table_id,
            VERSION: str(self.version),
            COMMITS: _compact([list(commit) for commit in self.commits]),
        }
        if self.checkpoint is not None:
            properties[CHECKPOINT] = self.checkpoint.to_json()
        if self.history is not None:
            properties[HISTORY] = self.history
        return properties


def read_segment(properties: Mapping[str, str]) -> Segment:
    """Read a segment from the format properties of a table definition.

    Raises:
        CorruptError: a property is missing or has the wrong form.
    """
    try:
        commits = tuple(
            Commit(int(version), str(unique), int(size), int(millis))
            for version, unique, size, millis in json.loads(properties[COMMITS])
        )
        checkpoint = properties.get(CHECKPOINT)
        segment = Segment(
            location=properties[LOCATION],
            table_id=properties[TABLE_ID],
            commits=commits,
            checkpoint=Checkpoint.from_json(checkpoint) if checkpoint else None,
            history=properties.get(HISTORY),
        )
        expected = range(int(properties[VERSION]) - len(commits) + 1, int(properties[VERSION]) + 1)
    except (KeyError, TypeError, ValueError) as error:
        raise _corrupt(f"{type(error).__name__}: {error}") from error
    if not commits or [commit.version for commit in commits] != list(expected):
        raise _corrupt(f"commits {[commit.version for commit in commits][:40]}")
    return segment


def moved(commit: Commit, version: int) -> Commit:
    """Return a commit under another number; nothing is copied."""
    return commit._replace(version=version, unique=renumber(commit.unique, commit.version, version))


def listed_commit(commit: Commit) -> ListedFile:
    """Return a commit as it is listed to Delta."""
    return ListedFile(seen_name(commit.version, commit.unique), commit.size, commit.millis)


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _corrupt(found: str) -> CorruptError:
    return CorruptError(
        "A table definition is corrupt: its format properties pin the consecutive commits of a"
        f" Delta log, found {found}.",
        rule="format properties of a Delta table",
        found=found,
    )
