"""``trinitylake sql`` and plain ``spark-sql``: a shell whose statements are each their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
import pytest

from trinitylake_spark.lakehouse.lakehouse import Lakehouse

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Result

pytestmark = [pytest.mark.spark, pytest.mark.slow]

QUICK = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "2",
}


def shell(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell to its end."""
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def trinitylake_sql(url: str, script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script through ``trinitylake sql``."""
    (folder / "script.sql").write_text(script, encoding="utf-8")
    settings = [word for key, value in QUICK.items() for word in ("--conf", f"{key}={value}")]
    command = [sys.executable, "-m", "trinitylake_spark.cli", "sql", url, *settings]
    return shell(*command, "-f", "script.sql", cwd=folder)


def test_a_script(url: str, tmp_path: Path) -> None:
    """Each statement sees what the one before did: in a transaction, after it, and in DDL."""
    run = trinitylake_sql(
        url,
        """
        CREATE TABLE sales.orders (id INT, total INT);
        CREATE TABLE sales.lines (id INT, price INT);
        BEGIN COMMENT 'an order';
        INSERT INTO sales.orders VALUES (1, 42);
        INSERT INTO sales.lines VALUES (1, 30), (1, 12);
        SELECT 'inside', count(*) FROM sales.lines;
        COMMIT;
        SELECT 'after', sum(price) FROM sales.lines JOIN sales.orders USING (id);
        ALTER TABLE sales.lines ADD CONSTRAINT paid CHECK (price > 0);
        INSERT INTO sales.lines VALUES (1, 5);
        SELECT 'last', count(*) FROM sales.lines;
        SELECT 'then', count(*) FROM sales.lines VERSION AS OF 6;
        """,
        tmp_path,
    )

    assert run.returncode == 0, run.stderr[-4000:]
    printed = run.stdout.splitlines()
    for line in ("inside\t2", "after\t42", "last\t3", "then\t2"):
        assert line in printed
    assert Lakehouse.open(url).versions(3)[2].message == "an order"


def test_an_error_ends_the_script_and_rolls_back(url: str, tmp_path: Path) -> None:
    """The shell fails, and what it had begun leaves no trace."""
    run = trinitylake_sql(
        url,
        "BEGIN; CREATE TABLE sales.t AS SELECT 1 AS a; SELECT * FROM nowhere; COMMIT;",
        tmp_path,
    )

    assert run.returncode != 0
    assert "TABLE_OR_VIEW_NOT_FOUND" in run.stderr
    assert Lakehouse.open(url).version == 3


def test_plain_spark_sql_with_the_printed_settings(
    run: Callable[..., Result], url: str, tmp_path: Path
) -> None:
    """What ``spark-conf`` prints makes any ``spark-sql`` a shell on the lakehouse."""
    settings = run("spark-conf", url).out
    settings += "".join(f"{key} {value}\n" for key, value in QUICK.items())
    settings += "spark.sql.catalogImplementation in-memory\n"
    (tmp_path / "spark.conf").write_text(settings, encoding="utf-8")
    result = shell(
        str(Path(pyspark.__file__).parent / "bin" / "spark-sql"),
        *("--properties-file", "spark.conf", "-e", "SHOW NAMESPACES IN lake"),
        cwd=tmp_path,
    )

    assert result.returncode == 0, result.stderr[-4000:]
    assert "sales" in result.stdout.split()
