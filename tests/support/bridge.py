"""Plays the JVM: calls the engine's methods as the bridge does, and Delta on top of them.

Everything crosses as JSON, through the same entry point. Files are opened where the engine says or
where the naming rules say, as executors do, and logs are replayed from what was read, so a test
that counts rows here counts what Delta would count.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from trinitylake_spark.delta.entry import Entry, encode_entry, file_key, parse_entry
from trinitylake_spark.spark.engine import EntryPoint
from trinitylake_spark.spark.service import EngineService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_STAGED = re.compile(r"_staged_commits/(\d{20})\.([^.]+)\.json")
_PATH = re.compile(r"trinity://([^/]+)/([^/]+)/([^/]+)/(.*)")
SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "a", "type": "integer", "nullable": True, "metadata": {}},
        {"name": "p", "type": "string", "nullable": True, "metadata": {}},
    ],
}


class BridgeError(Exception):
    """The engine answered with an error.

    Args:
        error: the answer's ``error``.
    """

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['kind']}: {error['message']}")
        self.kind = error["kind"].removeprefix("TRINITYLAKE_")
        self.sql_state = error["sql_state"]
        self.fields = error["fields"]


class Bridge:
    """One engine, as the JVM sees it."""

    def __init__(self) -> None:
        self.service = EngineService()
        self._entry_point = EntryPoint(self.service.methods())
        self.calls: list[str] = []

    def call(self, method: str, **arguments: Any) -> Any:
        """Call a method; both ways as JSON text.

        Raises:
            BridgeError: the engine answered with an error.
        """
        self.calls.append(method)
        answer = json.loads(self._entry_point.call(method, json.dumps(arguments)))
        if "error" in answer:
            raise BridgeError(answer["error"])
        return answer["ok"]

    def open(self, root: Path | str, catalog: str = "lake", **arguments: Any) -> Catalog:
        """Open a catalog over a folder or URL, creating the lakehouse."""
        url = f"file://{root}" if isinstance(root, Path) else root
        opened = self.call(
            "catalog_open", session="s", catalog=catalog, root=url, **{"create": True, **arguments}
        )
        return Catalog(self, opened["handle"])


@dataclass
class Catalog:
    """One catalog of one Spark session."""

    bridge: Bridge
    handle: str
    _statements: count[int] = field(default_factory=lambda: count(1))

    def call(self, method: str, **arguments: Any) -> Any:
        """Call a method for this catalog."""
        return self.bridge.call(method, handle=self.handle, **arguments)

    def procedure(self, name: str, /, **arguments: Any) -> list[list[Any]]:
        """Return the rows of ``CALL system.name(…)``."""
        return self.call("procedure", name=name, arguments=arguments)["rows"]

    def statement(self) -> Statement:
        """Begin a statement; its first call pins its version."""
        return Statement(self, f"{id(self)}-{next(self._statements)}")

    # One-statement shorthands, as somebody would type them.

    def create_namespace(self, name: str = "ns") -> None:
        """CREATE NAMESPACE."""
        self.call("namespace_create", namespace=name, properties={})

    def create(self, name: str, *files: str, **metadata: Any) -> None:
        """CREATE TABLE, or CTAS with files."""
        self.statement().create(name, *files, **metadata)

    def insert(self, name: str, *files: str) -> int | None:
        """INSERT INTO; returns the lake version."""
        return self.statement().insert(name, *files)

    def update(self, name: str, old: str, new: str) -> int | None:
        """UPDATE that rewrites one file."""
        return self.statement().update(name, old, new)

    def files(self, name: str, **when: Any) -> set[str]:
        """SELECT: the files of a table."""
        return self.statement().files(name, **when)


@dataclass
class Statement:
    """One statement of a session."""

    catalog: Catalog
    name: str
    namespace: str = "ns"

    def call(self, method: str, **arguments: Any) -> Any:
        """Call a method for this statement."""
        arguments.setdefault("namespace", self.namespace)
        return self.catalog.call(method, statement=self.name, **arguments)

    def load(self, table: str, mode: str = "read", **when: Any) -> Log:
        """Load a table; the log that Delta then reads."""
        answer = self.call("table_load", table=table, mode=mode, **when)
        return Log(self.catalog.bridge, answer["path"], answer)

    def stage(self, table: str, mode: str = "create") -> Log:
        """Prepare CREATE or REPLACE."""
        answer = self.call("table_stage", table=table, mode=mode)
        return Log(self.catalog.bridge, answer["path"], answer)

    def files(self, table: str, **when: Any) -> set[str]:
        """The files of a table at the statement's version."""
        return self.load(table, **when).files()

    def create(self, table: str, *files: str, mode: str = "create", **metadata: Any) -> None:
        """Write entry 0 through a staged path."""
        self.stage(table, mode).commit(creation(*files, **metadata))

    def insert(self, table: str, *files: str) -> int | None:
        """Append files through the statement's write view."""
        return self.load(table, "write").commit(appending(*files))

    def update(self, table: str, old: str, new: str) -> int | None:
        """Replace a file through the statement's write view."""
        return self.load(table, "write").commit(replacing(old, new))


