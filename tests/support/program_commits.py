"""Whether a transaction of the model commits on top of what others committed meanwhile.

Exact where the rule is exact: two that changed the same row, an overwrite computed from rows that
others changed, and (SERIALIZABLE) reads of what others changed are refused; what the matrix lets
pass commits. In between, where Delta decides by files, a transaction may be refused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tests.support.program_rows import Row, Rows

INSERT, CHANGE, OVERWRITE, COMPACT = "IN", "UD", "OW", "MI"


class Verdict(Enum):
    """What becomes of a COMMIT."""

    COMMITS = "must succeed"
    MAY_BE_REFUSED = "may be refused"
    REFUSED = "must be refused"


@dataclass(frozen=True)
class Layout:
    """How a table keeps its rows.

    Args:
        vectors: it has deletion vectors, so rows are compared, not files.
        partitioned: each ``id`` is a partition.
    """

    vectors: bool = False
    partitioned: bool = False


@dataclass(frozen=True)
class Change:
    """What one statement does to one table.

    Args:
        table: which.
        kind: row or column of the matrix.
        removed: the rows that an UPDATE, DELETE or MERGE takes away, by identity.
        added: the rows that it brings.
        scope: the rows that an overwrite replaces; None for all.
        from_itself: the new rows of an overwrite are computed from rows of its table.
        surely: the matrix has it; other statements may be refused where others wrote.
    """

    table: str
    kind: str
    removed: Mapping[int, Row] = field(default_factory=dict)
    added: Mapping[int, Row] = field(default_factory=dict)
    scope: Callable[[Row], bool] | None = None
    from_itself: bool = False
    surely: bool = True

    @property
    def replaces_all(self) -> bool:
        """Whether no row of the table stays."""
        return self.kind == OVERWRITE and self.scope is None

    def within(self, row: Row) -> bool:
        """Whether an overwrite replaces a row."""
        return self.scope is None or self.scope(row)


@dataclass(frozen=True)
class Read:
    """A table that a transaction has read.

    Args:
        table: which.
        condition: of the rows that it looked for; None for all.
        certain: it counts; others may count, as a refusal is always safe.
    """

    table: str
    condition: Callable[[Row], bool] | None
    certain: bool = True


def replayed(rows: Rows, changes: Iterable[Change]) -> Rows:
    """Return the rows of a table after some changes."""
    now = dict(rows)
    for change in changes:
        if change.kind == OVERWRITE:
            now = {i: row for i, row in now.items() if not change.within(row)}
        now = {i: row for i, row in now.items() if i not in change.removed} | dict(change.added)
    return now


def judge(
    mine: Sequence[Change],
    reads: Sequence[Read],
    theirs: Sequence[Change],
    layouts: Mapping[str, Layout],
    base: Mapping[str, Rows],
    newest: Mapping[str, Rows],
    *,
    serializable: bool,
) -> Verdict:
    """Say whether a transaction commits.

    Args:
        mine: its changes, in order.
        reads: what it has read.
        theirs: what others committed since it began.
        layouts: of the tables.
        base: the version that it began at.
        newest: the version that it is put on.
        serializable: its reads must still be true.
    """
    if not mine:
        return Verdict.COMMITS
    verdicts = [
        _stale(read, base[read.table], newest[read.table], theirs) for read in reads if serializable
    ]
    verdicts += [
        _written(
            [c for c in mine if c.table == table],
            [c for c in theirs if c.table == table],
            [read for read in reads if read.table == table],
            layouts[table],
            base[table],
            newest[table],
        )
        for table in {change.table for change in mine}
    ]
    effective = any(c.removed or c.added or c.kind == OVERWRITE for c in mine)
    if Verdict.REFUSED in verdicts and effective:
        return Verdict.REFUSED
    if set(verdicts) == {Verdict.COMMITS}:
        return Verdict.COMMITS
    return Verdict.MAY_BE_REFUSED


def _stale(read: Read, base: Rows, newest: Rows, theirs: Sequence[Change]) -> Verdict:
    """Judge a read: whether others changed what it looked for."""
    if not any(change.table == read.table and change.kind != COMPACT for change in theirs):
        return Verdict.COMMITS
    gone = Counter(row for i, row in base.items() if i not in newest)
    come = Counter(row for i, row in newest.items() if i not in base)
    changed = [*(gone - come), *(come - gone)]
    if read.certain and any(read.condition is None or read.condition(row) for row in changed):
        return Verdict.REFUSED
    return Verdict.MAY_BE_REFUSED


def _written(
    mine: Sequence[Change],
    theirs: Sequence[Change],
    reads: Sequence[Read],
    layout: Layout,
    base: Rows,
    newest: Rows,
) -> Verdict:
    """Judge the changes of one table."""
    known = any(read.certain and read.condition is None for read in reads)
    gone = {i: row for i, row in base.items() if i not in newest}
    come = {i: row for i, row in newest.items() if i not in base}
    for number, change in enumerate(mine):
        replaced = any(later.replaces_all for later in mine[number + 1 :])
        if change.kind == CHANGE and change.removed.keys() & gone.keys() and not replaced:
            return Verdict.REFUSED
        begun_anew = any(earlier.replaces_all for earlier in mine[:number])
        lost = any(change.within(row) for row in (*gone.values(), *come.values()))
        computed = change.kind == OVERWRITE and (change.from_itself or known)
        if computed and lost and not begun_anew:
            return Verdict.REFUSED
    # An overwrite of what was read may be taken for one that is computed from it.
    suspect = reads and any(change.kind == OVERWRITE for change in mine)
    if all(_compatible(a, b, layout) for a in theirs for b in mine) and not (theirs and suspect):
        compacted = {c.kind for c in theirs} == {COMPACT} or {c.kind for c in mine} == {COMPACT}
        mixed = any(c.kind == COMPACT for c in (*theirs, *mine)) and not compacted
        return Verdict.MAY_BE_REFUSED if mixed else Verdict.COMMITS
    return Verdict.MAY_BE_REFUSED


def _compatible(earlier: Change, later: Change, layout: Layout) -> bool:
    """Whether the matrix surely lets both succeed."""
    if not (earlier.surely and later.surely):
        return False
    if earlier.kind == COMPACT:
        return later.kind in (INSERT, CHANGE) or _blind(later)
    if earlier.kind == INSERT:
        return later.kind in (INSERT, CHANGE, COMPACT) or _blind(later)
    if earlier.kind == CHANGE:
        return (
            later.kind == INSERT
            or _blind(later)
            or (later.kind == CHANGE and (layout.vectors or _apart(earlier, later, layout)))
        )
    return _blind(later)


def _blind(change: Change) -> bool:
    """Whether it replaces all rows, and by others than were there."""
    return change.replaces_all and not change.from_itself


def _apart(one: Change, two: Change, layout: Layout) -> bool:
    """Whether two changes are surely in different partitions."""
    if not layout.partitioned:
        return False
    partitions = [{row[0] for row in (*c.added.values(), *c.removed.values())} for c in (one, two)]
    return not partitions[0] & partitions[1]
