"""What programs of the Spark test mean: versions, transactions, and which of them an object sees.

The model knows neither Spark nor Delta: a version is a set of rows for each table, a transaction is
a version with its own changes on top and a list of what it read. Rows have an identity, so that an
UPDATE takes one row away and brings another; the first to commit wins (transactions.md, "What an
object sees").
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from tests.support.program_commits import Change, Read, Verdict, judge, replayed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from tests.support.program_commits import Layout
    from tests.support.program_rows import Pred, Row, Rows

View = dict[str, "Rows"]
"""The rows of each table."""

FINISHED = "TRINITYLAKE_TRANSACTION_FINISHED"
STALE = "TRINITYLAKE_STALE_PLAN"
CONFLICT = "TRINITYLAKE_COMMIT_CONFLICT"
SNAPSHOT, SERIALIZABLE = "SNAPSHOT", "SERIALIZABLE"
OPEN, COMMITTED, GONE = "open", "committed", "gone"


class Txn:
    """A transaction, open or over; a statement outside of one is a transaction of its own.

    Args:
        session: the number of its session.
        level: isolation.
        base: the version at BEGIN.
        view: the rows at that version.
    """

    def __init__(self, session: int, level: str, base: int, view: View) -> None:
        self.session = session
        self.level = level
        self.base = base
        self.view = dict(view)
        self.changes: list[Change] = []
        self.reads: list[Read] = []
        self.state = OPEN

    def apply(self, change: Change) -> None:
        """Do a change to the transaction's own view."""
        self.changes.append(change)
        self.view[change.table] = replayed(self.view[change.table], [change])

    def stamps(self, tables: Iterable[str]) -> dict[str, int]:
        """Return how often it has changed each of these tables."""
        done = Counter(change.table for change in self.changes)
        return {table: done[table] for table in tables}


@dataclass(frozen=True)
class Query:
    """A question: what is asked, and of what it is made.

    Args:
        rows: the answer that a view gives.
        tables: the tables whose newest version it reads.
        made_in: transactions in which a relation of it was made; if one of them did not commit the
            question is refused.
        touched_in: transactions in which something was made of it; if one of them did not commit
            the question may be refused.
        versioned: it names versions.
    """

    rows: Callable[[Mapping[str, Rows]], list[Row]]
    tables: frozenset[str] = frozenset()
    made_in: frozenset[Txn] = frozenset()
    touched_in: frozenset[Txn] = frozenset()
    versioned: bool = False

    def then(self, change: Callable[[list[Row]], list[Row]], txn: Txn | None) -> Query:
        """Return what a transformation in a transaction (or None) makes of it."""
        rows = self.rows
        touched = self.touched_in | ({txn} if txn else set())
        return Query(
            lambda view: change(rows(view)), self.tables, self.made_in, touched, self.versioned
        )

    def beside(
        self, other: Query, change: Callable[[list[Row], list[Row]], list[Row]], txn: Txn | None
    ) -> Query:
        """Return what is made of two questions."""
        one, two = self.rows, other.rows
        return Query(
            lambda view: change(one(view), two(view)),
            self.tables | other.tables,
            self.made_in | other.made_in,
            self.touched_in | other.touched_in | ({txn} if txn else set()),
            self.versioned or other.versioned,
        )


@dataclass
class Plan:
    """The physical plan that Spark keeps with a Dataset.

    Args:
        txn: the transaction in which it was made.
        stamps: how often that had changed the tables.
        rows: what it answered.
    """

    txn: Txn | None
    stamps: dict[str, int]
    rows: list[Row]


@dataclass
class Frame:
    """One Dataset of Spark."""

    session: int
    query: Query
    plan: Plan | None = None


@dataclass
class Handle:
    """A DeltaTable; ``toDF()`` is the same Dataset each time."""

    table: str
    frame: Frame


