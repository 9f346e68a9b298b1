"""The plain ``spark-sql`` shell with the printed settings, and nothing more."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pyspark
import pytest

import trinitylake_spark
from trinitylake_spark.spark.settings import catalog_settings, session_settings

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCRIPT = """
CREATE NAMESPACE lake.sh;
CREATE TABLE lake.sh.a (x INT);
CREATE TABLE lake.sh.b (x INT);
-- a transaction over two tables
BEGIN TRANSACTION COMMENT 'from; the shell';
INSERT INTO lake.sh.a VALUES (1);
INSERT INTO lake.sh.b SELECT x + 1 FROM lake.sh.a;
COMMIT;
BEGIN;
INSERT INTO lake.sh.a VALUES (99);
SHOW TRANSACTION;
ROLLBACK;
SELECT 'rows', a.x, b.x FROM lake.sh.a a CROSS JOIN lake.sh.b b;
SELECT 'message', message FROM lake.system.versions ORDER BY version DESC LIMIT 1;
"""


def environment(home: Path, *folders: Path) -> dict[str, str]:
    """The environment of a shell; the package may be a checkout that is not installed.

    Args:
        home: Spark's home.
        folders: more folders for Python to find modules in.
    """
    package = Path(trinitylake_spark.__file__).parents[1]
    return {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": os.pathsep.join(map(str, (*folders, package))),
    }


def shell(folder: Path, script: str, *python_folders: Path) -> Any:
    """Run a script in spark-sql."""
    home = Path(pyspark.__file__).parent
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.catalogImplementation": "in-memory",
        **session_settings(),
        **catalog_settings("lake", (folder / "lake").as_uri(), create=True),
    }
    command = [str(home / "bin" / "spark-sql"), "--master", "local[2]"]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    (folder / "script.sql").write_text(script)
    return subprocess.run(
        [*command, "-f", str(folder / "script.sql")],
        env=environment(home, *python_folders),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_transactions_in_the_shell(tmp_path: Path) -> None:
    """BEGIN, COMMIT, ROLLBACK and SHOW TRANSACTION work as statements of the shell."""
    result = shell(tmp_path, SCRIPT)
    assert result.returncode == 0, result.stderr[-3000:]
    lines = result.stdout.splitlines()
    assert "rows\t1\t2" in lines
    assert "message\tfrom; the shell" in lines


def test_a_failing_script_leaves_no_trace(tmp_path: Path) -> None:
    """The shell ends at the error, the session with it, and so the transaction is rolled back."""
    failing = SCRIPT + "BEGIN;\nINSERT INTO lake.sh.a VALUES (7);\nSELECT nonsense;\nCOMMIT;\n"
    assert shell(tmp_path, failing).returncode != 0
    result = shell(tmp_path, "SELECT 'sum', sum(x) FROM lake.sh.a;")
    assert result.returncode == 0, result.stderr[-3000:]
    assert "sum\t1" in result.stdout.splitlines()


def test_modules_that_lie_about(tmp_path: Path) -> None:
    """The engine imports none of the working directory, and may follow what others print."""
    (tmp_path / "random.py").write_text("raise SystemExit('not the random of Python')")
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("print('activated')\nprint('half a line', end='')\n")
    result = shell(tmp_path, "CREATE NAMESPACE lake.n; SELECT 'fine';", site)
    assert result.returncode == 0, result.stderr[-3000:]
    assert "fine" in result.stdout.splitlines()


def test_setup_mistakes_are_named(tmp_path: Path) -> None:
    """Without the extension, the first statement on the catalog says what is missing."""
    home = Path(pyspark.__file__).parent
    settings = {
        **session_settings(),
        **catalog_settings("lake", (tmp_path / "lake").as_uri(), create=True),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalogImplementation": "in-memory",
    }
    command = [str(home / "bin" / "spark-sql"), "--master", "local[1]"]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    result = subprocess.run(
        [*command, "-e", "SHOW NAMESPACES IN lake"],
        env=environment(home),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode != 0
    assert "TRINITYLAKE_SETUP" in result.stderr + result.stdout
    assert "io.trinitylake.spark.TrinityLakeSparkExtension" in result.stderr + result.stdout
