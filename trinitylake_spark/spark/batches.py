"""Which committed entries a batch of a stream cannot follow, told before Delta says it its way.

A stream's sink sees committed numbers and retries under the next one by itself, unless Delta's own
rules forbid it; then Delta ends the query with an error of its own. The same cases are refused
here first, as the conflict that every other writer gets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trinitylake_spark.delta.change import is_identity_update
from trinitylake_spark.errors import CommitConflictError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trinitylake_spark.delta.entry import Entry


def check_batch(mine: Entry, theirs: Iterable[Entry], table: str) -> None:
    """Refuse a batch that cannot follow what was committed while it was computed.

    Args:
        mine: the entry of the batch.
        theirs: the entries committed since, in order.
        table: full name of the table, for the error.

    Raises:
        CommitConflictError: it cannot.
    """
    for their in theirs:
        rule = _rule(mine, their)
        if rule is not None:
            raise CommitConflictError(
                f"A batch of a stream into {table} conflicts with {their.operation}, which was"
                f" committed while the batch was computed: {rule}. Start the query again: it goes"
                " on with this batch.",
                table=table,
                my_operation=mine.operation,
                their_operation=their.operation,
                rule=rule,
            )


def _rule(mine: Entry, their: Entry) -> str | None:
    if their.metadata is not None and not is_identity_update(their):
        return "a batch cannot follow a change of its table's metadata"
    both = _queries(mine) & _queries(their)
    if both:
        return f"both recorded progress of the streaming query {min(both)}"
    if not _is_blind(mine) and not _is_blind(their):
        return "a batch that replaces or reads its table cannot follow a change of the table's rows"
    return None


def _queries(entry: Entry) -> set[str]:
    return {str(txn["appId"]) for txn in entry.of("txn")}


def _is_blind(entry: Entry) -> bool:
    return entry.commit_info.get("isBlindAppend") is True and not entry.removes
