"""Transactions, conflicts, time travel and rollback over the tree (format.md §6 to §8)."""
