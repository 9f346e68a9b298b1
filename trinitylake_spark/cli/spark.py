"""``spark-conf`` and ``sql``: two ways from the command line into Spark."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trinitylake_spark.cli.options import target_arguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.cli.options import Target
    from trinitylake_spark.cli.output import Output


def _catalog_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in (
        click.option("--create", is_flag=True, help="Create the lakehouse if there is none."),
        click.option(
            "--isolation-level",
            type=click.Choice(["snapshot", "serializable"]),
            help="Default of the session's transactions.",
        ),
        click.option("--catalog", default="lake", show_default=True, help="Its name in SQL."),
    ):
        function = decorate(function)
    return function


@click.command("spark-conf")
@target_arguments
@click.option(
    "--format",
    "form",
    type=click.Choice(["conf", "args"]),
    default="conf",
    show_default=True,
    help="Lines for spark-defaults.conf, or --conf arguments for spark-submit.",
)
@_catalog_arguments
def spark_conf_command(
    target: Target,
    output: Output,
    catalog: str,
    isolation_level: str | None,
    form: str,
    *,
    create: bool,
) -> None:
    """Print the Spark settings that put the lakehouse at URL into any Spark session."""
    settings = _settings(target, catalog, isolation_level, create=create)
    if output.as_json:
        output.show("", settings)
        return
    for key, value in settings.items():
        click.echo(f"--conf {_quoted(f'{key}={value}')}" if form == "args" else f"{key} {value}")


@click.command("sql", context_settings={"ignore_unknown_options": True})
@target_arguments
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@_catalog_arguments
def sql_command(
    target: Target,
    output: Output,
    catalog: str,
    isolation_level: str | None,
    arguments: tuple[str, ...],
    *,
    create: bool,
) -> None:
    """Open a spark-sql shell on the lakehouse at URL.

    ARGUMENTS go to spark-sql: -e "SELECT 1", -f script.sql, --master local[4], --conf key=value.
    """
    del output
    from trinitylake_spark.spark.checks import require

    require({})
    settings = _settings(target, catalog, isolation_level, create=create)
    settings["spark.sql.defaultCatalog"] = catalog
    settings["spark.sql.catalogImplementation"] = "in-memory"
    home = _spark_home()
    command = [str(home / "bin" / "spark-sql")]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    environment = {
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        **os.environ,
    }
    os.execve(command[0], [*command, *arguments], environment)  # noqa: S606 - Spark's own shell


def _settings(
    target: Target, catalog: str, isolation_level: str | None, *, create: bool
) -> dict[str, str]:
    from trinitylake_spark.spark.settings import catalog_settings, session_settings

    return {
        **session_settings(),
        **catalog_settings(
            catalog,
            target.url,
            warehouse=target.warehouse,
            storage_options=target.storage_options,
            isolation_level=isolation_level,
            create=create,
        ),
    }


def _spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)
