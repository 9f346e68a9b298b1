"""The catalogue of anomalies on tables of rows, without Spark."""

from __future__ import annotations

from tests.support.anomalies import Anomalies


class TestHermitage(Anomalies):
    """Sessions of one engine, which Delta's part is played to (``row_tables.py``)."""
