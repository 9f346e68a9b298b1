"""The steps that change rows: SQL, DataFrames and handles, in all their forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support import program_rows as meaning
from tests.support.program_commits import CHANGE, COMPACT, INSERT, OVERWRITE, Change
from tests.support.program_model import Query
from tests.support.program_rows import EVERY, WRAP, Pred, Row, by_id, only
from tests.support.program_steps import LARGEST, Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.program_model import Expected, Model
    from tests.support.program_rows import Rows


def insert(s: int, into: str, rows: list[Row], where: Pred | None, *, overwrite: bool) -> Step:
    """INSERT INTO, INSERT OVERWRITE or INSERT … REPLACE WHERE, of values."""
    values = ", ".join(map(str, rows))

    def mean(model: Model) -> Expected | None:
        """Add or replace rows."""
        return model.write(s, [_filled(model, into, rows, overwrite, where)])

    return Step(s, f'c{s}.sql("{_verb(into, where, overwrite)} VALUES {values}")', mean)


def insert_select(
    s: int, into: str, name: str, number: int, where: Pred | None, *, overwrite: bool, held: bool
) -> Step:
    """The same of a table's or view's rows, with something added to their values."""
    condition = f" WHERE {where.text}" if where else ""
    text = f"SELECT id, (v + {number}) % {WRAP} AS v FROM {{{name}}}{condition}"
    gate = " UNION ALL SELECT 90, gate(90)" if held else ""

    def mean(model: Model) -> Expected | None:
        """Add or replace rows."""
        query = model.resolve(s, name)
        if query is None:
            return None
        query = query.then(only(where or EVERY), None).then(meaning.adding(number), None)
        return _written(model, s, into, query, where, overwrite, held)

    return Step(s, f'c{s}.sql("{_verb(into, where, overwrite)} {text}{gate}")', mean)


def frame_write(s: int, frame: str, into: str, door: str, k: int, *, held: bool) -> Step:
    """Write a DataFrame by one of ``FRAME_DOORS``."""
    gate = f'.union(c{s}.sql("SELECT 90 AS id, gate(90) AS v"))' if held else ""
    call, overwrite = FRAME_DOORS[door]
    where = by_id(k) if door == "overwrite some" else None
    filtered = f'.filter("{where.text}")' if where else ""

    def mean(model: Model) -> Expected | None:
        """Add or replace rows."""
        if frame not in model.frames:
            return None
        query = model.frames[frame].query.then(only(where or EVERY), None)
        scope = where
        if door == "overwritePartitions" and model.layouts[into].partitioned:
            keys = {row[0] for row in query.rows(model.view(s))} | ({90} if held else set())
            scope = Pred("", lambda row: row[0] in keys)
        surely = not door.startswith("saveAsTable over")
        return _written(model, s, into, query, scope, overwrite, held, surely=surely)

    code = f"{frame}{filtered}{gate}.{call}".format(into=f"{{{into}}}", k=k)
    return Step(s, code, mean)


FRAME_DOORS = {
    "append": ('writeTo("{into}").append()', False),
    "saveAsTable append": ('write.format("delta").mode("append").saveAsTable("{into}")', False),
    "insertInto": ('write.insertInto("{into}")', False),
    "overwrite": ('writeTo("{into}").overwrite(expr("true"))', True),
    "overwrite some": ('writeTo("{into}").overwrite(expr("id = {k}"))', True),
    "overwritePartitions": ('writeTo("{into}").overwritePartitions()', True),
    "saveAsTable overwrite": (
        'write.format("delta").mode("overwrite").saveAsTable("{into}")',
        True,
    ),
    "insertInto overwrite": ('write.insertInto("{into}", overwrite=True)', True),
}
"""How a DataFrame is written, and whether that replaces rows."""


def update(s: int, name: str, where: Pred | None, number: int) -> Step:
    """UPDATE in SQL."""
    clause = f" WHERE {where.text}" if where else ""
    code = f'c{s}.sql("UPDATE {{{name}}} SET v = (v + {number}) % {WRAP}{clause}").collect()'
    return Step(s, code, _changing(s, lambda _: name, where, number))


def delete(s: int, name: str, where: Pred | None) -> Step:
    """DELETE in SQL."""
    clause = f" WHERE {where.text}" if where else ""
    code = f'c{s}.sql("DELETE FROM {{{name}}}{clause}").collect()'
    return Step(s, code, _changing(s, lambda _: name, where, None))


def handle_update(s: int, of: str, where: Pred | None, number: int) -> Step:
    """``DeltaTable.update``."""
    condition = f'"{where.text}", ' if where else "set="
    code = f'{of}.update({condition}{{"v": "(v + {number}) % {WRAP}"}})'
    return Step(s, code, _changing(s, _target(of), where, number, of))


def handle_delete(s: int, of: str, where: Pred | None) -> Step:
    """``DeltaTable.delete``."""
    code = f'{of}.delete("{where.text}")' if where else f"{of}.delete()"
    return Step(s, code, _changing(s, _target(of), where, None, of))


def merge(s: int, into: str, name: str, form: str) -> Step:
    """MERGE in SQL, of a table's or view's rows: ``upsert``, ``insert`` or ``delete``."""
    clauses = {
        "upsert": "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *",
        "insert": "WHEN NOT MATCHED THEN INSERT *",
        "delete": "WHEN MATCHED THEN DELETE",
    }[form]
    source = f"(SELECT id, max(v) AS v FROM {{{name}}} GROUP BY id)"
    code = f'c{s}.sql("MERGE INTO {{{into}}} t USING {source} s ON t.id = s.id {clauses}")'

    def mean(model: Model) -> Expected | None:
        """Match rows by their keys."""
        query = model.resolve(s, name)
        return None if query is None else _merged(model, s, into, query, form, count=True)

    return Step(s, f"{code}.collect()", mean)


def handle_merge(s: int, of: str, frame: str, form: str) -> Step:
    """``DeltaTable.merge``."""
    clauses = {
        "upsert": 'whenMatchedUpdate(set={"v": "s.v"}).whenNotMatchedInsertAll()',
        "insert": "whenNotMatchedInsertAll()",
        "delete": "whenMatchedDelete()",
    }[form]
    source = f'{frame}.groupBy("id").agg(expr("max(v) AS v")).alias("s")'

    def mean(model: Model) -> Expected | None:
        """Match rows by their keys."""
        if of not in model.handles or frame not in model.frames:
            return None
        target = model.handles[of]
        both = target.frame.query.beside(model.frames[frame].query, lambda _, rows: rows, None)
        return _merged(model, s, target.table, both, form, count=False)

    code = f'{of}.alias("t").merge({source}, "t.id = s.id").{clauses}.execute()'
    return Step(s, code, mean)


def truncate(s: int, name: str) -> Step:
    """TRUNCATE TABLE."""
    return Step(
        s,
        f'c{s}.sql("TRUNCATE TABLE {{{name}}}")',
        lambda model: model.write(s, [Change(name, OVERWRITE)]),
    )


def optimize(s: int, name: str) -> Step:
    """OPTIMIZE."""
    return Step(
        s,
        f'c{s}.sql("OPTIMIZE {{{name}}}")',
        lambda model: model.write(s, [Change(name, COMPACT)]),
    )


# --- what they have in common ---------------------------------------------------------------------


def _verb(into: str, where: Pred | None, overwrite: bool) -> str:
    if where is not None:
        return f"INSERT INTO {{{into}}} REPLACE WHERE {where.text}"
    return f"INSERT {'OVERWRITE' if overwrite else 'INTO'} {{{into}}}"


def _target(of: str) -> Callable[[Model], str | None]:
    return lambda model: model.handles[of].table if of in model.handles else None


def _filled(
    model: Model, into: str, rows: list[Row], overwrite: bool, where: Pred | None
) -> Change:
    kind = OVERWRITE if overwrite else INSERT
    scope = where.holds if where else None
    return Change(into, kind, added=model.identified(rows), scope=scope)


def _written(
    model: Model,
    s: int,
    into: str,
    query: Query,
    where: Pred | None,
    overwrite: bool,
    held: bool,
    *,
    surely: bool = True,
) -> Expected | None:
    """Write the rows of a question; the row that a gate held comes with them."""
    view = model.view(s)
    rows = query.rows(view) + ([(90, 90)] if held else [])
    if len(rows) > LARGEST or len(view[into]) > LARGEST:
        return None
    change = Change(
        into,
        OVERWRITE if overwrite else INSERT,
        added=model.identified(rows),
        scope=where.holds if where and overwrite else None,
        from_itself=overwrite and into in query.tables,
        surely=surely and not query.versioned,
    )
    return model.write(s, [change], source=query)


def _changing(
    s: int,
    target: Callable[[Model], str | None],
    where: Pred | None,
    number: int | None,
    of: str | None = None,
) -> Callable[[Model], Expected | None]:
    """An UPDATE (adds a number) or a DELETE (None)."""

    def mean(model: Model) -> Expected | None:
        """Change the rows that meet the condition."""
        name = target(model)
        if name is None:
            return None
        hit = {i: r for i, r in model.view(s)[name].items() if (where or EVERY).holds(r)}
        new = [] if number is None else [meaning.added(row, number) for row in hit.values()]
        change = Change(name, CHANGE, hit, model.identified(new))
        handle = None if of is None else model.handles[of].frame.query
        return model.write(
            s,
            [change],
            target=handle,
            condition=where or EVERY,
            rows=None if of else [(len(hit),)],
        )

    return mean


def _merged(
    model: Model, s: int, into: str, query: Query, form: str, *, count: bool
) -> Expected | None:
    """A MERGE by keys."""
    view = model.view(s)
    source = dict(meaning.greatest(query.rows(view)))
    target = view[into]
    if len(source) + len(target) > LARGEST:
        return None
    hit: Rows = {} if form == "insert" else {i: r for i, r in target.items() if r[0] in source}
    set_: list[Row] = [(k, source[k]) for k, _ in hit.values()] if form == "upsert" else []
    keys = {row[0] for row in target.values()}
    new = [] if form == "delete" else [row for row in source.items() if row[0] not in keys]
    change = Change(into, CHANGE, hit, model.identified(set_ + new))
    deleted = len(hit) if form == "delete" else 0
    answer = [(len(hit) + len(new), len(set_), deleted, len(new))]
    target_too = Query(query.rows, query.tables | {into}, query.made_in, query.touched_in)
    return model.write(s, [change], source=target_too, rows=answer if count else None)
