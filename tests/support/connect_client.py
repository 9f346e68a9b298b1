"""A program of a Spark Connect client, without a JVM: prints what it sees as lines of JSON."""

from __future__ import annotations

import json
import sys

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def main(url: str, root: str) -> None:
    """Run the program.

    Args:
        url: of the Connect server.
        root: of the lakehouse.
    """
    mine, theirs = _session(url, root), _session(url, root)
    mine.sql("CREATE NAMESPACE lake.remote")
    mine.sql("CREATE TABLE lake.remote.t (id INT, value INT)")
    mine.sql("CREATE TABLE lake.remote.u (id INT, value INT)")
    mine.sql("INSERT INTO lake.remote.t VALUES (1, 10)")
    found = mine.table("lake.remote.t").filter("id > 0")
    found.createOrReplaceTempView("found")
    _say("made", found.count())
    theirs.sql("INSERT INTO lake.remote.t VALUES (2, 20)")
    _say("followed", found.count(), mine.table("found").count())
    mine.sql("BEGIN ISOLATION LEVEL SERIALIZABLE")
    theirs.sql("INSERT INTO lake.remote.t VALUES (3, 30)")
    mine.sql("INSERT INTO lake.remote.t VALUES (9, 90)")
    _say("inside", found.count(), mine.table("found").count())
    found.writeTo("lake.remote.u").append()
    try:
        mine.sql("COMMIT")
    except PySparkException as refused:
        _say("refused", refused.getCondition())
    _say("after", found.count(), mine.table("lake.remote.u").count())
    mine.sql("BEGIN")
    mine.sql("DELETE FROM lake.remote.t WHERE id = 1")
    _say("deleted", found.count(), theirs.table("lake.remote.t").count())
    mine.sql("COMMIT")
    _say("committed", theirs.table("lake.remote.t").count())


def _session(url: str, root: str) -> SparkSession:
    spark = SparkSession.builder.remote(url).create()
    spark.conf.set("spark.sql.catalog.lake", "io.trinitylake.spark.TrinityLakeCatalog")
    spark.conf.set("spark.sql.catalog.lake.root", root)
    spark.conf.set("spark.sql.catalog.lake.create", "true")
    return spark


def _say(what: str, *facts: object) -> None:
    sys.stdout.write(json.dumps([what, *facts]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
