"""Transactions, time travel and rollback for a whole lakehouse of Delta tables, inside Spark.

``import trinitylake_spark as tl`` is quick and needs no Java: a name is loaded when it is used.

* with Spark: ``session``, ``configure``, ``transaction``, ``run_transaction``
* without Spark: ``Lakehouse``
* errors: ``trinitylake_spark.errors``
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trinitylake_spark.api import Lakehouse
    from trinitylake_spark.spark.session import configure, session
    from trinitylake_spark.spark.transaction import run_transaction, transaction

__all__ = ["Lakehouse", "configure", "run_transaction", "session", "transaction"]

_HOMES = {
    "Lakehouse": "trinitylake_spark.api",
    "configure": "trinitylake_spark.spark.session",
    "run_transaction": "trinitylake_spark.spark.transaction",
    "session": "trinitylake_spark.spark.session",
    "transaction": "trinitylake_spark.spark.transaction",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