@dataclass
class Log:
    """A table's log through one view, as Delta uses it."""

    bridge: Bridge
    path: str
    answer: dict[str, Any]

    @property
    def view(self) -> str:
        """The view's name."""
        return _PATH.fullmatch(self.path).group(1)  # type: ignore[union-attr]

    def list(self, first: int = 0) -> list[tuple[str, int, int]]:
        """List the log."""
        files = self.bridge.call("log_list", path=self.path, **{"from": first})["files"]
        return [tuple(row) for row in files]

    def commits(self, first: int = 0) -> dict[int, Path]:
        """The listed commits by number, each where the naming rules put it."""
        return {
            int(Path(name).name[:20]): self.physical(name)
            for name, _, _ in self.list(first)
            if name.endswith(".json")
        }

    def physical(self, name: str) -> Path:
        """Where an executor finds a listed file, by the rules alone."""
        staged = _STAGED.fullmatch(name)
        if staged:
            uuid, _, first = staged.group(2).partition("_")
            number = int(first) if first else int(staged.group(1))
            name = f"_staged_commits/{number:020d}.{uuid}.json"
        _, scheme, authority, path = _PATH.fullmatch(self.path).groups()  # type: ignore[union-attr]
        assert (scheme, authority) == ("file", "-")
        return Path(f"/{path}/_delta_log/{name}")

    def resolve(self, name: str, *, write: bool = False) -> Path | None:
        """Where the engine says that a file of the log folder is."""
        path = f"{self.path}/_delta_log/{name}"
        found = self.bridge.call("log_resolve", path=path, write=write)["physical"]
        return None if found is None else Path(found.removeprefix("file://"))

    def version(self) -> int:
        """The newest commit's number."""
        return max(self.commits())

    def entries(self) -> list[Entry]:
        """Every entry, read from its file."""
        return [
            parse_entry(path.read_bytes(), str(path)) for _, path in sorted(self.commits().items())
        ]

    def files(self) -> set[str]:
        """Replay: the files that are in the table."""
        live: set[str] = set()
        for entry in self.entries():
            live -= {file_key(r) for r in entry.removes}
            live |= {file_key(a) for a in entry.adds}
        return live

    def write(self, number: int, entry: Entry, execution: str | None = None) -> int | None:
        """Write one log entry under a number; returns the lake version."""
        return self.write_file(f"{number:020d}.json", encode_entry(entry), execution)

    def write_file(self, name: str, data: bytes, execution: str | None = None) -> int | None:
        """Write a file of the log through the engine."""
        arguments = {"path": f"{self.path}/_delta_log/{name}", "execution": execution}
        answer = self.bridge.call("log_write", content=data.decode(), overwrite=False, **arguments)
        return answer["lake_version"]

    def take_back(self, execution: str) -> None:
        """Tell the engine that the statement of an execution has failed."""
        path = f"{self.path}/_delta_log/{0:020d}.json"
        self.bridge.call("log_take_back", path=path, execution=execution)

    def commit(self, entry: Entry, execution: str | None = None) -> int | None:
        """Write an entry under the next number, as this view lists it."""
        try:
            number = self.version() + 1
        except BridgeError as error:
            if error.kind != "OBJECT_NOT_FOUND":
                raise
            number = 0
        return self.write(number, entry, execution)

    def checkpoint(self) -> None:
        """Write a checkpoint of the newest commit, as Delta's hook does after a commit."""
        number = self.version()
        name = f"{number:020d}.checkpoint.parquet"
        path = self.physical(f"_checkpoints/{self.view}/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"checkpoint")
        hint = {"version": number, "size": 2, "sizeInBytes": 10, "checksum": "x"}
        self.write_file("_last_checkpoint", json.dumps(hint).encode())


def creation(*files: str, properties: dict[str, str] | None = None, **metadata: Any) -> Entry:
    """Entry 0 of CREATE TABLE or CTAS."""
    body = {
        "id": f"table-{files}",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(SCHEMA),
        "partitionColumns": [],
        "configuration": properties or {},
        "createdTime": 1,
        **metadata,
    }
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    info = {"timestamp": 1, "operation": "CREATE TABLE", "operationParameters": {}}
    return Entry(
        (
            ("commitInfo", info),
            ("metaData", body),
            ("protocol", protocol),
            *(("add", _added(f)) for f in files),
        )
    )


def appending(*files: str) -> Entry:
    """The entry of an INSERT."""
    return _entry("WRITE", [("add", _added(f)) for f in files], blind=True, mode="Append")


def replacing(old: str, new: str) -> Entry:
    """The entry of an UPDATE that rewrites one file."""
    return _entry("UPDATE", [("add", _added(new)), ("remove", _removed(old))])


def compacting(new: str, *old: str) -> Entry:
    """The entry of an OPTIMIZE."""
    actions = [("add", _added(new)), *(("remove", _removed(f)) for f in old)]
    return _entry("OPTIMIZE", [(k, {**b, "dataChange": False}) for k, b in actions])


def deleting(*old: str, predicate: str = "[]") -> Entry:
    """The entry of a DELETE; without a predicate, of one without WHERE."""
    return _entry("DELETE", [("remove", _removed(f)) for f in old], predicate=predicate)


def truncating(*old: str) -> Entry:
    """The entry of a TRUNCATE TABLE."""
    return _entry("TRUNCATE", [("remove", _removed(f)) for f in old])


def overwriting(new: str, *old: str) -> Entry:
    """The entry of an INSERT OVERWRITE."""
    actions = [("add", _added(new)), *(("remove", _removed(f)) for f in old)]
    return _entry("WRITE", actions, mode="Overwrite")


def altering(entries: Iterable[Entry], properties: dict[str, str]) -> Entry:
    """The entry of an ALTER TABLE SET TBLPROPERTIES on a table with a log of these entries."""
    metadata = [entry.metadata for entry in entries if entry.metadata is not None][-1]
    configuration = {**metadata["configuration"], **properties}
    changed = ("metaData", {**metadata, "configuration": configuration})
    return _entry("SET TBLPROPERTIES", [changed], blind=True)


def _entry(
    operation: str, actions: list[tuple[str, Any]], *, blind: bool = False, **parameters: Any
) -> Entry:
    info = {
        "timestamp": 1,
        "operation": operation,
        "operationParameters": parameters,
        "isBlindAppend": blind,
    }
    return Entry((("commitInfo", info), *actions))


def _added(path: str) -> dict[str, Any]:
    return {
        "path": path,
        "partitionValues": {},
        "size": 1,
        "modificationTime": 1,
        "dataChange": True,
    }


def _removed(path: str) -> dict[str, Any]:
    return {
        "path": path,
        "deletionTimestamp": 1,
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": {},
        "size": 1,
    }


def raises_kind(kind: str, work: Callable[[], Any]) -> BridgeError:
    """Run ``work``, which must fail with one kind; return the error."""
    with pytest.raises(BridgeError) as caught:
        work()
    assert caught.value.kind == kind, str(caught.value)
    return caught.value
