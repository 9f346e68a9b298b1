"""The story itself: seven steps on one lakehouse, each number checked against the CSV files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import trinitylake_spark as tl
from examples.flights.data import MISSING, SCHEMAS, Truth, count, rows_of, unpack
from examples.flights.screen import Screen, condition_of

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

CARRIER = "US"
AUDIT = "SELECT count(*), sum(distance) FROM lake.nyc.flights"


@dataclass
class Story:
    """One telling of the story, over one new lakehouse.

    Args:
        screen: where it is told.
        root: URL of the lakehouse's root; nothing must be there yet.
        spark: a session whose catalog ``lake`` is that lakehouse.
        folder: a local folder for the unpacked CSV files.
    """

    screen: Screen
    root: str
    spark: SparkSession
    folder: Path
    truth: Truth = field(default_factory=lambda: count(CARRIER))
    cancelled: int = 0

    def __post_init__(self) -> None:
        """Open the second session, and count the cancelled flights of the others."""
        self.other = self.spark.newSession()
        self.cancelled = sum(
            row["dep_time"] == MISSING and row["carrier"] != CARRIER for row in rows_of("flights")
        )

    def tell(self) -> None:
        """Run all steps in order."""
        self.load()
        self.retire()
        self.fail()
        self.reshape()
        self.travel()
        self.undo()
        self.history()

    def load(self) -> None:
        """Load five tables in one transaction, while another session looks."""
        screen, truth = self.screen, self.truth
        screen.step(
            "Five tables, one transaction",
            "A namespace, five tables, their 367,687 rows and a CHECK constraint.\n"
            "A second session watches.",
        )
        for table, path in unpack(self.folder).items():
            reader = self.spark.read.schema(SCHEMAS[table]).option("nullValue", MISSING)
            reader.csv(str(path), header=True).createOrReplaceTempView(f"{table}_csv")
        self._sql("BEGIN COMMENT 'load the flights of 2013'")
        self._sql("CREATE NAMESPACE lake.nyc")
        for table in SCHEMAS:
            extra = ", 'active' AS status" if table == "planes" else ""
            self._sql(f"CREATE TABLE lake.nyc.{table} AS SELECT *{extra} FROM {table}_csv")
        self._sql("ALTER TABLE lake.nyc.flights ADD CONSTRAINT real_trip CHECK (distance > 0)")
        self._count(self.spark, "this session, before COMMIT", truth.rows)
        look = condition_of(lambda: self.other.sql("SELECT * FROM lake.nyc.flights").collect())
        screen.refused("the other session, before COMMIT", look, "TABLE_OR_VIEW_NOT_FOUND")
        committed = self._sql("COMMIT").first()
        screen.check("version committed", committed["version"], 1)
        self._count(self.other, "the other session, after COMMIT", truth.rows)

    def retire(self) -> None:
        """Change three tables together, from PySpark."""
        screen, truth = self.screen, self.truth
        screen.step(
            f"{truth.name} retires",
            "Its planes, its flights and its own row change together, from PySpark:\n"
            "SQL and Delta's own API in one transaction.",
        )
        from delta.tables import DeltaTable

        only = f"GROUP BY tailnum HAVING min(carrier) = '{CARRIER}' AND max(carrier) = '{CARRIER}'"
        message = f"{truth.name} retires"
        screen.code(
            f"""
            with tl.transaction(spark, catalog="lake", message="{message}") as tx:
                spark.sql("MERGE INTO lake.nyc.planes USING ... UPDATE SET status = 'retired'")
                DeltaTable.forName(spark, "lake.nyc.flights").delete("carrier = '{CARRIER}'")
                spark.sql("UPDATE lake.nyc.airlines SET name = concat(name, ' (retired)') ...")
            """,
            "python",
        )
        with tl.transaction(self.spark, catalog="lake", message=message) as tx:
            self.spark.sql(
                "MERGE INTO lake.nyc.planes AS plane"
                f" USING (SELECT tailnum FROM lake.nyc.flights {only}) AS flown"
                " ON plane.tailnum = flown.tailnum"
                " WHEN MATCHED THEN UPDATE SET status = 'retired'"
            )
            DeltaTable.forName(self.spark, "lake.nyc.flights").delete(f"carrier = '{CARRIER}'")
            self.spark.sql(
                "UPDATE lake.nyc.airlines SET name = concat(name, ' (retired)')"
                f" WHERE carrier = '{CARRIER}'"
            )
            screen.check("flights in the open transaction", self._flights(self.spark), self.left)
            seen = self._flights(self.other)
            screen.check("flights in the other session", seen, truth.rows["flights"])
        screen.check("version committed", tx.version, 2)
        screen.check("flights in the other session", self._flights(self.other), self.left)
        screen.check("planes retired", self._retired(), truth.planes)
        screen.check("the airline", self._airline(), f"{truth.name} (retired)")

    def fail(self) -> None:
        """Break a constraint at the end of a transaction, from spark-sql."""
        screen = self.screen
        screen.step(
            "A bad import from spark-sql",
            "Another process. Its third table breaks the constraint, so the first two never were.",
        )
        script = self.folder / "import.sql"
        script.write_text(
            "BEGIN COMMENT 'a bad import';\n"
            "INSERT INTO lake.nyc.airlines VALUES ('ZZ', 'Zigzag Air');\n"
            "DELETE FROM lake.nyc.airports WHERE faa LIKE 'J%';\n"
            "INSERT INTO lake.nyc.flights (carrier, distance) VALUES ('ZZ', -1);\n"
            "COMMIT;\n",
            encoding="utf-8",
        )
        screen.code(script.read_text(encoding="utf-8"))
        screen.code(f"trinitylake sql {self.root} -f import.sql", "console")
        run = self._shell("sql", self.root, "-f", str(script))
        condition = re.search(r"\[(DELTA_VIOLATE\w+)\]", run.stdout + run.stderr)
        found = condition[1] if condition and run.returncode else run.stderr[-2000:]
        screen.refused("spark-sql ends", found, "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES")
        rows = {**self.truth.rows, "flights": self.left}
        self._count(self.other, "no trace of it", rows)
        screen.check("the latest version is still", self._latest(), 2)

    def reshape(self) -> None:
        """Create, change and drop tables in one transaction."""
        screen, truth = self.screen, self.truth
        screen.step(
            "Tables come and go",
            "Cancelled flights are removed, a summary is computed from what is left,\n"
            "the weather is dropped: DML and DDL in one transaction.",
        )
        self._sql("START TRANSACTION ISOLATION LEVEL SERIALIZABLE COMMENT 'summarise delays'")
        self._sql("DELETE FROM lake.nyc.flights WHERE dep_time IS NULL")
        self._sql(
            "CREATE TABLE lake.nyc.late AS SELECT carrier, count(*) AS flights\n"
            "FROM lake.nyc.flights WHERE dep_delay > 60 GROUP BY carrier"
        )
        self._sql("DROP TABLE lake.nyc.weather")
        self._sql("SHOW TRANSACTION")
        screen.check("version committed", self._sql("COMMIT").first()["version"], 3)
        query = "SELECT * FROM lake.nyc.late ORDER BY flights DESC LIMIT 3"
        late = sorted(((n, c) for c, n in truth.late.items() if c != CARRIER), reverse=True)
        rows = self._sql(query).collect()
        screen.rows(["carrier", "late flights"], rows, [(c, n) for n, c in late[:3]])

    def travel(self) -> None:
        """Ask one question at three versions and at a time."""
        screen, truth = self.screen, self.truth
        screen.step(
            "Time travel", "The same question at three versions, and at a time: rows and miles."
        )
        expected = {
            1: (truth.rows["flights"], truth.miles),
            2: (self.left, truth.miles_without),
            3: (self.left - self.cancelled, self._miles_flown()),
        }
        for version, answer in expected.items():
            rows = self._sql(f"{AUDIT} FOR SYSTEM_VERSION AS OF {version}").collect()
            screen.rows(["flights", "miles"], rows, [answer])
        created = self.spark.sql(
            "SELECT string(created_at) AS at FROM lake.system.versions WHERE version = 2"
        ).first()["at"]
        rows = self._sql(f"{AUDIT} FOR SYSTEM_TIME AS OF '{created}'").collect()
        screen.rows(["flights", "miles"], rows, [expected[2]])
        self._sql("SELECT count(*) FROM lake.nyc.weather VERSION AS OF 2")
        before = self.spark.sql("SELECT count(*) FROM lake.nyc.weather VERSION AS OF 2").first()[0]
        screen.check("the weather, before it was dropped", before, truth.rows["weather"])

    def undo(self) -> None:
        """Roll the whole lakehouse back."""
        screen, truth = self.screen, self.truth
        screen.step(
            "Undo everything",
            "One call rolls the whole lakehouse back to version 1: data and tables.\n"
            "Nothing is rewritten, and history stays: it is version 4.",
        )
        back = self._sql("CALL lake.system.rollback_to_version(1)").first()
        screen.check("new version", back["version"], 4)
        tables = sorted(row["tableName"] for row in self._sql("SHOW TABLES IN lake.nyc").collect())
        screen.check("tables", tables, sorted(SCHEMAS))
        self._count(self.other, "the other session", truth.rows)
        screen.check("planes retired", self._retired(), 0)
        screen.check("the airline", self._airline(), truth.name)
        late = condition_of(lambda: self.spark.sql("SELECT * FROM lake.nyc.late").collect())
        screen.refused("the summary", late, "TABLE_OR_VIEW_NOT_FOUND")

    def history(self) -> None:
        """Print who did what, and check the whole tree."""
        screen = self.screen
        screen.step("Who did what, when, why", "The history is a table like any other.")
        rows = self._sql(
            "SELECT version, date_format(created_at, 'HH:mm:ss') AS at, author, message,\n"
            "       transform(changes, c -> concat_ws(' ', c.operation, c.object, c.name))"
            " AS changes\n"
            "FROM lake.system.versions ORDER BY version"
        ).collect()
        screen.rows(
            ["version", "at", "author", "message", "changes"],
            [(*row[:4], "\n".join(row["changes"])) for row in rows],
        )
        screen.check("versions", [row["version"] for row in rows], [0, 1, 2, 3, 4])
        touched = sorted(change.rpartition(".")[2] for change in rows[2]["changes"])
        screen.check("tables that version 2 changed", touched, ["airlines", "flights", "planes"])
        report = tl.Lakehouse.open(self.root).check(deep=True)
        screen.check("problems that a deep check finds", report.problems, [])

    @property
    def left(self) -> int:
        """Flights without the retired carrier's."""
        return self.truth.rows["flights"] - self.truth.flights

    def _sql(self, statement: str) -> Any:
        self.screen.code(statement)
        return self.spark.sql(statement)

    def _count(self, spark: SparkSession, title: str, expected: dict[str, int]) -> None:
        counts = " UNION ALL ".join(
            f"SELECT '{table}' AS table, count(*) AS rows FROM lake.nyc.{table}"
            for table in SCHEMAS
        )
        rows = {row["table"]: row["rows"] for row in spark.sql(counts).collect()}
        found = [(table, rows[table]) for table in SCHEMAS]
        self.screen.rows([title, "rows"], found, list(expected.items()))

    def _flights(self, spark: SparkSession) -> int:
        return spark.table("lake.nyc.flights").count()

    def _retired(self) -> int:
        return self.other.table("lake.nyc.planes").where("status = 'retired'").count()

    def _airline(self) -> str:
        airlines = self.other.table("lake.nyc.airlines")
        return airlines.where(f"carrier = '{CARRIER}'").first()["name"]

    def _latest(self) -> int:
        return self.other.sql("SELECT max(version) FROM lake.system.versions").first()[0]

    def _miles_flown(self) -> int:
        return sum(
            int(row["distance"])
            for row in rows_of("flights")
            if row["dep_time"] != MISSING and row["carrier"] != CARRIER
        )

    def _shell(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "trinitylake_spark.cli", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=os.environ, timeout=600
        )
