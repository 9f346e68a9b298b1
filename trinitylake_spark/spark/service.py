"""The methods that the bridge calls, by name: JSON objects in, JSON out."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trinitylake_spark.errors import EngineError
from trinitylake_spark.ids import Ids, SystemIds
from trinitylake_spark.lakehouse.edits import RESERVED_NAMESPACE
from trinitylake_spark.spark import procedures, reports
from trinitylake_spark.spark.lakes import Lakes
from trinitylake_spark.spark.logs import Logs
from trinitylake_spark.spark.sessions import Session
from trinitylake_spark.spark.tables import Tables, target_of
from trinitylake_spark.spark.views import Views

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.lakehouse.transaction import Transaction

Arguments = dict[str, Any]
Answer = Any


class EngineService:
    """All that one engine process knows: lakehouses, sessions, views.

    Args:
        ids: makes handles.
    """

    def __init__(self, ids: Ids | None = None) -> None:
        self._ids = ids or SystemIds()
        self._lakes = Lakes()
        self._views = Views()
        self._tables = Tables(self._views)
        self._logs = Logs(self._views)
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()

    def methods(self) -> dict[str, Callable[[Arguments], Answer]]:
        """Return every method by its name."""
        return {
            "catalog_open": self._catalog_open,
            "catalog_close": self._catalog_close,
            "namespaces": self._namespaces,
            "namespace_load": self._namespace_load,
            "namespace_create": self._namespace_create,
            "namespace_alter": self._namespace_alter,
            "namespace_drop": self._namespace_drop,
            "tables": self._list_tables,
            "table_exists": self._table_exists,
            "table_load": self._table_load,
            "tables_open": self._tables_open,
            "table_stage": self._table_stage,
            "table_unstage": self._table_unstage,
            "table_drop": self._table_drop,
            "table_rename": self._table_rename,
            "table_restore_point": self._table_restore_point,
            "log_list": self._log_list,
            "log_resolve": self._log_resolve,
            "log_checksum": self._log_checksum,
            "log_write": self._log_write,
            "log_take_back": self._log_take_back,
            "procedures": lambda _: procedures.describe(),
            "procedure": self._procedure,
            "system_tables": lambda _: {"names": reports.names()},
            "system_table": self._system_table,
        }

    def held(self) -> dict[str, int]:
        """Return how much is kept for sessions and statements, by what it is."""
        with self._lock:
            sessions = list(self._sessions.values())
        return {
            "sessions": len(sessions),
            "statements": sum(session.running_statements for session in sessions),
            "writer_views": self._views.count("w"),
        }

    # --- catalogs --------------------------------------------------------------------------------

    def _catalog_open(self, arguments: Arguments) -> Answer:
        lake = self._lakes.get(
            arguments["root"],
            arguments.get("warehouse"),
            arguments.get("storage") or {},
            create=bool(arguments.get("create")),
        )
        session = Session(
            self._ids.uuid4(),
            lake,
            arguments["catalog"],
            arguments.get("isolation"),
            arguments.get("author") or "",
            fail_fast=bool(arguments.get("fail_fast")),
        )
        with self._lock:
            self._sessions[session.handle] = session
        return {
            "handle": session.handle,
            "warehouse": lake.context.warehouse_url,
            "version": lake.lakehouse.version,
        }

    def _catalog_close(self, arguments: Arguments) -> Answer:
        with self._lock:
            session = self._sessions.pop(arguments["handle"], None)
        if session is not None:
            session.close()
            self._views.forget(session)
        return {}

    def _session(self, arguments: Arguments) -> Session:
        session = self._sessions.get(arguments["handle"])
        if session is None:
            raise EngineError(
                "The engine does not know this catalog's session: it was closed, or the engine"
                " was restarted. Start a new Spark session.",
                handle=arguments["handle"],
            )
        self._views.retire(session.end_statements(arguments.get("ended_statements") or ()))
        return session

    # --- namespaces ------------------------------------------------------------------------------

    def _namespaces(self, arguments: Arguments) -> Answer:
        session = self._session(arguments)
        with session.lock:
            return {"names": session.view_of(arguments.get("statement")).namespaces()}

    def _namespace_load(self, arguments: Arguments) -> Answer:
        session = self._session(arguments)
        with session.lock:
            catalog = session.view_of(arguments.get("statement"))
            return {"properties": dict(catalog.namespace(arguments["namespace"]).properties)}

    def _namespace_create(self, arguments: Arguments) -> Answer:
        properties = arguments.get("properties") or {}
        return self._edit(
            arguments, lambda tx: tx.create_namespace(arguments["namespace"], properties)
        )

    def _namespace_alter(self, arguments: Arguments) -> Answer:
        return self._edit(
            arguments,
            lambda tx: tx.set_namespace_properties(
                arguments["namespace"], arguments.get("set") or {}, arguments.get("unset") or ()
            ),
        )

    def _namespace_drop(self, arguments: Arguments) -> Answer:
        session, name = self._session(arguments), arguments["namespace"]
        with session.lock:
            catalog = session.view_of(arguments.get("statement"))
            if name.casefold() != RESERVED_NAMESPACE and not catalog.has_namespace(name):
                return {"dropped": False}
        cascade = bool(arguments.get("cascade"))
        self._edit(arguments, lambda tx: tx.drop_namespace(name, cascade=cascade))
        return {"dropped": True}

    def _edit(self, arguments: Arguments, work: Callable[[Transaction], None]) -> Answer:
        version = self._session(arguments).edit(arguments.get("statement"), work)
        return {"lake_version": version}

    # --- tables ----------------------------------------------------------------------------------

    def _list_tables(self, arguments: Arguments) -> Answer:
        session = self._session(arguments)
        with session.lock:
            catalog = session.view_of(arguments.get("statement"))
            return {"names": catalog.tables(arguments["namespace"])}

    def _table_exists(self, arguments: Arguments) -> Answer:
        session, (namespace, name) = self._session(arguments), target_of(arguments)
        if namespace.casefold() == RESERVED_NAMESPACE:
            return {"exists": name.lower() in reports.names()}
        with session.lock:
            catalog = session.view_of(arguments.get("statement"))
            return {"exists": catalog.has_table(namespace, name)}

    def _table_load(self, arguments: Arguments) -> Answer:
        return self._tables.load(
            self._session(arguments),
            arguments.get("statement"),
            target_of(arguments),
            arguments.get("mode") or "read",
            version=arguments.get("version"),
            timestamp_micros=arguments.get("timestamp_micros"),
            definition_only=bool(arguments.get("definition_only")),
        )

    def _tables_open(self, arguments: Arguments) -> Answer:
        tables = self._tables.open_all(
            self._session(arguments),
            arguments.get("statement"),
            [(namespace, name) for namespace, name in arguments["tables"]],
            definition_only=bool(arguments.get("definition_only")),
            committed_only=bool(arguments.get("committed_only")),
        )
        return {"tables": tables}

    def _table_stage(self, arguments: Arguments) -> Answer:
        return self._tables.stage(
            self._session(arguments),
            arguments.get("statement"),
            target_of(arguments),
            arguments["mode"],
        )

    def _table_unstage(self, arguments: Arguments) -> Answer:
        self._tables.unstage(arguments["path"])
        return {}

    def _table_drop(self, arguments: Arguments) -> Answer:
        dropped = self._tables.drop(
            self._session(arguments), arguments.get("statement"), target_of(arguments)
        )
        return {"dropped": dropped}

    def _table_rename(self, arguments: Arguments) -> Answer:
        self._tables.rename(
            self._session(arguments),
            arguments.get("statement"),
            target_of(arguments),
            (arguments["to_namespace"], arguments["to_table"]),
        )
        return {}

    def _table_restore_point(self, arguments: Arguments) -> Answer:
        number = self._tables.restore_point(
            self._session(arguments),
            arguments.get("statement"),
            target_of(arguments),
            version=arguments.get("version"),
            timestamp_micros=arguments.get("timestamp_micros"),
        )
        return {"delta_version": number}

    # --- logs ------------------------------------------------------------------------------------

    def _log_list(self, arguments: Arguments) -> Answer:
        return {"files": self._logs.list(arguments["path"], int(arguments.get("from") or 0))}

    def _log_resolve(self, arguments: Arguments) -> Answer:
        write = bool(arguments.get("write"))
        return {"physical": self._logs.resolve(arguments["path"], write=write)}

    def _log_checksum(self, arguments: Arguments) -> Answer:
        return {"derived": self._logs.derive_checksum(arguments["path"])}

    def _log_write(self, arguments: Arguments) -> Answer:
        if arguments.get("content") is not None:
            data = arguments["content"].encode()
        else:
            data = Path(arguments["file"]).read_bytes()
        execution = arguments.get("execution")
        written = self._logs.write(arguments["path"], data, execution)
        return {"lake_version": written.version, "left_out": written.left_out}

    def _log_take_back(self, arguments: Arguments) -> Answer:
        self._logs.take_back(arguments["path"], arguments["execution"])
        return {}

    # --- system ----------------------------------------------------------------------------------

    def _procedure(self, arguments: Arguments) -> Answer:
        return procedures.run(
            self._session(arguments), arguments["name"], arguments.get("arguments") or {}
        )

    def _system_table(self, arguments: Arguments) -> Answer:
        return reports.read(self._session(arguments), arguments["table"], arguments.get("limit"))
