"""Transactions for the whole lakehouse, inside Spark."""
