"""Table properties that may be set without Spark: the user's own, and Delta's harmless ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trinitylake_spark.delta.metadata_rules import HARMLESS
from trinitylake_spark.delta.table import CONFLICT_DETECTION
from trinitylake_spark.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DESCRIPTION = "comment"
"""The property that Delta keeps as the table's description."""

# Delta writes these when they are switched on by Spark, together with a protocol that allows them.
_NEED_NO_FEATURE = HARMLESS - {
    "delta.checkpointPolicy",
    "delta.enableDeletionVectors",
    "delta.enableTypeWidening",
}
_MODES = ("optimised", "strict")


def check_properties(names: Iterable[str], values: Mapping[str, str]) -> None:
    """Refuse properties that only Spark can change, and values that can never work.

    Args:
        names: all properties to set or unset.
        values: those to set.

    Raises:
        InvalidInputError: a value that can never work.
        UnsupportedError: a property that changes how the table is written.
    """
    for name in names:
        if name.startswith("delta.") and name not in _NEED_NO_FEATURE:
            raise UnsupportedError(
                f"The table property {name} changes how the table is written; set it with"
                " ALTER TABLE … SET TBLPROPERTIES in Spark.",
                property=name,
            )
    for name, value in values.items():
        if not isinstance(value, str):
            raise InvalidInputError(
                f"The value of table property {name} is {value!r}; it must be a string.",
                property=name,
            )
    check_conflict_detection(values)


def check_conflict_detection(values: Mapping[str, str]) -> None:
    """Refuse an unknown mode of conflict detection.

    Raises:
        InvalidInputError: it is none of ours.
    """
    mode = values.get(CONFLICT_DETECTION)
    if mode is not None and mode.lower() not in _MODES:
        raise InvalidInputError(
            f"The table property {CONFLICT_DETECTION} is {mode!r};"
            f" it can be {' or '.join(_MODES)}.",
            property=CONFLICT_DETECTION,
            value=mode,
        )
