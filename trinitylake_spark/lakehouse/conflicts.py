"""Whether a transaction may follow what was committed meanwhile (format.md §6.5, §6.6)."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from trinitylake_spark.errors import CommitConflictError
from trinitylake_spark.format.keys import ObjectType
from trinitylake_spark.format.system import Isolation
from trinitylake_spark.lakehouse.actions import (
    Effect,
    aspect_read,
    effect_of,
    operation_name,
    type_name,
)
from trinitylake_spark.lakehouse.snapshot import to_datetime

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from trinitylake_spark.commit.versions import Root
    from trinitylake_spark.format.definitions_pb2 import ActionDef
    from trinitylake_spark.format.keys import KeyCodec
    from trinitylake_spark.lakehouse.changes import VersionChanges
    from trinitylake_spark.lakehouse.pending import Pending

_MERGEABLE = frozenset({Effect.ALTER, Effect.DATA})
_RERUN = "Run the transaction again from its start: it will then see version {version} or later."
_RERUN_OR_SNAPSHOT = (
    _RERUN + " Under SNAPSHOT it could commit, resting on data that is no longer current."
)


@dataclass(frozen=True, slots=True)
class Conflict:
    """One reason why a transaction cannot commit.

    Args:
        table: the object's name: ``namespace.name``, the namespace, or ``None`` for the lakehouse.
        object: ``table``, ``view``, ``namespace`` or ``lakehouse``.
        key: its key in the tree, or None.
        my_operation: what this transaction did with it.
        their_operation: what the other one did.
        their_version: the version the other one committed.
        author: who committed that version.
        time: when, ISO 8601, UTC.
        rule: the rule that is broken, with its section of format.md.
        advice: what to do.
    """

    table: str | None
    object: str
    key: str | None
    my_operation: str
    their_operation: str
    their_version: int
    author: str
    time: str
    rule: str
    advice: str

    def __str__(self) -> str:
        name = self.object if self.table is None else f"{self.object} {self.table}"
        author = f" by {self.author}" if self.author else ""
        return (
            f"{name}: mine {self.my_operation}, theirs {self.their_operation} in version "
            f"{self.their_version}{author} at {self.time} ({self.rule})"
        )


def conflict_error(transaction_id: str, conflicts: Sequence[Conflict]) -> CommitConflictError:
    """Return the error that tells all conflicts; its fields are those of the first one."""
    first, *others = conflicts
    more = f" {len(others)} more: {'; '.join(map(str, others))}." if others else ""
    fields: dict[str, Any] = asdict(first)
    return CommitConflictError(
        f"Nothing was committed, as another transaction got in the way: {first}.{more} "
        f"{first.advice}",
        transaction_id=transaction_id,
        **fields,
        conflicts=[asdict(conflict) for conflict in conflicts],
    )


@dataclass(slots=True)
class Judge:
    """Checks one transaction's work against versions, in order.

    Args:
        pending: the transaction's own work, never rebased work.
        isolation: its level.
        keys: name sizes of its base version.
    """

    pending: Pending
    isolation: Isolation
    keys: KeyCodec
    their_changes: dict[str, list[tuple[int, ActionDef]]] = field(init=False)
    """Tables that both sides changed, and that the table's format has to put together."""
    _effects: dict[str, list[Effect | None]] = field(init=False)
    _operations: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.their_changes = defaultdict(list)
        self._effects = defaultdict(list)
        self._operations = defaultdict(list)
        for step in self.pending.steps:
            self._effects[step.key].append(effect_of(step.change.operation))
            self._operations[step.key].append(type_name(step.change.operation))

    def check(self, changes: VersionChanges) -> list[Conflict]:
        """Return every reason why the transaction cannot follow a version."""
        if changes.is_rollback:
            return [self._lakehouse(changes, "ROLLBACK", "a rollback changes everything")]
        if changes.layout_changed:
            rule = "order, sizes of names, paths or nodes have changed"
            return [self._lakehouse(changes, "ALTER", rule)]
        found: dict[str, Conflict] = {}
        for conflict in self._conflicts(changes):
            found.setdefault(conflict.key or "", conflict)
        return list(found.values())

    def _conflicts(self, changes: VersionChanges) -> Iterator[Conflict]:
        if changes.definition_changed and self.pending.definition is not None:
            yield self._lakehouse(changes, "ALTER", "both change the lakehouse definition")
        for key in changes.messages:
            if key in self.pending.writes:
                yield from self._both_wrote(changes, key)
        for key, why in self.pending.constraints.broken_by(changes.messages):
            yield self._about(changes, key, f"{why} (format.md §6.2)", _RERUN)
        if self.isolation is Isolation.SERIALIZABLE:
            yield from self._reads(changes)

    def _reads(self, changes: VersionChanges) -> Iterator[Conflict]:
        """Yield the reads that no longer hold."""
        rule = "read here, changed there, under SERIALIZABLE (format.md §6.5)"
        for key in changes.messages:
            read = self.pending.reads.read_of(key)
            changed = None if read is None else changes.aspect(key)
            if read is not None and changed is not None and aspect_read(read) >= changed:
                yield self._about(changes, key, rule, _RERUN_OR_SNAPSHOT, mine=type_name(read))

    def _both_wrote(self, changes: VersionChanges, key: str) -> Iterator[Conflict]:
        actions = changes.actions.get(key, [])
        theirs = {effect_of(action.type) for action in actions}
        mine = set(self._effects[key])
        if not theirs or None in theirs | mine:
            rule = "the other writer recorded no action that this library knows (format.md §6.6)"
            yield self._about(changes, key, rule, _RERUN)
        elif theirs | mine <= _MERGEABLE and self._is_table(key):
            self.their_changes[key] += [(changes.version, action) for action in actions]
        else:
            cell = f"{_names(theirs - {None})} × {_names(mine)}"
            yield self._about(changes, key, f"both wrote: {cell} (format.md §6.6)", _RERUN)

    def _is_table(self, key: str) -> bool:
        return self.pending.writes[key].target.type is ObjectType.TABLE

    def _about(
        self, changes: VersionChanges, key: str, rule: str, advice: str, *, mine: str = ""
    ) -> Conflict:
        target = self.keys.decode(key)
        return Conflict(
            table=target.namespace if target.name is None else f"{target.namespace}.{target.name}",
            object=target.type.name.lower(),
            key=key,
            my_operation=mine or self.my_operation(key),
            their_operation=their_operation(changes, key),
            their_version=changes.version,
            author=changes.root.info.author,
            time=commit_time(changes.root),
            rule=rule,
            advice=advice.format(version=changes.version),
        )

    def my_operation(self, key: str) -> str:
        """Say what this transaction did with a key."""
        return ", ".join(dict.fromkeys(self._operations[key])) or "DEPENDS ON IT"

    def _lakehouse(self, changes: VersionChanges, operation: str, rule: str) -> Conflict:
        return lakehouse_conflict(changes.root, operation, f"{rule} (format.md §6.5)")


def lakehouse_conflict(
    root: Root, operation: str, rule: str, *, my_operation: str = "COMMIT"
) -> Conflict:
    """Return a conflict with what a version did to the lakehouse as a whole."""
    return Conflict(
        table=None,
        object="lakehouse",
        key=None,
        my_operation=my_operation,
        their_operation=operation,
        their_version=root.version,
        author=root.info.author,
        time=commit_time(root),
        rule=rule,
        advice=_RERUN.format(version=root.version),
    )


def their_operation(changes: VersionChanges, key: str) -> str:
    """Say what a version did with a key."""
    done = list(dict.fromkeys(operation_name(a) for a in changes.actions.get(key, [])))
    if done:
        return ", ".join(done)
    return "DROP" if changes.messages.get(key) is None else "CHANGE"


def commit_time(root: Root) -> str:
    """Return when a version was committed, ISO 8601, UTC."""
    return to_datetime(root.info.created_at_millis).isoformat(timespec="milliseconds")


def _names(effects: Iterable[Effect | None]) -> str:
    return "+".join(sorted(effect for effect in effects if effect is not None))
