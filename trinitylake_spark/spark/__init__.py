"""Spark: sessions and transactions for users, the engine process for the bridge."""
