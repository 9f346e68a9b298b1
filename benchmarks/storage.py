"""What a commit costs on local storage, beside other catalogs and beside the bare floor.

    python -m benchmarks.storage [--pairs 40] [--strict]

A commit is a whole transaction of the core, without Spark: find the newest version, read a table's
definition, change a property of it, commit. Both sides make the same promise: where a peer does
not force anything to disk ours does not either, and where it does ours does. Every peer runs in
the same process and takes turns with ours; the figure is the median of the pairwise ratios. Ours
is a lakehouse of 1,000 tables that has seen 10,000 commits. The peers are the extra ``bench``; one
that is not installed is reported as not measured.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import shutil
import sys
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks.bars import Report, take_turns
from benchmarks.lakes import change, definition, load, new_lake, open_lake
from trinitylake_spark.format.definitions_pb2 import ActionType
from trinitylake_spark.format.nodefile import COLUMNS
from trinitylake_spark.format.paths import root_path
from trinitylake_spark.lakehouse.formats import TableChange
from trinitylake_spark.storage.local import LocalStorage

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.lakehouse.lakehouse import Lakehouse

TABLES = 1_000
MANY_TABLES = 10_000
LONG_HISTORY = 10_000
SHORT_HISTORY = 100

_CREATED = TableChange(ActionType.TABLE_CREATE)


class Bench:
    """Everything that is measured, in one folder.

    Args:
        folder: an empty one.
        report: where the figures go.
        pairs: how many pairs of each.
    """

    def __init__(self, folder: Path, report: Report, pairs: int) -> None:
        self._folder = folder
        self._report = report
        self._pairs = pairs
        self._chance = random.Random(7)
        self._plain = self._lake("plain", TABLES)

    def run(self) -> None:
        """Measure everything."""
        lake = self._plain
        self._history(lake)
        self._beside("pyiceberg metadata commit", 0.25, lake, self._pyiceberg)
        self._beside("Icechunk attribute commit", 2, lake, self._icechunk)
        self._beside("the bare floor", 3, lake, self._floor)
        pairs = take_turns(
            lambda n: self._change(lake, 2, n),
            lambda n: self._change(lake, 1, n),
            pairs=4 * self._pairs,
        )
        self._report.pair("two tables / one table", pairs, 1.2)
        many = self._lake("many", MANY_TABLES, fsync=True, one_namespace=True)
        self._beside("DuckLake CREATE TABLE, 10,000 tables", 0.1, many, self._ducklake)
        self._listing(many)

    def _lake(
        self, name: str, tables: int, *, fsync: bool = False, one_namespace: bool = False
    ) -> Lakehouse:
        folder = str(self._folder / name)
        lake = new_lake(LocalStorage(folder, fsync=False))
        if one_namespace:
            with lake.transaction() as transaction:
                transaction.create_namespace("all")
                for number in range(tables):
                    transaction.bind_table("all", f"t{number:05d}", definition(0), _CREATED)
        else:
            load(lake, tables)
        return open_lake(LocalStorage(folder, fsync=fsync))

    def _change(self, lake: Lakehouse, tables: int, state: int) -> None:
        change(lake, self._chance.sample(range(TABLES), tables), state)

    def _beside(
        self,
        name: str,
        aim: float,
        lake: Lakehouse,
        start: Callable[[], Callable[[int], object]],
    ) -> None:
        """Let one-table commits take turns with what a peer does."""
        try:
            peer = start()
        except ImportError as error:
            self._report.add(f"commit / {name}", None, aim, f"not installed: {error.name}")
            return
        if start == self._ducklake:
            pairs = take_turns(self._create_table(lake), peer, pairs=15, warm_up=3)
        else:
            pairs = take_turns(lambda n: self._change(lake, 1, n), peer, pairs=self._pairs)
        self._report.pair(f"commit / {name}", pairs, aim)

    def _create_table(self, lake: Lakehouse) -> Callable[[int], object]:
        def create(number: int) -> None:
            """Create one more table."""
            with lake.transaction() as transaction:
                transaction.bind_table("all", f"more{number}", definition(0), _CREATED)

        return create

    # --- peers -----------------------------------------------------------------------------------

    def _pyiceberg(self) -> Callable[[int], object]:
        """Set a property of a table; SQLite forces nothing to disk, as pyiceberg's files do."""
        table = self._iceberg_catalog("iceberg").create_table("s.t", _iceberg_schema())

        def commit(number: int) -> None:
            """Set the property."""
            with table.transaction() as transaction:
                transaction.set_properties(state=str(number))

        return commit

    def _iceberg_catalog(self, name: str) -> Any:
        sql = importlib.import_module("pyiceberg.catalog.sql")
        events = importlib.import_module("sqlalchemy.event")
        folder = self._folder / name
        folder.mkdir()
        catalog = sql.SqlCatalog(
            name, uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri()
        )
        events.listen(catalog.engine, "connect", lambda c, _: c.execute("PRAGMA synchronous=OFF"))
        catalog.engine.dispose()
        catalog.create_namespace("s")
        return catalog

    def _icechunk(self) -> Callable[[int], object]:
        """Set an attribute of a group; Icechunk's local storage forces nothing to disk."""
        icechunk = importlib.import_module("icechunk")
        zarr = importlib.import_module("zarr")
        self._report.note(f"Icechunk {icechunk.__version__}")
        storage = icechunk.local_filesystem_storage(str(self._folder / "icechunk"))
        repository = icechunk.Repository.create(storage)

        def commit(number: int) -> None:
            """Set the attribute."""
            session = repository.writable_session("main")
            zarr.open_group(session.store, mode="a").attrs["state"] = number
            session.commit(str(number))

        return commit

    def _ducklake(self) -> Callable[[int], object]:
        """Create a table; DuckDB forces its log to disk, so ours forces everything too."""
        duckdb = importlib.import_module("duckdb")
        extension = importlib.import_module("duckdb_extension_ducklake")
        connection = duckdb.connect()
        path = next(Path(extension.__file__).parent.rglob("*.duckdb_extension"))
        connection.execute(f"LOAD '{path}'")
        folder = self._folder / "ducklake"
        connection.execute(f"ATTACH 'ducklake:{folder}.db' AS lake (DATA_PATH '{folder}')")
        connection.execute("BEGIN")
        for number in range(MANY_TABLES):
            connection.execute(f"CREATE TABLE lake.t{number:05d} (id BIGINT, amount DOUBLE)")
        connection.execute("COMMIT")

        def commit(number: int) -> None:
            """Create one more table."""
            connection.execute(f"CREATE TABLE lake.more{number} (id BIGINT, amount DOUBLE)")

        return commit

    def _floor(self) -> Callable[[int], object]:
        """What no catalog of immutable files can do without.

        Read the path (our own root and one of its leaves), change one row, encode both, write
        leaf and definition, and create the root exclusively.
        """
        folder = self._folder / "floor"
        folder.mkdir()
        storage = self._plain.services.storage
        root = self._plain.snapshot().root
        _write_new(folder / "root", storage.read(root_path(root.version)))
        _write_new(folder / "leaf", storage.read(root.node.children[0]))
        paths = {"leaf": folder / "leaf", "root": folder / "root"}
        body = definition(0).SerializeToString()

        def commit(number: int) -> None:
            """Write the next version."""
            (folder / f"root-{number}").exists()
            for name, old in paths.items():
                rows = _decode(old.read_bytes())
                rows["value"][40] = str(uuid.uuid4())
                paths[name] = folder / f"{name}-{number}"
                if name == "leaf":
                    _write_new(folder / f"definition-{number}", body)
                _write_new(paths[name], _encode(rows))

        return commit

    # --- ours beside ours ------------------------------------------------------------------------

    def _history(self, old: Lakehouse) -> None:
        """A commit on a long history beside one on a short one, with the same folders."""
        folder = old.url.removeprefix("file://")
        young_folder = f"{self._folder}/young"
        for number in range(SHORT_HISTORY - old.version % SHORT_HISTORY):
            self._change(old, 1, number)
        shutil.copytree(folder, young_folder)
        for number in range(LONG_HISTORY - old.version):
            self._change(old, 1, number)
        for path in Path(folder).glob("[01]*/**/"):
            (Path(young_folder) / path.relative_to(folder)).mkdir(parents=True, exist_ok=True)
        young = open_lake(LocalStorage(young_folder, fsync=False))
        self._report.note(f"histories: {old.version} and {young.version} versions")
        pairs = take_turns(
            lambda n: self._change(old, 1, n),
            lambda n: self._change(young, 1, n),
            pairs=4 * self._pairs,
        )
        self._report.pair("commit 10,000 / commit 100", pairs, 1.1)

    def _listing(self, lake: Lakehouse) -> None:
        """SHOW TABLES of 10,000 tables; pyiceberg's catalog gets its rows by SQL."""
        names = ("warm", "cold: a new process, nothing cached")
        try:
            catalog = self._iceberg_catalog("listing")
            text = importlib.import_module("sqlalchemy").text
        except ImportError as error:
            for name in names:
                how = f"not installed: {error.name}"
                self._report.add(f"list 10,000 tables / pyiceberg ({name})", None, 0.5, how)
            return
        catalog.create_table("s.t", _iceberg_schema())
        with catalog.engine.begin() as connection:
            connection.execute(
                text(
                    "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name,"
                    " metadata_location, iceberg_type) VALUES ('listing', 's', :name, '', 'TABLE')"
                ),
                [{"name": f"t{number:05d}"} for number in range(1, MANY_TABLES)],
            )
        folder = lake.url.removeprefix("file://")

        def cold(_: int) -> None:
            """List in a lakehouse that was just opened."""
            assert len(open_lake(LocalStorage(folder)).tables("all")) >= MANY_TABLES

        def warm(_: int) -> None:
            """List in the one that is open."""
            assert len(lake.tables("all")) >= MANY_TABLES

        def theirs(_: int) -> None:
            """List in the peer."""
            assert len(catalog.list_tables("s")) == MANY_TABLES

        for name, ours in zip(names, (warm, cold), strict=True):
            pairs = take_turns(ours, theirs, pairs=self._pairs // 2, warm_up=2)
            self._report.pair(f"list 10,000 tables / pyiceberg ({name})", pairs, 0.5)


def _iceberg_schema() -> Any:
    return pa.schema([("id", pa.int64()), ("amount", pa.float64()), ("country", pa.string())])


def _decode(data: bytes) -> dict[str, list[Any]]:
    batch = pa.ipc.open_file(pa.BufferReader(data)).get_batch(0)
    return {name: batch.column(i).to_pylist() for i, name in enumerate(batch.schema.names)}


def _encode(rows: dict[str, list[Any]]) -> bytes:
    batch = pa.RecordBatch.from_pydict(rows, schema=_NODE)
    sink = pa.BufferOutputStream()
    with pa.RecordBatchFileWriter(sink, _NODE) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _write_new(path: Path, data: bytes) -> None:
    """Create a file whole and exclusively: readers see nothing or all of it."""
    temporary = f"{path}.new"
    with open(temporary, "xb", buffering=0) as file:  # noqa: PTH123 - the floor has no pathlib
        file.write(data)
    os.link(temporary, path)
    os.unlink(temporary)  # noqa: PTH108 - same


_NODE = pa.schema([(name, pa.utf8()) for name in COLUMNS])


def main() -> int:
    """Run what the arguments ask for; return the exit code."""
    parser = argparse.ArgumentParser(prog="benchmarks.storage")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--strict", action="store_true", help="a bar missed is a failure")
    parser.add_argument("--folder", help="where the files go; default: the system's for such")
    arguments = parser.parse_args()
    report = Report("one commit on local storage, ratios to peers")
    with tempfile.TemporaryDirectory(prefix="trinitylake-bench-", dir=arguments.folder) as folder:
        Bench(Path(folder), report, arguments.pairs).run()
    return report.finish(strict=arguments.strict)


if __name__ == "__main__":
    sys.exit(main())
