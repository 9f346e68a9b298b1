"""Both sides deleted rows of one data file: my deletion vectors on top of theirs (format.md §7.3).

Rows that both deleted (an UPDATE deletes the old row) are a conflict; otherwise the file ends with
the rows of both deleted. Only vectors are read and written, never data files.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from trinitylake_spark.delta.change import Kind
from trinitylake_spark.delta.vectors import new_vector, read_vector
from trinitylake_spark.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyroaring import BitMap64

    from trinitylake_spark.delta.change import Change
    from trinitylake_spark.delta.data_rules import Plan, Their
    from trinitylake_spark.delta.entry import Action, Entry
    from trinitylake_spark.delta.staging import RefusedError, Staged
    from trinitylake_spark.lakehouse.formats import FormatContext


def stack_vectors(
    context: FormatContext,
    location: str,
    mine: Sequence[tuple[Staged, Change]],
    plan: Plan,
) -> dict[int, dict[str, bytes]]:
    """Let the entries of a plan delete rows of the shared files on top of theirs.

    Args:
        context: storage and services.
        location: the table's location.
        mine: my entries, as they were written.
        plan: what the rules made of them; ``entries`` is brought up to date.

    Returns:
        Files to write, by the position of the entry that names them.

    Raises:
        RefusedError: both deleted the same row, or mine needs the file as it was.
    """
    stacks = {
        path: _Stack(context, location, path, their, add)
        for path, (their, add) in plan.shared.items()
    }
    files: dict[int, dict[str, bytes]] = {}
    for position, (staged, change) in enumerate(mine):
        entry = plan.entries.get(position, staged.entry)
        met = {a["path"] for a in (*entry.adds, *entry.removes)} & stacks.keys()
        if not met:
            continue
        replaces_all = change.kind is Kind.OVERWRITE
        actions = [
            (kind, body)
            for kind, body in entry.actions
            if kind not in ("add", "remove") or body["path"] not in met
        ]
        for path in sorted(met):
            actions += stacks[path].moved(entry, replaces_all=replaces_all)
            files.setdefault(position, {}).update(stacks[path].take_files())
        plan.entries[position] = entry.replaced(actions)
    return files


class _Stack:
    """One data file: their deleted rows, and mine coming on top.

    Args:
        context: storage and services.
        location: the table's location.
        path: the data file.
        their: who deleted rows of it last.
        add: their addition of it.
    """

    def __init__(
        self, context: FormatContext, location: str, path: str, their: Their, add: Action
    ) -> None:
        self._context = context
        self._location = location
        self._path = path
        self._their = their
        self._deleted = self._read(add)
        self._vector: Action | None = add["deletionVector"]
        """The file's vector now; None once the file is gone, because no row of it is left."""
        self._files: dict[str, bytes] = {}

    def moved(self, entry: Entry, *, replaces_all: bool) -> list[tuple[str, Action]]:
        """Return what an entry does to the file, on top of theirs and of my entries before it.

        Args:
            entry: as its writer wrote it.
            replaces_all: it overwrites the rows of the file, whichever they are.
        """
        removal = next((r for r in entry.removes if r["path"] == self._path), None)
        addition = next((a for a in entry.adds if a["path"] == self._path), None)
        if removal is None or (addition is None and not replaces_all):
            raise self._refused(f"both changed the data file {self._path}")
        actions: list[tuple[str, Action]] = []
        if self._vector is not None:
            actions.append(("remove", {**removal, "deletionVector": self._vector}))
        self._vector = None
        if addition is not None:
            deleted = self._stacked(self._read(removal), self._read(addition))
            if len(deleted) != _records(addition):
                vector = new_vector(self._context, self._location, deleted)
                self._files[vector.path] = vector.data
                self._vector = vector.descriptor
                actions.append(("add", {**addition, "deletionVector": vector.descriptor}))
        return actions

    def take_files(self) -> dict[str, bytes]:
        """Return the vectors made since the last call, to be written."""
        files, self._files = self._files, {}
        return files

    def _stacked(self, before: BitMap64, after: BitMap64) -> BitMap64:
        both = (after - before) & self._deleted
        if both:
            raise self._refused(
                f"both deleted or updated {len(both)} rows of the data file {self._path}"
            )
        return after | self._deleted

    def _read(self, action: Action) -> BitMap64:
        try:
            return read_vector(self._context, self._location, action.get("deletionVector"))
        except UnsupportedError as error:
            raise self._refused(f"both changed the data file {self._path}") from error

    def _refused(self, rule: str) -> RefusedError:
        return self._their.refused(rule)


def _records(addition: Action) -> int | None:
    """Return how many rows a data file has, deleted ones among them, if that is known."""
    records = json.loads(addition.get("stats") or "{}").get("numRecords")
    return None if records is None else int(records)
