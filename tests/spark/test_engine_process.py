"""The engine process shares the driver's fate, and serves nobody else."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.spark_rows import fails, rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MODULE = "trinitylake_spark.spark.engine"


def engines() -> list[int]:
    """Process ids of the engines that this test's JVM started."""
    jvm = {pid for pid, parent, _ in processes() if parent == os.getpid()}
    jvm |= {pid for pid, parent, _ in processes() if parent in jvm}
    return [pid for pid, parent, line in processes() if parent in jvm and MODULE in line]


def processes() -> list[tuple[int, int, str]]:
    """Process id, parent and command line of every live process."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            found.append((int(folder.name), int(parent), line))
    return found


def kill_the_engine() -> None:
    """Kill -9, and wait until it is gone and the JVM has noticed."""
    (engine,) = engines()
    os.kill(engine, signal.SIGKILL)
    while any(pid == engine for pid, _, _ in processes()):
        time.sleep(0.01)
    time.sleep(0.3)


def test_there_is_one_engine_for_all_sessions(
    spark: SparkSession, new_session: Callable[..., SparkSession], root: str
) -> None:
    """Sessions and catalogs of one JVM share a process, and its secret is on no command line."""
    new_session(root + "-other").sql("SHOW NAMESPACES IN lake")
    spark.sql("SHOW NAMESPACES IN lake")
    (engine,) = engines()
    command = Path(f"/proc/{engine}/cmdline").read_bytes().split(b"\0")
    assert command[1:3] == [b"-P", b"-c"]
    assert command[3].endswith(b'run_module("%s", run_name="__main__")\n' % MODULE.encode())
    assert command[4:] == [b""]


def test_the_engine_dies_between_statements(spark: SparkSession, table: str) -> None:
    """Outside of a transaction the next statement starts another one, and everything is there."""
    spark.sql(f"CREATE TABLE {table} AS SELECT 1 AS a")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (2,)]
    kill_the_engine()
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (2,)]
    spark.sql(f"INSERT INTO {table} VALUES (3)")
    kill_the_engine()
    spark.sql(f"INSERT INTO {table} VALUES (4)")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,), (2,), (3,), (4,)]
    assert len(engines()) == 1


def test_the_engine_dies_inside_a_transaction(spark: SparkSession, table: str) -> None:
    """Every statement says so until the transaction is ended; nothing commits by itself."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    kill_the_engine()
    for _ in range(2):
        with fails("TRINITYLAKE_ENGINE", "58000"):
            spark.sql(f"INSERT INTO {table} VALUES (2)")
    with fails("TRINITYLAKE_ENGINE"):
        spark.sql(f"SELECT * FROM {table}")
    spark.sql("ROLLBACK")
    assert rows(spark, f"SELECT * FROM {table}") == []

    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (3)")
    kill_the_engine()
    with fails("TRINITYLAKE_ENGINE"):
        spark.sql("COMMIT")
    spark.sql(f"INSERT INTO {table} VALUES (4)")
    assert rows(spark, f"SELECT * FROM {table}") == [(4,)]


@pytest.fixture
def engine() -> Any:
    """An engine started by hand: the process, its port and its secret."""
    process = subprocess.Popen(
        [sys.executable, "-m", MODULE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("open sesame\n")
    process.stdin.flush()
    port = int(process.stdout.readline().split(":")[1].strip(" }\n"))
    yield process, port, "open sesame"
    process.stdin.close()
    assert process.wait(10) == 0
    process.stdout.close()


def test_the_end_of_its_input_is_its_end(engine: Any) -> None:
    """However the driver ends, its pipe closes, and no engine is left."""
    process, _, _ = engine
    process.stdin.close()
    assert process.wait(5) == 0


def test_it_listens_on_loopback_only(engine: Any) -> None:
    """The port is bound to 127.0.0.1 and nothing else."""
    process, port, _ = engine
    bound = []
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process.pid}/net/{name}").read_text().splitlines()[1:]:
            address, _, hex_port = line.split()[1].rpartition(":")
            if int(hex_port, 16) == port and line.split()[3] == "0A":
                bound.append(address)
    assert bound == ["0100007F"]


def test_it_refuses_strangers(engine: Any) -> None:
    """A caller without the secret, or with a wrong one, gets no answer and does no harm."""
    process, port, secret = engine
    call = "c\nt\ncall\nsprocedures\ns{}\ne\n"
    for greeting in ("", "A\nwrong\ne\n", f"A\n{secret[:-1]}\ne\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=5) as stranger:
            stranger.sendall((greeting + call).encode())
            answer = b""
            try:
                while part := stranger.recv(4096):
                    answer += part
            except (ConnectionResetError, TimeoutError):
                pass
        assert b"begin" not in answer
    with socket.create_connection(("127.0.0.1", port), timeout=5) as friend:
        friend.sendall((f"A\n{secret}\ne\n" + call).encode())
        reader = friend.makefile()
        assert reader.readline() == "!yv\n"
        assert "rollback_to_version" in reader.readline()
    assert process.poll() is None


def test_the_engine_dies_with_a_resumed_transaction(spark: SparkSession, table: str) -> None:
    """What was done since is lost, and said so; what was prepared is still there."""
    spark.sql(f"CREATE TABLE {table} (a INT)")
    spark.sql("BEGIN")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    spark.sql("PREPARE TRANSACTION 'survivor'")
    kill_the_engine()
    spark.sql("CALL lake.system.resume_transaction('survivor')")
    spark.sql(f"INSERT INTO {table} VALUES (2)")
    kill_the_engine()
    with fails("TRINITYLAKE_ENGINE", "58000"):
        spark.sql("COMMIT")
    assert rows(spark, f"SELECT * FROM {table}") == []
    spark.sql("COMMIT PREPARED 'survivor'")
    assert rows(spark, f"SELECT * FROM {table}") == [(1,)]
