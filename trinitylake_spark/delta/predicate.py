"""What a predicate that Delta recorded can come to in a partition or a data file.

Delta records the condition of UPDATE and DELETE as Spark prints expressions, in a JSON list
(``["((p#12 = x) AND (a#3 > 3))"]``), and that of an overwrite as SQL text (``p = 'x'``). Whatever
these two small grammars do not cover may come to anything, which is always a safe answer.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from trinitylake_spark.delta.condition import Condition, Constant, Operator, joined
from trinitylake_spark.delta.printed_condition import read_printed
from trinitylake_spark.delta.sql_condition import NotUnderstoodError, read_sql
from trinitylake_spark.delta.truth import ANYTHING, NULL, UNKNOWN, Range
from trinitylake_spark.delta.values import INTEGERS, Column, read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trinitylake_spark.delta.condition import Facts
    from trinitylake_spark.delta.entry import Action
    from trinitylake_spark.delta.truth import Value

_MAYBE = Condition((Constant(ANYTHING),))
_SOME_VALUE = Range(has_nulls=False)
_ALWAYS = Condition((Constant(frozenset({True})),))
_WITH_STATISTICS = frozenset({*INTEGERS, "string", "date"})


def understand(predicate: str, columns: Mapping[str, Column]) -> Condition:
    """Read a predicate; what is not understood of it may come to anything.

    Args:
        predicate: as Delta recorded it.
        columns: columns by lower-case logical name.
    """
    if not predicate.startswith("["):
        return _understood(read_sql, predicate, columns)
    texts = [str(text) for text in json.loads(predicate)]
    if not texts:
        return _ALWAYS
    return joined(Operator.AND, (_understood(read_printed, text, columns) for text in texts))


def _understood(
    reader: Callable[[str, Mapping[str, Column]], Condition],
    text: str,
    columns: Mapping[str, Column],
) -> Condition:
    try:
        return reader(text, columns)
    except NotUnderstoodError:
        return _MAYBE


def holds(condition: Condition, values: Mapping[str, str | None]) -> bool | None:
    """Tell whether a condition holds for all rows of one partition (True), for none (False).

    Args:
        condition: what was understood of a predicate.
        values: the partition's values as Delta writes them, by physical name.

    Returns:
        None if neither can be said.
    """
    results = condition.results(lambda column: _partition_range(column, values))
    if True not in results:
        return False
    return True if results == {True} else None


def file_facts(addition: Action) -> Facts:
    """Return what the addition of a data file tells about its columns.

    Bounds hold also where they are not tight: for texts that Delta cut, and for files of which
    rows were deleted.
    """
    partition = addition.get("partitionValues") or {}
    statistics = json.loads(addition.get("stats") or "{}")

    def facts(column: Column) -> Range:
        """Tell what is known of one column."""
        if column.name in partition:
            return _partition_range(column, partition)
        return _statistics_range(column, statistics)

    return facts


def _statistics_range(column: Column, statistics: Action) -> Range:
    if column.kind not in _WITH_STATISTICS:
        return UNKNOWN
    records = statistics.get("numRecords")
    low, high, nulls = (
        (statistics.get(name) or {}).get(column.name)
        for name in ("minValues", "maxValues", "nullCount")
    )
    return Range(
        _bound(column.kind, low),
        _bound(column.kind, high),
        has_values=nulls is None or records is None or nulls < records,
        has_nulls=nulls != 0,
    )


def _bound(kind: str, value: object) -> Value | None:
    """Return a bound in a file's statistics for comparisons; None for unknown."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    found = read(kind, str(value))
    return None if found is None else found.low


def _partition_range(column: Column, values: Mapping[str, str | None]) -> Range:
    """Return what is known of a partition column; an empty text stands for NULL."""
    raw = values.get(column.name)
    if not raw:
        return NULL if column.name in values else UNKNOWN
    return read(column.kind, raw) or _SOME_VALUE
