"""Plays Delta: statements on tables of rows through the engine's methods, without a JVM.

Rows are kept in the names of data files, so what a log lists is what a table holds, and nothing but
the log decides it. Every statement does what Delta's command of that name does: it pins a version,
lists and replays the log of its view, and writes one entry of additions and removals, or none if no
row is concerned. UPDATE and DELETE are copy-on-write; each INSERT makes one file a partition.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

from tests.support.bridge import Bridge, BridgeError, Log, altering, creation
from trinitylake_spark.delta.entry import Entry, parse_entry
from trinitylake_spark.delta.names import stored_name
from trinitylake_spark.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tests.support.bridge import Catalog, Statement
    from trinitylake_spark.storage.base import Storage

Row = dict[str, Any]
"""``k`` an integer, ``v`` anything, ``p`` the partition, a string."""

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("k", "integer"), ("v", "string"), ("p", "string"))
    ],
}
SNAPSHOT, SERIALIZABLE = "snapshot", "serializable"
CONFLICTS = frozenset({"COMMIT_CONFLICT", "COMMIT_RETRIES_EXHAUSTED"})
_T = TypeVar("_T")
_names = count(1)


@dataclass(frozen=True)
class Where:
    """A condition: as Delta records it, and as it is evaluated.

    Args:
        text: for the entry's ``predicate``; empty for no WHERE.
        matches: tells whether a row meets it.
    """

    text: str
    matches: Callable[[Row], bool]

    @property
    def sql(self) -> str:
        """As a statement says it."""
        return re.sub(r"#\d+", "", self.text) or "true"


@dataclass(frozen=True)
class Assignment:
    """SET v = …: as a statement says it, and as it is evaluated.

    Args:
        sql: the new value, of a column of strings.
        new: makes the columns that change.
    """

    sql: str
    new: Callable[[Row], Row]

    def __call__(self, before: Row) -> Row:
        """Return the columns that change."""
        return self.new(before)


@dataclass(frozen=True)
class Summed:
    """One row made of all the others.

    Args:
        key: its key.
    """

    key: int

    def __call__(self, rows: list[Row]) -> list[Row]:
        """Return the row."""
        return [row(self.key, sum(one["v"] for one in rows))]


ALL = Where("", lambda _: True)
"""No WHERE at all."""
TRUE = Where("true", lambda _: True)
"""WHERE true."""


def where(**values: Any) -> Where:
    """Columns that equal values."""
    texts = [f"({name}#1 = {_literal(value)})" for name, value in values.items()]
    text = texts[0] if len(texts) == 1 else f"({' AND '.join(texts)})"
    return Where(text, lambda row: all(row[n] == value for n, value in values.items()))


def multiple(of: int) -> Where:
    """Rows whose value is a multiple of a number: a condition that no statistics can exclude."""
    return Where(f"((cast(v#2 as int) % {of}) = 0)", lambda row: int(row["v"]) % of == 0)


class Conflict(Exception):  # noqa: N818 - what happens to transactions, not a failure of a test
    """The engine refused a commit; nothing of it may be visible.

    Args:
        text: the engine's answer.
        fields: what it says to programs.
    """

    def __init__(self, text: str, fields: Mapping[str, Any]) -> None:
        super().__init__(text)
        self.fields = fields


class Tables:
    """One engine's way to a lakehouse: opens sessions, and reads files once.

    Args:
        url: of the lakehouse; it is created if there is none.
        storage: options of its storage.
    """

    def __init__(self, url: str, storage: Mapping[str, str] | None = None) -> None:
        self.url = url
        self.bridge = Bridge()
        self._options = dict(storage or {})
        self._storages: dict[str, Storage] = {}
        self._entries: dict[str, Entry] = {}

    def session(self, **options: Any) -> Session:
        """Open a session; ``options`` as for ``catalog_open``, such as ``isolation``."""
        return Session(self, self.bridge.open(self.url, storage=self._options, **options))

    def entry(self, log: Log, listed: str) -> Entry:
        """Return a listed entry, read where the naming rules put it."""
        name = _physical(listed)
        _, _, rest = log.path.partition("://")
        _, scheme, authority, path = rest.split("/", 3)
        scheme = scheme.replace("s3a", "s3")
        folder = f"file:///{path}" if authority == "-" else f"{scheme}://{authority}/{path}"
        key = f"{folder}/{name}"
        found = self._entries.get(key)
        if found is None:
            storage = self._storages.get(folder)
            if storage is None:
                storage = self._storages[folder] = open_storage(folder, self._options)
            found = self._entries[key] = parse_entry(storage.read(f"_delta_log/{name}"), name)
        return found


@dataclass(frozen=True)
class _Opened:
    """A table as one view shows it.

    Args:
        log: the view.
        next: the number that the next entry gets.
        files: additions of the files that are in the table, by path.
        entries: its log.
    """

    log: Log
    next: int
    files: Mapping[str, Row]
    entries: Sequence[Entry]


class Session:
    """One Spark session.

    Args:
        tables: the engine's way to the lakehouse.
        catalog: the session's catalog.
    """

    def __init__(self, tables: Tables, catalog: Catalog) -> None:
        self.tables = tables
        self.catalog = catalog
        self.meanwhile: Callable[[], object] | None = None
        """Called once, when the next writing statement has read and not yet written."""

    # --- transactions ----------------------------------------------------------------------------

    def begin(self, isolation: str | None = None, **options: Any) -> int:
        """BEGIN; returns the version that the transaction sees."""
        arguments = {"isolation": isolation, **options}
        return int(self.catalog.procedure("begin", **arguments)[0][1])

    def commit(self) -> int | None:
        """COMMIT; returns the version.

        Raises:
            Conflict: it was refused.
        """
        version = _raising(lambda: self.catalog.procedure("commit"))[0][0]
        return None if version is None else int(version)

    def rollback(self) -> None:
        """ROLLBACK."""
        self.catalog.procedure("rollback")

    def refused(self) -> Conflict:
        """COMMIT, which must be refused; return how."""
        try:
            version = self.commit()
        except Conflict as conflict:
            return conflict
        raise AssertionError(f"the commit was to be refused, but it made version {version}")

    # --- statements ------------------------------------------------------------------------------

    def create_namespace(self) -> None:
        """CREATE NAMESPACE ns."""
        self.catalog.create_namespace("ns")

    def create(
        self,
        table: str,
        *rows: Row,
        partitioned: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """CREATE TABLE, and INSERT each row as a file of its own."""
        first = creation(
            schemaString=json.dumps(SCHEMA),
            partitionColumns=["p"] if partitioned else [],
            configuration=dict(properties or {}),
        )
        self._statement().stage(table).write(0, first)
        if rows:
            self._write(
                self._statement(), table, "WRITE", [[row] for row in rows], (), mode="Append"
            )

    def select(self, table: str, condition: Where = ALL, **when: Any) -> list[Row]:
        """SELECT: rows in the order in which the log has them; ``when`` travels in time."""
        return self._select(self._statement(), table, condition, **when)

    def insert(self, table: str, *rows: Row) -> int | None:
        """INSERT INTO … VALUES."""
        return self._write(self._statement(), table, "WRITE", [rows], (), mode="Append")

    def insert_select(
        self, table: str, source: str, compute: Callable[[list[Row]], Iterable[Row]]
    ) -> int | None:
        """INSERT INTO … SELECT … FROM source."""
        statement = self._statement()
        rows = list(compute(self._select(statement, source)))
        return self._write(statement, table, "WRITE", [rows], (), mode="Append")

    def update(self, table: str, condition: Where, change: Callable[[Row], Row]) -> int:
        """UPDATE; returns how many rows it changed. Without one it leaves no entry."""
        return self._change(table, "UPDATE", condition, lambda row: [{**row, **change(row)}])

    def delete(self, table: str, condition: Where) -> int:
        """DELETE; returns how many rows it deleted. Without one it leaves no entry."""
        return self._change(table, "DELETE", condition, lambda _: [])

    def truncate(self, table: str) -> None:
        """TRUNCATE TABLE. Of an empty table it leaves no entry."""
        target = self._load_for_writing(self._statement(), table)
        self._commit(target, "TRUNCATE", [], target.files.values())

    def merge(self, table: str, *rows: Row) -> int:
        """MERGE by ``k``: matched rows get the values, the others are inserted."""
        statement = self._statement()
        target = self._load_for_writing(statement, table)
        files = target.files
        new = {row["k"]: row for row in rows}
        present = {row["k"] for file in files.values() for row in rows_of(file)}
        changed = [
            (file, [new.get(row["k"], row) for row in rows_of(file)])
            for file in files.values()
            if any(row["k"] in new for row in rows_of(file))
        ]
        inserted = [row for key, row in new.items() if key not in present]
        groups = [*(rows for _, rows in changed), inserted]
        self._commit(target, "MERGE", groups, [file for file, _ in changed], predicate="[]")
        return len(rows)

    def overwrite(self, table: str, *rows: Row, partition: str | None = None) -> None:
        """INSERT OVERWRITE, of the whole table or of a partition."""
        statement = self._statement()
        target = self._load_for_writing(statement, table)
        gone = [f for f in target.files.values() if partition is None or _partition(f) == partition]
        only = {} if partition is None else {"predicate": f"(p = '{partition}')"}
        self._commit(target, "WRITE", [rows], gone, mode="Overwrite", **only)

    def overwrite_select(self, table: str, compute: Callable[[list[Row]], Iterable[Row]]) -> None:
        """INSERT OVERWRITE t SELECT … FROM t."""
        statement = self._statement()
        rows = list(compute(self._select(statement, table)))
        target = self._load_for_writing(statement, table)
        self._commit(target, "WRITE", [rows], target.files.values(), mode="Overwrite")

    def compact(self, table: str, condition: Where = ALL, *, major: bool = False) -> None:
        """OPTIMIZE the files that have a matching row, by partition; ``major`` is ZORDER."""
        statement = self._statement()
        statement.load(table, "live")
        target = self._load_for_writing(statement, table)
        groups: dict[str, list[Row]] = defaultdict(list)
        for file in target.files.values():
            if any(condition.matches(row) for row in rows_of(file)):
                groups[_partition(file)].append(file)
        gone = [file for group in groups.values() for file in group]
        rows = [[row for file in group for row in rows_of(file)] for group in groups.values()]
        ordered = {"zOrderBy": '["k"]'} if major else {}
        self._commit(target, "OPTIMIZE", rows, gone, changes_data=False, **ordered)

    def alter(self, table: str, name: str, value: str) -> None:
        """ALTER TABLE … SET TBLPROPERTIES."""
        statement = self._statement()
        statement.load(table, "live")
        target = self._load_for_writing(statement, table)
        self._write_entry(target, altering(target.entries, {name: value}))

    def properties(self, table: str) -> Mapping[str, str]:
        """SHOW TBLPROPERTIES."""
        entries = self._opened(self._statement().load(table, "live")).entries
        found = [entry.metadata for entry in entries if entry.metadata is not None]
        return dict(found[-1]["configuration"])

    # --- parts -----------------------------------------------------------------------------------

    def _statement(self) -> Statement:
        return self.catalog.statement()

    def _select(
        self, statement: Statement, table: str, condition: Where = ALL, **when: Any
    ) -> list[Row]:
        files = self._opened(statement.load(table, **when)).files
        return [row for file in files.values() for row in rows_of(file) if condition.matches(row)]

    def _change(
        self, table: str, operation: str, condition: Where, new: Callable[[Row], list[Row]]
    ) -> int:
        target = self._load_for_writing(self._statement(), table)
        changed, groups, rows = [], [], 0
        for file in target.files.values():
            matching = [row for row in rows_of(file) if condition.matches(row)]
            if matching:
                rows += len(matching)
                changed.append(file)
                groups.append(
                    [
                        after
                        for row in rows_of(file)
                        for after in (new(row) if condition.matches(row) else [row])
                    ]
                )
        predicate = json.dumps([condition.text] if condition.text else [])
        self._commit(target, operation, groups, changed, predicate=predicate)
        return rows

    def _write(
        self,
        statement: Statement,
        table: str,
        operation: str,
        groups: Iterable[Iterable[Row]],
        gone: Iterable[Row],
        **parameters: Any,
    ) -> int | None:
        target = self._load_for_writing(statement, table)
        return self._commit(target, operation, groups, gone, **parameters)

    def _load_for_writing(self, statement: Statement, table: str) -> _Opened:
        return self._opened(statement.load(table, "write"))

    def _commit(
        self,
        target: _Opened,
        operation: str,
        groups: Iterable[Iterable[Row]],
        gone: Iterable[Row],
        *,
        changes_data: bool = True,
        **parameters: Any,
    ) -> int | None:
        """Write one entry; like Delta, none at all if nothing would be in it."""
        partitioned = bool(target.log.answer["partition_columns"])
        files = [
            *(("add", add) for rows in groups for add in _adds(rows, partitioned=partitioned)),
            *(("remove", _remove(file)) for file in gone),
        ]
        if not files:
            return None
        info = {
            "timestamp": 1,
            "operation": operation,
            "operationParameters": parameters,
            "isBlindAppend": operation == "WRITE" and parameters.get("mode") == "Append",
        }
        actions = [(kind, {**body, "dataChange": changes_data}) for kind, body in files]
        return self._write_entry(target, Entry((("commitInfo", info), *actions)))

    def _write_entry(self, target: _Opened, entry: Entry) -> int | None:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return _raising(lambda: target.log.write(target.next, entry))

    def _opened(self, log: Log) -> _Opened:
        """List a log and replay it."""
        live: dict[str, Row] = {}
        listed = [name for name, _, _ in log.list() if name.endswith(".json")]
        entries = [self.tables.entry(log, name) for name in listed]
        for entry in entries:
            for remove in entry.removes:
                live.pop(remove["path"], None)
            live.update((add["path"], add) for add in entry.adds)
        return _Opened(log, len(entries), live, entries)


def row(key: int, value: Any, partition: str = "x") -> Row:
    """A row."""
    return {"k": key, "v": value, "p": partition}


def setting(value: Any) -> Assignment:
    """SET v = value."""
    return Assignment(f"'{value}'", lambda _: {"v": value})


def adding(number: int) -> Assignment:
    """SET v = v + number."""
    return Assignment(
        f"CAST(CAST(v AS INT) + {number} AS STRING)", lambda before: {"v": before["v"] + number}
    )


def values(rows: Iterable[Row]) -> dict[int, Any]:
    """Values by key; a key must not occur twice."""
    listed = [(one["k"], one["v"]) for one in rows]
    found = dict(listed)
    assert len(found) == len(listed), f"a key occurs twice: {listed}"
    return found


def rows_of(file: Row) -> list[Row]:
    """The rows in a file, of an addition or a removal."""
    rows: list[Row] = json.loads(unquote(file["path"].partition("~")[2]))
    return rows


def _adds(rows: Iterable[Row], *, partitioned: bool) -> Iterator[Row]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for one in rows:
        groups[one["p"] if partitioned else ""].append(one)
    for partition, group in groups.items():
        text = quote(json.dumps(group, separators=(",", ":")), safe="")
        yield {
            "path": f"{os.getpid()}-{next(_names)}~{text}",
            "partitionValues": {"p": partition} if partitioned else {},
            "size": 1,
            "modificationTime": 1,
            "stats": json.dumps(_stats(group)),
        }


def _stats(rows: list[Row]) -> Row:
    keys = [one["k"] for one in rows]
    bounds = {"minValues": {"k": min(keys)}, "maxValues": {"k": max(keys)}, "nullCount": {"k": 0}}
    return {"numRecords": len(rows), **bounds}


def _remove(add: Row) -> Row:
    kept = {name: add[name] for name in ("path", "partitionValues", "size", "stats") if name in add}
    return {**kept, "deletionTimestamp": 1, "extendedFileMetadata": True}


def _partition(file: Row) -> str:
    return str(file["partitionValues"].get("p", ""))


def _literal(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def _physical(listed: str) -> str:
    """Where a listed entry is, by the naming rules that executors know."""
    folder, _, name = listed.rpartition("/")
    if not folder:
        return listed
    number, unique, _ = name.split(".")
    return stored_name(int(number), unique)


def _raising(work: Callable[[], _T]) -> _T:
    try:
        return work()
    except BridgeError as error:
        if error.kind in CONFLICTS:
            raise Conflict(str(error), error.fields) from error
        raise
