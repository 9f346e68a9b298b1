"""Put a transaction's table changes on top of what others committed (format.md §6.6, §7.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trinitylake_spark.errors import CommitConflictError
from trinitylake_spark.format.definitions import parse_table_definition, serialise
from trinitylake_spark.format.paths import table_definition_path
from trinitylake_spark.lakehouse.conflicts import Conflict, commit_time
from trinitylake_spark.lakehouse.formats import RebaseRequest
from trinitylake_spark.lakehouse.pending import Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trinitylake_spark.commit.versions import Root
    from trinitylake_spark.format.definitions_pb2 import ActionDef, TableDef
    from trinitylake_spark.format.system import Isolation
    from trinitylake_spark.lakehouse.conflicts import Judge
    from trinitylake_spark.lakehouse.formats import TableChange
    from trinitylake_spark.lakehouse.pending import Pending
    from trinitylake_spark.lakehouse.services import Services
    from trinitylake_spark.lakehouse.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class _Result:
    theirs: str
    """Path of the definition that the result stands on."""
    path: str
    data: bytes
    changes: Sequence[TableChange]


class Rebaser:
    """Derives, from a transaction's own work, what it would commit on a newer version.

    Every derivation starts from the transaction's own work again, never from an earlier result.

    Args:
        services: of the open lakehouse.
        base: what the transaction saw.
        pending: its own work; stays as it is.
        isolation: its level.
    """

    def __init__(
        self, services: Services, base: Snapshot, pending: Pending, isolation: Isolation
    ) -> None:
        self._services = services
        self._base = base
        self._pending = pending
        self._isolation = isolation
        self._results: dict[str, _Result] = {}

    def derive(
        self, latest: Snapshot, judge: Judge, lost: frozenset[str]
    ) -> tuple[Pending, list[Conflict]]:
        """Return the work as it would be committed on ``latest``, and the tables that refuse.

        Args:
            latest: the version to follow.
            judge: has checked every version up to it.
            lost: keys that conflict already.
        """
        conflicts = []
        for key, their_changes in judge.their_changes.items():
            if key in lost:
                continue
            try:
                self._rebase(key, latest, their_changes)
            except CommitConflictError as error:
                conflicts.append(self._conflict(key, judge, error))
        derived = self._pending.copy()
        for key, result in self._results.items():
            _replace(derived, key, result)
        return derived, conflicts

    def _rebase(
        self, key: str, latest: Snapshot, their_changes: Sequence[tuple[int, ActionDef]]
    ) -> None:
        write = self._pending.writes[key]
        entry = latest.table(write.target.namespace, write.target.name or "")
        before = self._results.get(key)
        if before is not None and before.theirs == entry.path:
            return
        request = RebaseRequest(
            namespace=entry.namespace,
            name=entry.name,
            base=self._base.table(entry.namespace, entry.name).definition,
            mine=self._mine(write.path or ""),
            my_changes=[step.change for step in self._pending.steps if step.key == key],
            theirs=entry.definition,
            their_changes=their_changes,
            isolation=self._isolation,
            reads=key in self._pending.reads.data,
            multi_table=self._touches_other_tables(key),
        )
        table_format = self._services.table_format(request.mine.table_format)
        definition, changes = table_format.rebase(self._services.format_context, request)
        path = table_definition_path(
            entry.namespace, entry.name, self._services.ids.uuid4(), latest.layout.max_path_bytes
        )
        self._results[key] = _Result(entry.path, path, serialise(definition), changes)

    def _mine(self, path: str) -> TableDef:
        return parse_table_definition(self._pending.definitions[path], path)

    def _touches_other_tables(self, key: str) -> bool:
        tables = set(self._pending.reads.data)
        tables.update(step.key for step in self._pending.steps)
        return bool(tables - {key})

    def _conflict(self, key: str, judge: Judge, error: CommitConflictError) -> Conflict:
        """Complete what a format says about a conflict."""
        target = self._pending.writes[key].target
        version = int(error.fields.get("version", judge.their_changes[key][-1][0]))
        root = self._services.finder.root(version)
        return Conflict(
            table=f"{target.namespace}.{target.name}",
            object="table",
            key=key,
            my_operation=str(error.fields.get("my_operation", judge.my_operation(key))),
            their_operation=str(error.fields.get("their_operation", "CHANGE")),
            their_version=version,
            author=root.info.author,
            time=commit_time(root),
            rule=str(error.fields.get("rule", error.message)),
            advice=str(error.fields.get("advice", _advice(root))),
        )


def _advice(root: Root) -> str:
    return f"Run the transaction again: it will then see version {root.version} or later."


def _replace(pending: Pending, key: str, result: _Result) -> None:
    """Let a rebased result take the place of everything done to one table."""
    target = pending.writes[key].target
    steps: list[Step] = []
    fresh = [Step(key, target, change) for change in result.changes]
    for step in pending.steps:
        if step.key != key:
            steps.append(step)
            continue
        for path in step.change.files:
            pending.files.pop(path, None)
        steps += fresh
        fresh = []
    pending.write(key, target, result.path, pending.writes[key].base_path)
    pending.definitions[result.path] = result.data
    pending.steps = steps
    for change in result.changes:
        pending.files.update(change.files)
