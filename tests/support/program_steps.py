"""The steps of a program: each is a line of Python for Spark, and what it means to the model.

Here: transactions, questions, and the objects that are made; ``program_writes.py`` has the changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.support import program_rows as meaning
from tests.support.program_model import GONE, Expected, Frame, Handle, Query
from tests.support.program_rows import WRAP, Pred, Row, only

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.program_model import Model, Txn

LARGEST = 40
"""A statement that would answer or write more rows is left out."""
_TOTAL = (
    f'expr("CAST(count(*) AS INT) AS id"), expr("CAST(coalesce(sum(v), 0) % {WRAP} AS INT) AS v")'
)


@dataclass(frozen=True)
class Step:
    """One step.

    Args:
        session: the number of the session that it runs in.
        code: one line of Python, with ``{name}`` for tables and views.
        mean: does it to the model; returns what it may do, or None if it makes no sense here.
        others: steps of other sessions, done while this one's statement is held in its middle.
    """

    session: int
    code: str
    mean: Callable[[Model], Expected | None]
    others: tuple[Step, ...] = ()


# --- transactions ---------------------------------------------------------------------------------


def begin(s: int, level: str) -> Step:
    """BEGIN."""

    def mean(model: Model) -> Expected | None:
        """Open it."""
        if model.open[s] is not None:
            return None

        def done() -> None:
            """It is open."""
            model.open[s] = model.begin(s, level)

        return Expected(done=done)

    return Step(s, f'c{s}.sql("BEGIN ISOLATION LEVEL {level}")', mean)


def commit(s: int) -> Step:
    """COMMIT."""

    def mean(model: Model) -> Expected | None:
        """Publish it, or not."""
        txn = model.open[s]
        if txn is None:
            return None
        expected = model.commit(txn)
        model.open[s] = None
        return expected

    return Step(s, f'c{s}.sql("COMMIT")', mean)


def rollback(s: int) -> Step:
    """ROLLBACK."""

    def mean(model: Model) -> Expected | None:
        """Forget it."""
        txn, model.open[s] = model.open[s], None
        if txn is None:
            return None
        txn.state = GONE
        return Expected()

    return Step(s, f'c{s}.sql("ROLLBACK")', mean)


def mark(s: int, name: str) -> Step:
    """Remember the newest version by a name."""

    def mean(model: Model) -> Expected | None:
        """Remember it."""
        if model.open[s] is not None:
            return None
        model.marks[name] = len(model.versions) - 1
        return Expected()

    code = f'{name} = c{s}.sql("SELECT max(version) FROM lake.system.versions").first()[0]'
    return Step(s, code, mean)


# --- questions ------------------------------------------------------------------------------------


def select(s: int, name: str, where: Pred) -> Step:
    """SELECT in SQL."""

    def mean(model: Model) -> Expected | None:
        """Answer it."""
        query = model.resolve(s, name)
        if query is None:
            return None
        return _small(model.ask(s, query.then(only(where), None)))

    return Step(s, f'c{s}.sql("SELECT id, v FROM {{{name}}} WHERE {where.text}").collect()', mean)


def fetch(s: int, frame: str, door: str) -> Step:
    """Run a DataFrame by a door that plans it anew: ``select``, ``count``, ``take``."""
    calls = {"select": 'select("*").collect()', "count": "count()", "take": f"take({LARGEST})"}

    def mean(model: Model) -> Expected | None:
        """Answer it."""
        if frame not in model.frames:
            return None
        count = door == "count"
        query = model.frames[frame].query
        return _small(model.ask(s, query, (lambda rows: [(len(rows),)]) if count else None))

    return Step(s, f"{frame}.{calls[door]}", mean)


def collect(s: int, frame: str, door: str) -> Step:
    """Run a DataFrame by a door that keeps its plan: ``collect``, ``toLocalIterator``."""

    def mean(model: Model) -> Expected | None:
        """Answer it."""
        found = model.frames.get(frame)
        return None if found is None else _small(model.ask_again(found))

    return Step(s, f"{frame}.{door}()", mean)


def iterate(s: int, name: str, frame: str) -> Step:
    """Begin to run a DataFrame, and let the rows wait."""

    def mean(model: Model) -> Expected | None:
        """Its rows are decided now."""
        found = model.frames.get(frame)
        expected = None if found is None else _small(model.ask_again(found))
        if expected is None:
            return None
        return _kept(expected, lambda rows: model.iterators.update({name: rows}))

    return Step(s, f"{name} = {frame}.toLocalIterator()", mean)


def drain(s: int, name: str) -> Step:
    """Take the rows that wait, whatever was committed or rolled back since: they are values."""

    def mean(model: Model) -> Expected | None:
        """They are what they were."""
        rows = model.iterators.pop(name, None)
        return None if rows is None else Expected(rows)

    return Step(s, f"list({name})", mean)


# --- DataFrames -----------------------------------------------------------------------------------


def table(s: int, frame: str, name: str, *, text: bool) -> Step:
    """A DataFrame of a table or view, by ``spark.table`` or by SQL."""
    source = f'c{s}.sql("SELECT * FROM {{{name}}}")' if text else f'c{s}.table("{{{name}}}")'
    return _frame(s, frame, source, lambda model: model.resolve(s, name))


def pinned(s: int, frame: str, name: str, marked: str) -> Step:
    """A DataFrame of a table at a version by name."""

    def query(model: Model) -> Query | None:
        """It is what it was."""
        if marked not in model.marks:
            return None
        rows = list(model.versions[model.marks[marked]][name].values())
        return Query(lambda _: rows, versioned=True)

    code = f'c{s}.read.option("versionAsOf", {marked}).table("{{{name}}}")'
    return _frame(s, frame, code, query)


def transformed(s: int, frame: str, source: str, how: str, where: Pred, number: int) -> Step:
    """A DataFrame made of another: ``same``, ``filter``, ``add``, ``max``, ``total``."""
    code, change = {
        "same": ('select("*")', list),
        "filter": (f'filter("{where.text}")', only(where)),
        "add": (f'withColumn("v", expr("(v + {number}) % {WRAP}"))', meaning.adding(number)),
        "max": ('groupBy("id").agg(expr("max(v) AS v"))', meaning.greatest),
        "total": (f"agg({_TOTAL})", meaning.total),
    }[how]

    def query(model: Model) -> Query | None:
        """Transform it."""
        if source not in model.frames:
            return None
        return model.frames[source].query.then(change, model.open[s])

    return _frame(s, frame, f"{source}.{code}", query)


def combined(s: int, frame: str, one: str, two: str, how: str) -> Step:
    """A DataFrame made of two: ``join``, ``union``."""
    join = (
        f'{one}.alias("l").join({two}.alias("r"), expr("l.id = r.id"))'
        f'.selectExpr("l.id", "(l.v + r.v) % {WRAP} AS v")'
    )

    def query(model: Model) -> Query | None:
        """Combine them."""
        if one not in model.frames or two not in model.frames:
            return None
        left, right = model.frames[one].query, model.frames[two].query
        return left.beside(
            right, meaning.joined if how == "join" else meaning.united, model.open[s]
        )

    return _frame(s, frame, join if how == "join" else f"{one}.union({two})", query)


def checkpoint(s: int, frame: str, source: str) -> Step:
    """A DataFrame of the rows that another one has now: they are values."""

    def mean(model: Model) -> Expected | None:
        """Run it, by the plan that it keeps."""
        if source not in model.frames:
            return None

        def keep(rows: list[Row]) -> None:
            """Make a DataFrame of them."""
            model.frames[frame] = Frame(s, Query(lambda _: rows, versioned=True))

        return _kept(model.ask_again(model.frames[source]), keep)

    return Step(s, f"{frame} = {source}.localCheckpoint()", mean)


def among(s: int, frame: str, source: str, name: str) -> Step:
    """A DataFrame with a subquery on a table or view."""

    def query(model: Model) -> Query | None:
        """Keep the rows whose keys are there."""
        other = model.resolve(s, name)
        if source not in model.frames or other is None:
            return None
        return model.frames[source].query.beside(other, meaning.among, model.open[s])

    return _frame(s, frame, f'{source}.filter("id IN (SELECT id FROM {{{name}}})")', query)


def _frame(s: int, frame: str, code: str, query: Callable[[Model], Query | None]) -> Step:
    def mean(model: Model) -> Expected | None:
        """Make it, which reads nothing yet; it may be refused as soon as that."""
        made = query(model)
        if made is None:
            return None

        def done() -> None:
            """It is there."""
            model.frames[frame] = Frame(s, made)
            # Its analysis may count, as a refusal is always safe.
            model.note(s, made.tables, certain=False)

        return Expected(None, model.refusal(made)[0], done=done)

    return Step(s, f"{frame} = {code}", mean)


# --- handles, views, caches -----------------------------------------------------------------------


def handle(s: int, name: str, of: str) -> Step:
    """A DeltaTable."""

    def mean(model: Model) -> Expected | None:
        """Make it."""
        query = model.resolve(s, of)
        assert query is not None, "it is a table"

        def done() -> None:
            """It is there."""
            model.handles[name] = Handle(of, Frame(s, query))
            model.note(s, query.tables, certain=False)

        return Expected(done=done)

    return Step(s, f'{name} = DeltaTable.forName(c{s}, "{{{of}}}")', mean)


def handle_frame(s: int, frame: str, of: str) -> Step:
    """``toDF()``: the same Dataset each time."""

    def mean(model: Model) -> Expected | None:
        """Give it one more name."""
        if of not in model.handles:
            return None
        model.frames[frame] = model.handles[of].frame
        return Expected()

    return Step(s, f"{frame} = {of}.toDF()", mean)


def sql_view(s: int, view: str, name: str, where: Pred, form: str) -> Step:
    """A view made by SQL: ``TEMP``, ``GLOBAL TEMP`` or ``CACHE TABLE``, which makes one too."""
    text = f"SELECT id, v FROM {{{name}}} WHERE {where.text}"
    create = form if form == "CACHE TABLE" else f"CREATE {form} VIEW"

    def mean(model: Model) -> Expected | None:
        """Keep its text."""
        query, txn = model.resolve(s, name), model.open[s]
        if query is None:
            return None
        owner = None if form == "GLOBAL TEMP" else s

        def reading(now: Txn | None) -> Query:
            """Read the text again."""
            found = model.resolve(s, name)
            assert found is not None, "views are never dropped"
            both = found.then(only(where), now)
            touched = both.touched_in | ({txn} if txn else set())
            return Query(both.rows, both.tables, both.made_in, touched)

        def done() -> None:
            """It is there."""
            model.views[view] = owner, reading
            model.note(s, query.tables, certain=False)

        refusals, must_fail = model.refusal(query)
        return Expected(None, refusals, must_fail and form == "CACHE TABLE", done)

    return Step(s, f'c{s}.sql("{create} {_bare(view)} AS {text}")', mean)


def frame_view(s: int, view: str, frame: str, *, shared: bool) -> Step:
    """A view of a DataFrame, which keeps its question."""
    call = "createGlobalTempView" if shared else "createTempView"

    def mean(model: Model) -> Expected | None:
        """Keep the question."""
        if frame not in model.frames:
            return None
        query = model.frames[frame].query.then(list, model.open[s])
        # Spark keeps names in place of the relations, so the view is no longer of a transaction.
        named = replace(query, made_in=frozenset(), touched_in=query.touched_in | query.made_in)

        def done() -> None:
            """It is there."""
            model.views[view] = None if shared else s, lambda now: named.then(list, now)

        return Expected(None, *model.refusal(query), done=done)

    return Step(s, f'{frame}.{call}("{_bare(view)}")', mean)


def cache_frame(s: int, frame: str, call: str) -> Step:
    """``cache``, ``persist`` and ``unpersist`` mean nothing at all."""

    def mean(model: Model) -> Expected | None:
        """Nothing."""
        if frame not in model.frames:
            return None
        query = model.frames[frame].query
        return Expected(None, model.refusal(query)[0])

    return Step(s, f"{frame}.{call}()", mean)


def cache_name(s: int, name: str, statement: str) -> Step:
    """``CACHE TABLE``, ``CACHE LAZY TABLE`` and ``UNCACHE TABLE`` mean nothing either."""

    def mean(model: Model) -> Expected | None:
        """Nothing, but that it may count as a read."""
        query = model.resolve(s, name)
        if query is None:
            return None
        return Expected(
            None,
            model.refusal(query)[0],
            done=lambda: model.note(s, query.tables, certain=False),
        )

    return Step(s, f'c{s}.sql("{statement} {{{name}}}")', mean)


# --- what they have in common ---------------------------------------------------------------------


def _bare(view: str) -> str:
    """Return a view's name without its namespace, as statements that create it want it."""
    return f"{{{view}}}".replace("{global_temp.", "{")


def _kept(expected: Expected, keep: Callable[[list[Row]], None]) -> Expected:
    """Expect the same, but the rows are kept and not answered."""
    rows, done = expected.rows or [], expected.done

    def both() -> None:
        """Go on, and keep them."""
        done()
        keep(rows)

    return replace(expected, rows=None, done=both)


def _small(expected: Expected) -> Expected | None:
    return None if len(expected.rows or []) > LARGEST else expected
