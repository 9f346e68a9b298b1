"""Transactions, conflicts, time travel and rollback over the tree (format.md §6 to §8)."""

from trinitylake_spark.lakehouse.actions import Change
from trinitylake_spark.lakehouse.catalog import TableEntry, ViewEntry
from trinitylake_spark.lakehouse.check import CheckReport
from trinitylake_spark.lakehouse.history import CommitState, CommitStatus, VersionInfo
from trinitylake_spark.lakehouse.lakehouse import Lakehouse
from trinitylake_spark.lakehouse.prepared import PreparedInfo
from trinitylake_spark.lakehouse.snapshot import Snapshot
from trinitylake_spark.lakehouse.transaction import Transaction, TransactionState

__all__ = [
    "Change",
    "CheckReport",
    "CommitState",
    "CommitStatus",
    "Lakehouse",
    "PreparedInfo",
    "Snapshot",
    "TableEntry",
    "Transaction",
    "TransactionState",
    "VersionInfo",
    "ViewEntry",
]
