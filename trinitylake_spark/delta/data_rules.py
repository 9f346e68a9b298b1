"""Which of my jobs can follow which of theirs, and what must be done for it (format.md §7).

The outcome is a plan: entries to change and compactions to undo. Nothing is read here but what
the changes themselves say; log entries are asked for only where a rule needs their content.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from trinitylake_spark.delta.bins import bins
from trinitylake_spark.delta.change import (
    REWRITES,
    Kind,
    columns,
    partition_columns,
    partition_of,
)
from trinitylake_spark.delta.entry import FILE_FACTS, Entry, file_key, file_path
from trinitylake_spark.delta.matrix import Rule, rule
from trinitylake_spark.delta.predicate import file_facts, holds, understand
from trinitylake_spark.delta.staging import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from trinitylake_spark.delta.bins import Bin
    from trinitylake_spark.delta.change import Change
    from trinitylake_spark.delta.condition import Condition
    from trinitylake_spark.delta.entry import Action
    from trinitylake_spark.delta.staging import Staged
    from trinitylake_spark.delta.table import DeltaTable

_RERUN = "Run the transaction again on the newer version."
_NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class Their:
    """One committed change that mine must follow.

    Args:
        version: the lake version that committed it.
        change: what it did, with all its files.
        load: reads its log entry.
    """

    version: int
    change: Change
    load: Callable[[], Entry]

    def refused(self, rule_text: str, advice: str = _RERUN) -> RefusedError:
        """Return the refusal to follow this change."""
        return RefusedError(
            rule_text,
            advice,
            version=self.version,
            their_operation=self.change.operation or str(self.change.kind),
        )


@dataclass(slots=True)
class Plan:
    """What must be done so that my entries can follow theirs.

    Args:
        entries: my entries, by position, that read differently now.
        undone: bins of compactions to undo, by position of theirs and of the bin in it.
        shared: data files of which both sides deleted rows, by path: who did so last, and the
            addition that says which rows.
    """

    entries: dict[int, Entry] = field(default_factory=dict)
    undone: dict[tuple[int, int], Bin] = field(default_factory=dict)
    shared: dict[str, tuple[Their, Action]] = field(default_factory=dict)

    def undone_of(self, position: int) -> tuple[set[str], set[str]]:
        """Return the keys of the files that one of theirs removed and added, where undone."""
        found = [one for (at, _), one in self.undone.items() if at == position]
        back = {key for one in found for key in one.removed}
        return back, {key for one in found for key in one.added}

    def put_back(self) -> list[Action]:
        """Return the removals to take back: of files that were there before all that is undone."""
        return [action for before, after, action in self._net() if before and not after]

    def take_out(self) -> list[Action]:
        """Return the additions to take back: of files that only came by what is undone."""
        return [action for before, after, action in self._net() if after and not before]

    def _net(self) -> list[tuple[bool, bool, Action]]:
        """Return for each file whether it was there before and after, and what was done last.

        A file may come and go several times, as an undone compaction puts back what it read.
        """
        before: dict[str, bool] = {}
        after: dict[str, tuple[bool, Action]] = {}
        for _, one in sorted(self.undone.items(), key=lambda item: item[0]):
            for files, is_there in ((one.removed, False), (one.added, True)):
                for key, action in files.items():
                    before.setdefault(key, not is_there)
                    after[key] = (is_there, action)
        return [(before[key], *after[key]) for key in sorted(after)]


class DataRules:
    """Applies the matrix to all pairs of mine and theirs.

    Args:
        base: the table as my transaction found it; tells the columns.
        strict: the table asks for the matrix to the letter.
        serializable: my isolation level.
        reads: my transaction read the table beyond what its own writes selected.
        has_keys: the definition names primary or unique columns.
    """

    def __init__(
        self, base: DeltaTable, *, strict: bool, serializable: bool, reads: bool, has_keys: bool
    ) -> None:
        self._all_columns = columns(base)
        self._columns = partition_columns(base)
        self._physical = [column.name for column in self._columns.values()]
        self._strict = strict
        self._serializable = serializable
        self._reads = reads
        self._has_keys = has_keys
        self._conditions: dict[str, Condition] = {}

    def plan(self, mine: Sequence[tuple[Staged, Change]], theirs: Sequence[Their]) -> Plan:
        """Return what must be done for my entries to follow theirs.

        Raises:
            RefusedError: a rule forbids it.
        """
        self._check_marks(mine, theirs)
        if self._serializable:
            self._check_reads(mine, theirs)
        plan = Plan()
        known = -1
        while known != len(plan.undone):
            # What is undone for one entry also changes what another one must overwrite.
            known = len(plan.undone)
            plan.entries = self._follow_all(mine, theirs, plan)
        return plan

    def _follow_all(
        self, mine: Sequence[tuple[Staged, Change]], theirs: Sequence[Their], plan: Plan
    ) -> dict[int, Entry]:
        """Return those of my entries that must read differently, by position."""
        entries: dict[int, Entry] = {}
        lost: set[str] = set()
        taken: set[str] = set()
        for position, (staged, change) in enumerate(mine):
            if change.removed & lost:
                raise RefusedError(
                    "an entry of this transaction works on what a compaction of its own would have"
                    " written, and that compaction must leave files out",
                    _RERUN,
                )
            entry = self._follow(staged.entry, change, theirs, plan, taken)
            if entry is not staged.entry:
                entries[position] = entry
                lost |= change.added - {file_key(a) for a in entry.adds}
        return entries

    def _check_marks(self, mine: Sequence[tuple[Staged, Change]], theirs: Sequence[Their]) -> None:
        """Progress of streaming queries and domains of metadata have one writer at a time."""
        for _, change in mine:
            for their in theirs:
                both = change.app_ids & their.change.app_ids
                if both:
                    raise their.refused(
                        f"both recorded progress of the streaming query {min(both)}, so one of"
                        " them would be applied twice",
                        "Make sure that only one run of the query writes to the table.",
                    )
                both = change.domains & their.change.domains
                if both:
                    raise their.refused(f"both set the metadata domain {min(both)}")

    def _check_reads(self, mine: Sequence[tuple[Staged, Change]], theirs: Sequence[Their]) -> None:
        """SERIALIZABLE: what my transaction read of the table must still be so."""
        for their in theirs:
            if not their.change.changes_data:
                continue
            for _, change in mine:
                if change.kind in REWRITES or change.kind is Kind.METADATA:
                    continue
                if self._reads or change.operation == "MERGE":
                    raise their.refused(
                        "this transaction read the table, and its data changed since"
                    )
                # An OVERWRITE chooses by its filter what goes, and what came in goes with it.
                if change.kind is Kind.CHANGE and self._adds_matching_rows(change, their):
                    raise their.refused(
                        "rows were added that this operation's row filter may match",
                    )

    def _adds_matching_rows(self, change: Change, their: Their) -> bool:
        """Tell whether a row that came in may meet my filter: file by file, by its statistics.

        Without WHERE an UPDATE works on every row, so on those that came in between, too.
        """
        new = their.change.new_files
        if not new or not change.row_filter:
            return bool(new)
        condition = self._condition(change.row_filter)
        return any(
            True in condition.results(file_facts(addition))
            for addition in their.load().adds
            if file_key(addition) in new
        )

    def _follow(
        self,
        entry: Entry,
        change: Change,
        theirs: Sequence[Their],
        plan: Plan,
        taken: set[str],
    ) -> Entry:
        """Let one entry of mine follow all of theirs; return it as it must read then."""
        overwrite = _Overwrite(entry, taken)
        wanted = set(change.removed)
        left_out: set[str] = set()
        for position, their in enumerate(theirs):
            if not self._same_partition(change, their.change):
                continue
            found = rule(their.change.kind, change.kind, strict=self._strict)
            if found is Rule.REFUSE:
                raise their.refused(self._refusal(change, their.change))
            if found is Rule.OVERWRITE:
                self._check_overwritten(change, their)
                self._overwrite(overwrite, change, position, their, wanted, plan)
                continue
            self._check_keys(change, their)
            met = their.change.removed & wanted
            if found is Rule.PASS or not met:
                continue
            if found is Rule.UNDO:
                wanted |= self._undo(position, their, met, plan)
            elif found is Rule.LEAVE_OUT:
                left_out |= met
            elif found is Rule.ROWS and (both := self._share(entry, their, met)) is not None:
                plan.shared.update({path: (their, add) for path, add in both.items()})
                wanted = (wanted - met) | {file_key(add) for add in both.values()}
            else:
                raise their.refused(self._met(met))
        if left_out:
            return self._without_bins(entry, left_out)
        return overwrite.entry(entry)

    def _refusal(self, mine: Change, their: Change) -> str:
        if self._strict and Kind.OTHER not in (mine.kind, their.kind):
            return (
                f"the table-operation matrix refuses {mine.kind} after {their.kind}"
                " (conflict detection is strict)"
            )
        return f"{mine.operation or mine.kind} cannot follow {their.operation or their.kind}"

    def _met(self, met: AbstractSet[str]) -> str:
        return f"both changed the data file {min(met)}" + (
            f" and {len(met) - 1} more" if len(met) > 1 else ""
        )

    def _share(self, entry: Entry, their: Their, met: AbstractSet[str]) -> dict[str, Action] | None:
        """Return their state of the files that both only deleted rows of; None if not of all."""
        paths = {file_path(key) for key in met}
        mine = {add["path"] for add in entry.adds if add.get("deletionVector")}
        theirs = {add["path"]: add for add in their.load().adds if add.get("deletionVector")}
        return {p: theirs[p] for p in paths} if paths <= mine & theirs.keys() else None

    def _check_keys(self, change: Change, their: Their) -> None:
        if self._has_keys and change.added and their.change.added and their.change.changes_data:
            raise their.refused(
                "the table has a primary or unique key, and both added rows whose keys are not"
                " known to differ",
            )

    # --- partitions ------------------------------------------------------------------------------

    def _same_partition(self, mine: Change, their: Change) -> bool:
        """Jobs on different partitions do not conflict (format.md §7.1)."""
        if mine.kind is Kind.OTHER or their.kind is Kind.OTHER:
            return True
        if mine.partitions is None and their.partitions is None:
            return True
        return self._reaches(mine, their) or self._reaches(their, mine)

    def _reaches(self, one: Change, other: Change) -> bool:
        """Tell whether a change may touch a partition that the other one touched."""
        if other.partitions is None:
            return True
        if one.partitions is None or one.partitions & other.partitions:
            return True
        if one.kind is Kind.OVERWRITE and one.row_filter:
            return any(self._holds(one.row_filter, p) is not False for p in other.partitions)
        return False

    def _holds(self, predicate: str, partition: str) -> bool | None:
        values: dict[str, str | None] = {}
        for pair in partition.split("/"):
            name, _, value = pair.partition("=")
            values[unquote(name)] = None if value == _NULL_PARTITION else unquote(value)
        return holds(self._condition(predicate), values)

    def _condition(self, predicate: str) -> Condition:
        """Read a predicate, once for all partitions and files that it is asked of."""
        if predicate not in self._conditions:
            self._conditions[predicate] = understand(predicate, self._all_columns)
        return self._conditions[predicate]

    # --- overwriting -----------------------------------------------------------------------------

    def _check_overwritten(self, mine: Change, their: Their) -> None:
        """What was read and is overwritten must not have changed, at either isolation level."""
        if self._reads and their.change.changes_data and self._reaches(mine, their.change):
            raise their.refused(
                "this transaction read the table and overwrites rows of it that changed since, so"
                " the change would be lost",
            )

    def _overwrite(
        self,
        overwrite: _Overwrite,
        change: Change,
        position: int,
        their: Their,
        wanted: set[str],
        plan: Plan,
    ) -> None:
        """Cell O: replace everything present at the new base, also what was added meanwhile."""
        touched = self._scopes(change, their.change)
        if None in touched:
            # The filter chooses rows, so files that it met only partly were written again.
            if their.change.changes_data and (their.change.added or their.change.removed & wanted):
                raise their.refused(
                    "it cannot be told from file names whether rows that changed meanwhile belong"
                    " to what this operation replaces",
                )
            met = their.change.removed & wanted
            if met:
                wanted |= self._undo(position, their, met, plan)
            return
        back, away = plan.undone_of(position)
        overwrite.already_gone(their.change.removed - back)
        if their.change.added - away:
            for action in their.load().adds:
                if file_key(action) not in away and self._in_scope(change, action):
                    overwrite.also_remove(action)

    def _scopes(self, change: Change, their: Change) -> set[bool | None]:
        """Tell what mine replaces of each partition of theirs: all, nothing, or some (None)."""
        if not change.row_filter:
            return {True} if change.partitions is None else {True, False}
        if their.partitions is None or not self._columns:
            return {None}
        return {self._holds(change.row_filter, p) for p in their.partitions}

    def _in_scope(self, change: Change, action: Action) -> bool:
        partition = self._partition(action)
        if change.row_filter:
            return self._holds(change.row_filter, partition) is True
        return change.partitions is None or partition in change.partitions

    # --- compactions -----------------------------------------------------------------------------

    def _undo(self, position: int, their: Their, met: AbstractSet[str], plan: Plan) -> set[str]:
        """Undo the bins of a compaction that hold files I need; return what must exist for it."""
        needed: set[str] = set()
        for number, one in enumerate(bins(their.load(), self._partition)):
            if one.removed.keys().isdisjoint(met):
                continue
            for key, action in one.removed.items():
                if not action.get("extendedFileMetadata") or "partitionValues" not in action:
                    raise their.refused(
                        f"the compaction did not record enough of {key} to put it back"
                    )
            plan.undone[position, number] = one
            needed |= one.added.keys()
        return needed

    def _without_bins(self, entry: Entry, left_out: set[str]) -> Entry:
        """Return a compaction without the bins that hold one of ``left_out``."""
        gone: set[str] = set()
        for one in bins(entry, self._partition):
            if not one.removed.keys().isdisjoint(left_out):
                gone |= one.keys()
        return entry.replaced(
            [
                (kind, body)
                for kind, body in entry.actions
                if kind not in ("add", "remove") or file_key(body) not in gone
            ]
        )

    def _partition(self, action: Action) -> str:
        return partition_of(action, self._physical)


class _Overwrite:
    """Collects how the removals of an overwriting entry change.

    Args:
        entry: as its writer wrote it.
        taken: files of theirs that earlier entries of mine remove; more are added to it.
    """

    def __init__(self, entry: Entry, taken: set[str]) -> None:
        self._taken = taken
        self._stamp = entry.commit_info.get("timestamp", 0)
        self._gone: set[str] = set()
        self._more: dict[str, Action] = {}

    def already_gone(self, keys: AbstractSet[str]) -> None:
        """These files were removed meanwhile."""
        self._gone |= keys
        for key in keys:
            self._more.pop(key, None)

    def also_remove(self, add: Action) -> None:
        """This file was added meanwhile, inside of what is overwritten."""
        self._more[file_key(add)] = {
            **{name: add[name] for name in FILE_FACTS if add.get(name) is not None},
            "deletionTimestamp": self._stamp,
            "dataChange": True,
            "extendedFileMetadata": True,
        }

    def entry(self, entry: Entry) -> Entry:
        """Return the entry with its removals brought up to date."""
        if not self._gone and not self._more:
            return entry
        actions = [
            (kind, body)
            for kind, body in entry.actions
            if kind != "remove" or file_key(body) not in self._gone
        ]
        fresh = {key: body for key, body in self._more.items() if key not in self._taken}
        self._taken.update(fresh)
        actions.extend(("remove", body) for body in fresh.values())
        return entry.replaced(actions)
