"""A Spark driver in a process of its own, which runs what it is told on standard input.

Each line in is a JSON list of statements and the number of the session to run them in; each line
out is a JSON object: ``{"ok": rows}`` or ``{"error": condition, "message": text}``. With
``"progress": true`` there is a line before each statement too, so that somebody can choose the
moment to kill this process.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import trinitylake_spark as tl

_OUT = threading.Lock()

# The JVM inherits standard output and may warn there: the answers get a channel of their own.
_ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

# A driver that lives for seconds needs no optimising compiler; without it the JVM reserves little
# for code, too little for hundreds of statements.
_QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -Xshare:auto"


def say(answer: dict[str, Any]) -> None:
    """Write one line, whole."""
    with _OUT:
        _ANSWERS.write(json.dumps(answer, default=str) + "\n")
        _ANSWERS.flush()


def open_session(settings: dict[str, Any]) -> SparkSession:
    """Start Spark with as little as it needs; ``spark`` holds more of Spark's own settings."""
    more = settings.pop("spark", {})
    builder = SparkSession.builder.master("local[2]").appName("driver")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": _QUICK,
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        **more,
    }.items():
        builder = builder.config(key, value)
    return tl.configure(builder, catalog="lake", **settings).getOrCreate()


def run(session: SparkSession, order: dict[str, Any]) -> None:
    """Run one list of statements and answer."""
    rows: list[Any] = []
    try:
        for statement in order["sql"]:
            if order.get("progress"):
                say({"id": order["id"], "at": statement})
            rows = [list(row) for row in session.sql(statement).collect()]
    except PySparkException as error:
        say({"id": order["id"], "error": error.getCondition(), "message": str(error)[:2000]})
    else:
        say({"id": order["id"], "ok": rows})


def main() -> None:
    """Serve until standard input ends."""
    spark = open_session(json.loads(sys.stdin.readline()))
    sessions: dict[int, SparkSession] = {0: spark}
    jvm = spark.sparkContext._jvm
    say({"id": 0, "ok": jvm.java.lang.ProcessHandle.current().pid()})
    with ThreadPoolExecutor(8) as pool:
        for line in sys.stdin:
            order = json.loads(line)
            number = order.get("session", 0)
            if number not in sessions:
                sessions[number] = spark.newSession()
            pool.submit(run, sessions[number], order)


if __name__ == "__main__":
    main()
