"""Predicates over files against rows: whatever a row comes to was said to be possible.

Random conditions are printed as Spark prints them, and as SQL, over random rows of a file whose
statistics are cut, loose or missing. Each row is evaluated on its own by SQL's rules; its result
must be among those that the statistics leave possible. So no row that a condition chooses, and no
conflict, can be missed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from trinitylake_spark.delta.predicate import file_facts, understand
from trinitylake_spark.delta.values import Column

if TYPE_CHECKING:
    from collections.abc import Callable

Row = dict[str, Any]
_COLUMNS = {
    name: Column(f"col-{name}", kind)
    for name, kind in (
        ("n", "long"),
        ("s", "string"),
        ("d", "date"),
        ("p", "string"),
        ("m", "integer"),
    )
}
_PARTITIONED_BY = ("p", "m")
_CUT = 2
"""Characters that the bounds of texts keep."""

# Texts that look like a piece of a condition.
_TEXTS = st.one_of(
    st.sampled_from(
        [
            *("x", "y", "7", "007", "", "null", "true", "'x'", "a,b", "NOT x", "n#1", " x"),
            *("x) AND (n#1 = 1", "x) OR (true", "x) AND (p#3 = y", "x) AND ((p#3 = y) OR (true"),
            *("y) OR (s#2 = x)", "x)", "(", "é", "\U0001f600", "zz\U0001f600", "\ud83d"),
        ]
    ),
    st.text(alphabet="xyz()# AND=1", max_size=6),
)
_DAYS = st.sampled_from([f"2026-01-0{day}" for day in range(1, 6)])
_LITERALS = {
    "n": st.integers(-3, 3),
    "s": _TEXTS,
    "d": _DAYS,
    "p": _TEXTS,
    "m": st.integers(-3, 3),
}
_ROWS = st.fixed_dictionaries({c: st.one_of(st.none(), _LITERALS[c]) for c in _COLUMNS})
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass(frozen=True)
class Condition:
    """A condition in all its forms.

    Args:
        printed: as Spark prints it.
        sql: as a user writes it.
        value: what it comes to for a row; None for NULL.
    """

    printed: str
    sql: str
    value: Callable[[Row], bool | None]


def _comparison(column: str, symbol: str, literal: Any) -> Condition:
    def value(row: Row) -> bool | None:
        """NULL, where the column is."""
        found = row[column]
        return None if found is None else _OPERATORS[symbol](found, literal)

    def null_safe(row: Row) -> bool | None:
        """Never NULL."""
        return bool(row[column] == literal)

    number = {"n": "1L", "m": "5"}.get(column, "3")
    return Condition(
        f"({column}#{number} {symbol} {literal})",
        f"({column} {symbol} {_quoted(literal)})",
        null_safe if symbol == "<=>" else value,
    )


def _quoted(literal: Any) -> str:
    return str(literal) if isinstance(literal, int) else f"'{literal}'"


def _in(column: str, literals: list[Any]) -> Condition:
    def value(row: Row) -> bool | None:
        """NULL, where the column is."""
        return None if row[column] is None else row[column] in literals

    return Condition(
        f"{column}#5 IN ({','.join(map(str, literals))})",
        f"{column} IN ({', '.join(map(_quoted, literals))})",
        value,
    )


def _is_null(column: str) -> Condition:
    return Condition(f"isnull({column}#5)", f"{column} IS NULL", lambda row: row[column] is None)


def _not(one: Condition) -> Condition:
    def value(row: Row) -> bool | None:
        """NULL stays NULL."""
        result = one.value(row)
        return None if result is None else not result

    return Condition(f"NOT {one.printed}", f"NOT ({one.sql})", value)


def _joined(word: str, one: Condition, other: Condition) -> Condition:
    decides = word == "OR"

    def value(row: Row) -> bool | None:
        """One that decides is enough; else NULL if there is one."""
        results = {one.value(row), other.value(row)}
        if decides in results:
            return decides
        return None if None in results else not decides

    return Condition(
        f"({one.printed} {word} {other.printed})", f"({one.sql} {word} {other.sql})", value
    )


_LEAVES = st.sampled_from(list(_COLUMNS)).flatmap(
    lambda column: st.one_of(
        st.builds(
            _comparison,
            st.just(column),
            st.sampled_from([*_OPERATORS, "<=>"]),
            _LITERALS[column],
        ),
        st.builds(_in, st.just(column), st.lists(_LITERALS[column], min_size=1, max_size=3)),
        st.builds(_is_null, st.just(column)),
    )
)
CONDITIONS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.builds(_not, inner),
        st.builds(_joined, st.sampled_from(["AND", "OR"]), inner, inner),
    ),
    max_leaves=5,
)


def _file(rows: list[Row], missing: set[str], *, loose: bool) -> Row:
    """Return the addition of a file with these rows; some of its statistics are missing."""
    low: Row = {}
    high: Row = {}
    nulls: Row = {}
    for name in set(_COLUMNS) - set(_PARTITIONED_BY):
        values = [row[name] for row in rows if row[name] is not None]
        nulls[f"col-{name}"] = len(rows) - len(values)
        if values:
            low[f"col-{name}"], high[f"col-{name}"] = _bounds(name, values)
    facts = {"numRecords": len(rows), "minValues": low, "maxValues": high, "nullCount": nulls}
    if loose:
        # Rows of the file were deleted: the rest of them is what the conditions are about.
        del rows[len(rows) // 2 + 1 :]
        facts["tightBounds"] = False
    kept = {name: value for name, value in facts.items() if name not in missing}
    values_of = {
        f"col-{name}": None if rows[0][name] is None else str(rows[0][name])
        for name in _PARTITIONED_BY
    }
    return {"path": "f", "partitionValues": values_of, "stats": json.dumps(kept)}


def _bounds(name: str, values: list[Any]) -> tuple[Any, Any]:
    least, most = min(values), max(values)
    if name == "s":
        return least[:_CUT], most if len(most) <= _CUT else most[:_CUT] + "\U0010ffff"
    return least, most


def _in_one_partition(rows: list[Row]) -> list[Row]:
    shared = {name: rows[0][name] or None for name in ("p",)} | {"m": rows[0]["m"]}
    return [{**row, **shared} for row in rows]


_FILES = st.lists(_ROWS, min_size=1, max_size=4).map(_in_one_partition)
_MISSING = st.sets(st.sampled_from(["numRecords", "minValues", "maxValues", "nullCount"]))
_ONE = {"n": 1, "s": "x", "d": None, "p": "x", "m": 1}


@given(rows=_FILES, condition=CONDITIONS, missing=_MISSING, loose=st.booleans())
@example(
    rows=[{**_ONE, "p": "x) AND (n#1 = 2"}],
    condition=_comparison("p", "=", "x) AND (n#1 = 2"),
    missing=set(),
    loose=False,
)
@example(
    rows=[{**_ONE, "p": "7"}],
    condition=_not(_comparison("p", "=", "007")),
    missing=set(),
    loose=False,
)
@example(rows=[{**_ONE, "p": "7,8"}], condition=_in("p", ["7,8"]), missing=set(), loose=False)
def test_printed_conditions_miss_no_row(
    rows: list[Row], condition: Condition, missing: set[str], loose: bool
) -> None:
    """Also where texts are made to look like other conditions."""
    facts = file_facts(_file(rows, missing, loose=loose))
    results = understand(json.dumps([condition.printed]), _COLUMNS).results(facts)
    assert {condition.value(row) for row in rows} <= results


@given(rows=_FILES, condition=CONDITIONS, missing=_MISSING, loose=st.booleans())
def test_sql_conditions_miss_no_row(
    rows: list[Row], condition: Condition, missing: set[str], loose: bool
) -> None:
    """The text of an overwrite's condition."""
    assume(_can_be_written(condition.sql))
    facts = file_facts(_file(rows, missing, loose=loose))
    results = understand(condition.sql, _COLUMNS).results(facts)
    assert {condition.value(row) for row in rows} <= results


@given(rows=_FILES, column=st.sampled_from(["n", "s", "d", "p", "m"]), data=st.data())
def test_statistics_exclude_what_they_can(rows: list[Row], column: str, data: Any) -> None:
    """A comparison with a value above all others chooses no row, and that is found out."""
    literal = {"n": 9, "m": 9, "d": "2027-01-01"}.get(column, "\U0010ffff" * 4)
    symbol = data.draw(st.sampled_from(["=", ">", ">="]))
    facts = file_facts(_file(rows, set(), loose=False))
    condition = _comparison(column, symbol, literal)
    assume(not any("\ud83d" in str(row[column]) for row in rows))
    assert True not in understand(json.dumps([condition.printed]), _COLUMNS).results(facts)


def _can_be_written(sql: str) -> bool:
    return sql.count("'") % 2 == 0 and "''x" not in sql and "x''" not in sql
