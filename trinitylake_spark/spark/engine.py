"""The engine process: ``python -P -m trinitylake_spark.spark.engine``, started by the JVM.

Its first line of input is a secret; it then listens on loopback, says where on a line of output
(others may have printed before), and serves whoever knows the secret. The end of its input is the
end of the JVM, however that came, and so of this process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, ClassVar, TextIO

from py4j.java_gateway import (
    CallbackServerParameters,
    GatewayParameters,
    JavaGateway,
    server_started,
)

from trinitylake_spark.errors import EngineError, TrinityLakeError
from trinitylake_spark.spark.service import EngineService

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LOOPBACK = "127.0.0.1"


class EntryPoint:
    """What the JVM sees: one method, JSON in, JSON out.

    Args:
        methods: the engine's methods by name; each takes a JSON object and returns JSON.
    """

    def __init__(self, methods: Mapping[str, Callable[[dict[str, object]], object]]) -> None:
        self._methods = methods

    def call(self, method: str, arguments: str) -> str:
        """Run one method.

        Args:
            method: its name.
            arguments: a JSON object.

        Returns:
            ``{"ok": …}`` or ``{"error": {"kind", "sql_state", "message", "fields"}}``; never
            raises, as a Python exception means nothing to the JVM.
        """
        try:
            return json.dumps({"ok": self._methods[method](json.loads(arguments))})
        except TrinityLakeError as error:
            return json.dumps({"error": described(error)}, default=str)
        except Exception as error:  # noqa: BLE001 - the border of the process
            sys.excepthook(type(error), error, error.__traceback__)
            unexpected = EngineError(
                f"The engine failed in '{method}': {type(error).__name__}: {error}. This is a"
                " defect; the log of the driver has the details.",
                method=method,
            )
            return json.dumps({"error": described(unexpected)})

    class Java:
        """The Java interface that py4j shows this object as."""

        implements: ClassVar[list[str]] = ["io.trinitylake.spark.EngineEntryPoint"]


def described(error: TrinityLakeError) -> dict[str, object]:
    """Return an error as the JVM gets it."""
    return {
        "kind": str(error.kind),
        "sql_state": error.sql_state,
        "message": error.message,
        "fields": error.fields,
    }


def serve(source: TextIO, output: TextIO) -> None:
    """Serve until ``source`` ends.

    Args:
        source: its first line is the secret.
        output: gets one line, ``{"port": …}``.
    """
    secret = source.readline().strip()
    listening = threading.Event()

    def heard(**_: object) -> None:
        listening.set()

    server_started.connect(heard)
    gateway = JavaGateway(
        gateway_parameters=GatewayParameters(auth_token=secret),
        callback_server_parameters=CallbackServerParameters(
            address=_LOOPBACK,
            port=0,
            auth_token=secret,
            daemonize=True,
            daemonize_connections=True,
        ),
        python_server_entry_point=EntryPoint(EngineService().methods()),
    )
    port = gateway.get_callback_server().get_listening_port()
    # The port is known before the server listens on it, and the driver calls at once.
    listening.wait()
    output.write(json.dumps({"port": port}) + "\n")
    output.flush()
    # Whatever prints by accident must not look like a second greeting.
    sys.stdout = sys.stderr
    while source.read(4096):
        pass


if __name__ == "__main__":
    # Ctrl-C in a shell reaches every process of it; what it means is the driver's to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(sys.stdin, sys.stdout)
    # Connections still open belong to a JVM that is gone: nothing is worth waiting for.
    os._exit(0)