@dataclass
class Expected:
    """What a step may do.

    Args:
        rows: what it must answer if it succeeds; None for anything.
        refusals: conditions with which it may fail.
        must_fail: it may not succeed.
        done: told when it succeeded.
        refused: told when it failed as it may.
    """

    rows: list[tuple[Any, ...]] | None = None
    refusals: frozenset[str] = frozenset()
    must_fail: bool = False
    done: Callable[[], None] = lambda: None
    refused: Callable[[], None] = lambda: None

    def fault(self, outcome: Outcome) -> str:
        """Say what is wrong with an outcome, or nothing; and go on from it."""
        if outcome.condition is not None:
            if outcome.condition not in self.refusals:
                return f"failed with {outcome.condition}: {outcome.text}; expected {self}"
            self.refused()
            return ""
        if self.must_fail:
            return f"answered {outcome.rows}; expected {self}"
        if self.rows is not None and outcome.rows != sorted(self.rows):
            return f"answered {outcome.rows}; expected {self}"
        self.done()
        return ""

    def __str__(self) -> str:
        refusals = " or ".join(sorted(self.refusals))
        if self.must_fail:
            return refusals
        rows = "success" if self.rows is None else str(sorted(self.rows))
        return f"{rows} or {refusals}" if refusals else rows


@dataclass
class Outcome:
    """What a step did: rows, sorted, or the condition of its error."""

    rows: list[tuple[Any, ...]] = field(default_factory=list)
    condition: str | None = None
    text: str = ""


