"""Lakehouses for tests: in memory, deterministic, with a storage that can be watched or broken."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from tests.support.list_table import ListFormat
from trinitylake_spark.clock import Clock, ManualClock
from trinitylake_spark.format.definitions import new_lakehouse_definition
from trinitylake_spark.ids import Ids, SeededIds
from trinitylake_spark.lakehouse.create import create_lakehouse
from trinitylake_spark.lakehouse.lakehouse import Lakehouse
from trinitylake_spark.lakehouse.services import Services
from trinitylake_spark.lakehouse.turns import NoTurns
from trinitylake_spark.storage.memory import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trinitylake_spark.storage.base import Storage


def memory(name: str) -> MemoryStorage:
    """Return an empty storage in memory."""
    storage = MemoryStorage(f"memory://{name}")
    storage.clear()
    return storage


def open_lake(
    storage: Storage,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
    **settings: Any,
) -> Lakehouse:
    """Open a lakehouse as another process would: no cache is shared, no turns are taken."""
    settings.setdefault("formats", [ListFormat()])
    settings.setdefault("turns", NoTurns())
    settings.setdefault("warehouse", MemoryStorage(f"{storage.url}data"))
    services = Services(storage, clock=clock or ManualClock(), ids=ids or SeededIds(1), **settings)
    return Lakehouse(services)


def new_lake(
    storage: Storage,
    *,
    clock: Clock | None = None,
    ids: Ids | None = None,
    definition: dict[str, Any] | None = None,
    tables: Iterable[str] = (),
    **settings: Any,
) -> Lakehouse:
    """Create a lakehouse; with ``tables`` version 1 has them, empty, in namespace ``s``."""
    lake = open_lake(storage, clock=clock, ids=ids, **settings)
    create_lakehouse(lake.services, new_lakehouse_definition(**(definition or {})), probe=False)
    if tables:
        with lake.transaction() as tx:
            tx.create_namespace("s")
            for name in tables:
                tx.create_table("s", name, schema=None)
    return lake


_seeds = count(2)


def other(lake: Lakehouse, **settings: Any) -> Lakehouse:
    """Open the same lakehouse again, as another process would."""
    services = lake.services
    settings.setdefault("warehouse", services.warehouse)
    return open_lake(
        settings.pop("storage", services.storage),
        clock=services.clock,
        ids=SeededIds(next(_seeds)),
        **settings,
    )
