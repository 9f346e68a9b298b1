"""Takes back what a failed statement did to the open transaction (format.md §6.2).

A statement may write several log entries, and may fail after one. The transaction then goes back to
where it was before the statement, if nothing came after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trinitylake_spark.lakehouse.pending import Pending
    from trinitylake_spark.lakehouse.transaction import Transaction


class Undo:
    """Savepoints of the statements of one open transaction."""

    def __init__(self) -> None:
        self._last: str | None = None
        """The statement that changed the transaction last."""
        self._savepoint: Pending | None = None
        """What was there before it; None if it can no longer be told apart."""
        self._earlier: set[str] = set()
        """Statements that others have followed."""

    def before(self, statement: str, transaction: Transaction) -> None:
        """Note that a statement is about to change the transaction.

        Args:
            statement: whatever names it.
            transaction: the open transaction.
        """
        if statement == self._last:
            return
        self.followed()
        # Once others came in between, its parts lie apart.
        is_back = statement in self._earlier
        self._last, self._savepoint = statement, None if is_back else transaction.savepoint()

    def followed(self) -> None:
        """Note that something else is about to change the transaction."""
        if self._last is not None:
            self._earlier.add(self._last)
        self._last = self._savepoint = None

    def undo(self, statement: str, transaction: Transaction) -> bool:
        """Take back what a statement did.

        Args:
            statement: the one that failed.
            transaction: the open transaction.

        Returns:
            False if it cannot be done, because other statements have followed.
        """
        if statement == self._last and self._savepoint is not None:
            transaction.rollback_to(self._savepoint)
            self._last = self._savepoint = None
            return True
        return statement != self._last and statement not in self._earlier