class Model:
    """A lakehouse, its sessions, and the objects that they have made.

    Args:
        layouts: of each table.
        rows: of each table, at the first version.
        sessions: how many.
    """

    def __init__(
        self, layouts: Mapping[str, Layout], rows: Mapping[str, list[Row]], sessions: int
    ) -> None:
        self.layouts = dict(layouts)
        self._identities = count()
        self.versions: list[View] = [{t: self.identified(r) for t, r in rows.items()}]
        self._log: list[list[Change]] = [[]]
        self.open: list[Txn | None] = [None] * sessions
        self.frames: dict[str, Frame] = {}
        self.handles: dict[str, Handle] = {}
        self.marks: dict[str, int] = {}
        self.iterators: dict[str, list[Row]] = {}
        self.views: dict[str, tuple[int | None, Callable[[Txn | None], Query]]] = {}

    def identified(self, rows: Iterable[Row]) -> Rows:
        """Give new rows their identities."""
        return {next(self._identities): row for row in rows}

    # --- what can be asked -----------------------------------------------------------------------

    def view(self, session: int) -> View:
        """Return what a session sees."""
        txn = self.open[session]
        return self.versions[-1] if txn is None else txn.view

    def resolve(self, session: int, name: str) -> Query | None:
        """Return what a table's or view's name means in a session now; None if nothing."""
        txn = self.open[session]
        if name in self.layouts:
            made_in = frozenset({txn} if txn else ())
            return Query(lambda view: list(view[name].values()), frozenset({name}), made_in)
        owner, meaning = self.views.get(name, (-1, None))
        if meaning is None or owner not in (None, session):
            return None
        return meaning(txn)

    def refusal(self, query: Query) -> tuple[frozenset[str], bool]:
        """Return how a question may be refused, and whether it must be."""
        gone = any(t.state == GONE for t in query.made_in)
        maybe = gone or any(t.state == GONE for t in query.touched_in)
        return frozenset({FINISHED} if maybe else ()), gone

    def ask(self, session: int, query: Query, answer: Callable[..., Any] | None = None) -> Expected:
        """Expect the answer of a question that is planned now.

        Args:
            session: who asks.
            query: what.
            answer: makes the answer of the rows; the rows themselves by default.
        """
        refusals, must_fail = self.refusal(query)
        rows = query.rows(self.view(session))
        return Expected(
            rows if answer is None else answer(rows),
            refusals,
            must_fail,
            lambda: self.note(session, query.tables),
            # What was refused may have been read.
            lambda: self.note(session, query.tables, certain=False),
        )

    def ask_again(self, frame: Frame) -> Expected:
        """Expect the answer of a Dataset that keeps its plan: the first one's, or a refusal.

        A transaction refuses it where its own answer would be another one.
        """
        session, txn = frame.session, self.open[frame.session]
        expected = self.ask(session, frame.query)
        plan = frame.plan
        if plan is None:
            rows = expected.rows or []

            def planned() -> None:
                """Keep the plan."""
                self.note(session, frame.query.tables)
                stamps = txn.stamps(frame.query.tables) if txn else {}
                frame.plan = Plan(txn, stamps, rows)

            expected.done = planned
            return expected
        if plan.txn is txn and (txn is None or plan.stamps == txn.stamps(frame.query.tables)):
            expected.rows = plan.rows
        elif txn is not None:
            expected.refusals |= {STALE}
            # What an old plan answers is right only by chance, and then nobody can tell.
            expected.must_fail |= sorted(plan.rows) != sorted(expected.rows or [])
        else:
            expected.rows = plan.rows
            if plan.txn is not None and plan.txn.state == GONE:
                expected.refusals |= {FINISHED}
                expected.must_fail |= any(plan.stamps.values())
        return expected

    def note(
        self,
        session: int,
        tables: Iterable[str],
        condition: Pred | None = None,
        *,
        certain: bool = True,
    ) -> None:
        """Note tables as read, where a transaction is open: the rows that meet a condition."""
        txn = self.open[session]
        if txn is not None:
            for table in tables:
                own = any(c.table == table and c.replaces_all for c in txn.changes)
                holds = condition.holds if condition else None
                txn.reads.append(Read(table, holds, certain and not own))

    # --- what can be changed ---------------------------------------------------------------------

    def begin(self, session: int, level: str) -> Txn:
        """BEGIN."""
        return Txn(session, level, len(self.versions) - 1, self.versions[-1])

    def write(
        self,
        session: int,
        changes: list[Change],
        *,
        source: Query | None = None,
        target: Query | None = None,
        condition: Pred | None = None,
        rows: list[tuple[Any, ...]] | None = None,
    ) -> Expected:
        """Expect a statement to write.

        Args:
            session: whose statement it is.
            changes: what it does to tables.
            source: where it reads its rows.
            target: by which object it reaches its table.
            condition: of the rows of its table that it chooses.
            rows: what it answers.
        """
        nothing = Query(lambda _: [])
        reads = source or nothing
        both = reads.beside(target or nothing, lambda one, _: one, None)
        refusals, must_fail = self.refusal(both)

        def done() -> None:
            """It is in the transaction, or committed."""
            here = self.open[session] or self.begin(session, SNAPSHOT)
            self.note(session, reads.tables)
            if condition is not None:
                self.note(session, {change.table for change in changes}, condition)
            for change in changes:
                here.apply(change)
            if self.open[session] is None:
                self.publish(here)

        def refused() -> None:
            """It may have read."""
            self.note(session, reads.tables, certain=False)

        return Expected(rows, refusals, must_fail, done, refused)

    def commit(self, txn: Txn) -> Expected:
        """Expect what COMMIT of a transaction must or may do."""
        verdict = self.verdict(txn)

        def done() -> None:
            """It is durable."""
            self.publish(txn)

        def refused() -> None:
            """It is as if it had never been."""
            txn.state = GONE

        refusals = frozenset({CONFLICT} if verdict is not Verdict.COMMITS else ())
        return Expected(None, refusals, verdict is Verdict.REFUSED, done, refused)

    def verdict(self, txn: Txn) -> Verdict:
        """Judge a transaction against everything that was committed since it began."""
        theirs = [change for log in self._log[txn.base + 1 :] for change in log]
        return judge(
            txn.changes,
            txn.reads,
            theirs,
            self.layouts,
            self.versions[txn.base],
            self.versions[-1],
            serializable=txn.level == SERIALIZABLE,
        )

    def publish(self, txn: Txn) -> None:
        """Make a transaction's changes the newest version."""
        txn.state = COMMITTED
        if txn.changes:
            newest = dict(self.versions[-1])
            for change in txn.changes:
                newest[change.table] = replayed(newest[change.table], [change])
            self.versions.append(newest)
            self._log.append(list(txn.changes))

    def state(self) -> Iterator[tuple[str, list[Row]]]:
        """Yield each table's committed rows."""
        for table, rows in self.versions[-1].items():
            yield table, sorted(rows.values())
