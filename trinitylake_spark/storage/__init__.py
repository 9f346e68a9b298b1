"""Storages: five operations and exclusive creation, behind one URL (format.md §1)."""

from __future__ import annotations

from trinitylake_spark.storage.base import Storage
from trinitylake_spark.storage.registry import open_storage

__all__ = ["Storage", "open_storage"]
