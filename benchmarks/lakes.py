"""Lakehouses for benchmarks: many tables that cost nothing but their definition, no Spark."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from trinitylake_spark.format.definitions import new_lakehouse_definition
from trinitylake_spark.format.definitions_pb2 import (
    ActionType,
    Column,
    DataType,
    Schema,
    TableDef,
)
from trinitylake_spark.lakehouse.create import create_lakehouse
from trinitylake_spark.lakehouse.formats import TableChange
from trinitylake_spark.lakehouse.lakehouse import Lakehouse
from trinitylake_spark.lakehouse.services import Services
from trinitylake_spark.storage.base import Storage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from trinitylake_spark.lakehouse.transaction import Transaction

TABLES_IN_NAMESPACE = 100
BATCH = 1_000


class Meter(Storage):
    """Passes every call on; counts objects and bytes.

    Args:
        inner: does the work.
    """

    def __init__(self, inner: Storage) -> None:
        self.inner = inner
        self.url = inner.url
        self.parallel = inner.parallel
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Start counting anew."""
        self.reads = self.puts = self.put_bytes = 0

    def read(self, path: str) -> bytes:
        """Count and pass on."""
        with self._lock:
            self.reads += 1
        return self.inner.read(path)

    def write(self, path: str, data: bytes) -> None:
        """Count and pass on."""
        self._put(data)
        self.inner.write(path, data)

    def write_hint(self, path: str, data: bytes) -> None:
        """Count and pass on."""
        self._put(data)
        self.inner.write_hint(path, data)

    def create(self, path: str, data: bytes) -> None:
        """Count and pass on."""
        self._put(data)
        self.inner.create(path, data)

    def delete(self, path: str) -> None:
        """Pass on."""
        self.inner.delete(path)

    def exists(self, path: str) -> bool:
        """Count and pass on."""
        with self._lock:
            self.reads += 1
        return self.inner.exists(path)

    def list(self, prefix: str = "") -> list[str]:
        """Pass on."""
        return self.inner.list(prefix)

    def _put(self, data: bytes) -> None:
        with self._lock:
            self.puts += 1
            self.put_bytes += len(data)


def new_lake(storage: Storage) -> Lakehouse:
    """Create a lakehouse with the default layout."""
    services = Services(storage)
    create_lakehouse(services, new_lakehouse_definition(), probe=False)
    return Lakehouse(services)


def open_lake(storage: Storage) -> Lakehouse:
    """Open a lakehouse as a new process would, with nothing cached."""
    return Lakehouse(Services(storage))


def place(number: int) -> tuple[str, str]:
    """Return namespace and name of table ``number``."""
    namespace, table = divmod(number, TABLES_IN_NAMESPACE)
    return f"ns{namespace:05d}", f"table_{table:03d}"


def definition(state: int) -> TableDef:
    """Return a table's definition: a few columns, and a property to change."""
    made = TableDef()
    made.CopyFrom(_TEMPLATE)
    made.properties["state"] = str(state)
    return made


def create_tables(transaction: Transaction, numbers: Iterable[int]) -> None:
    """Create tables, and the namespaces that begin with them."""
    for number in numbers:
        namespace, name = place(number)
        if number % TABLES_IN_NAMESPACE == 0:
            transaction.create_namespace(namespace)
        transaction.bind_table(namespace, name, definition(0), TableChange(ActionType.TABLE_CREATE))


def load(lake: Lakehouse, tables: int) -> None:
    """Create tables in transactions of 1,000."""
    for first in range(0, tables, BATCH):
        with lake.transaction() as transaction:
            create_tables(transaction, range(first, min(first + BATCH, tables)))


def change(lake: Lakehouse, numbers: Iterable[int], state: int) -> None:
    """Change a property of some tables in one transaction: read, alter, commit."""
    with lake.transaction() as transaction:
        for number in numbers:
            namespace, name = place(number)
            altered = TableDef()
            altered.CopyFrom(transaction.table(namespace, name, record=False).definition)
            altered.properties["state"] = str(state)
            transaction.change_table(namespace, name, altered, TableChange(ActionType.TABLE_ALTER))


_COLUMNS = {
    "id": DataType.INT8,
    "amount": DataType.FLOAT8,
    "country": DataType.VARCHAR,
    "created": DataType.TIMESTAMPTZ,
}
_TEMPLATE = TableDef(
    table_format="BENCH",
    schema=Schema(
        columns=[
            Column(id=i, name=name, type=kind, nullable=True)
            for i, (name, kind) in enumerate(_COLUMNS.items(), 1)
        ]
    ),
)
