"""Versions of one lakehouse: find the latest, create the next; knows nothing of tables."""
