"""The lakehouses that this process has open; sessions on the same root share one."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from trinitylake_spark.delta.log import Memory
from trinitylake_spark.delta.table import read_table
from trinitylake_spark.delta.table_format import DeltaFormat
from trinitylake_spark.errors import AlreadyExistsError, Kind, NotFoundError
from trinitylake_spark.lakehouse.lakehouse import Lakehouse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trinitylake_spark.delta.table import DeltaTable
    from trinitylake_spark.lakehouse.catalog import TableEntry
    from trinitylake_spark.lakehouse.formats import FormatContext

_REMEMBERED_TABLES = 1024
_HADOOP_SCHEMES = {"s3": "s3a", "az": "abfs"}


@dataclass(frozen=True, slots=True)
class Lake:
    """An open lakehouse and what this process knows of its Delta logs.

    Args:
        lakehouse: the lakehouse.
        delta: its table format, with the log files and checkpoints known here.
        known_tables: states of tables by the paths of their definitions, which never change.
    """

    lakehouse: Lakehouse
    delta: DeltaFormat
    known_tables: Memory[DeltaTable] = field(default_factory=lambda: Memory(_REMEMBERED_TABLES))

    @property
    def context(self) -> FormatContext:
        """Warehouse, clock and identifiers."""
        return self.lakehouse.services.format_context

    def table(self, entry: TableEntry) -> DeltaTable:
        """Return the Delta table of an entry, with the newest checkpoint known here."""
        table = self.known_tables.get(entry.path)
        if table is None:
            table = read_table(entry.definition)
            self.known_tables.put(entry.path, table)
        segment = self.delta.checkpoints.with_newest(
            self.context, table.segment, table.checkpoint_interval
        )
        return table.with_segment(segment)

    def hadoop_url(self, location: str) -> str:
        """Return the URL by which Hadoop's file systems know a table's location."""
        scheme, _, rest = self.context.resolve(location).partition("://")
        return f"{_HADOOP_SCHEMES.get(scheme, scheme)}://{rest}"


@dataclass
class Lakes:
    """All open lakehouses. Safe to use from several threads; a slow root delays itself alone."""

    _open: dict[str, Lake] = field(default_factory=dict)
    _opening: WeakValueDictionary[str, threading.Lock] = field(default_factory=WeakValueDictionary)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(
        self,
        root: str,
        warehouse: str | None,
        storage_options: Mapping[str, str],
        *,
        create: bool,
    ) -> Lake:
        """Open a lakehouse, or return it if it is open already.

        Args:
            root: URL of the tree.
            warehouse: URL of the data, or None for the default.
            storage_options: options of the root's storage.
            create: create the lakehouse if there is none; if another job does so first, open it.

        Raises:
            NotFoundError: kind ``LAKEHOUSE_NOT_FOUND``.
            InvalidInputError: a bad URL or option.
        """
        key = json.dumps([root, warehouse, dict(storage_options)], sort_keys=True)
        with self._lock:
            opening = self._opening.setdefault(key, threading.Lock())
        with opening:
            lake = self._open.get(key)
            if lake is None:
                lake = _open(root, warehouse, storage_options, create=create)
                self._open[key] = lake
            return lake


def _open(
    root: str, warehouse: str | None, storage_options: Mapping[str, str], *, create: bool
) -> Lake:
    delta = DeltaFormat()
    open_it, create_it = (
        partial(make, root, storage_options=storage_options, warehouse=warehouse, formats=[delta])
        for make in (Lakehouse.open, Lakehouse.create)
    )
    try:
        return Lake(open_it(), delta)
    except NotFoundError as missing:
        if missing.kind is not Kind.LAKEHOUSE_NOT_FOUND or not create:
            raise
    try:
        return Lake(create_it(), delta)
    except AlreadyExistsError as taken:
        if taken.kind is not Kind.LAKEHOUSE_ALREADY_EXISTS:
            raise
        return Lake(open_it(), delta)
