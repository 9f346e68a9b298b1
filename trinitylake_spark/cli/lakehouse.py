"""``init``, ``ls``, ``set`` and ``check``: the lakehouse as it is now."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from trinitylake_spark.cli.options import at_arguments, snapshot_of, target_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trinitylake_spark.cli.options import Moment, Target
    from trinitylake_spark.cli.output import Output
    from trinitylake_spark.lakehouse.snapshot import Snapshot


@click.command("init")
@target_arguments
@click.option(
    "--set",
    "fields",
    multiple=True,
    metavar="FIELD=VALUE",
    help="A field of the lakehouse definition (order, node_file_max_size_bytes, …).",
)
def init_command(target: Target, output: Output, fields: tuple[str, ...]) -> None:
    """Create an empty lakehouse at URL."""
    from trinitylake_spark.api import Lakehouse
    from trinitylake_spark.cli.options import pairs

    definition: dict[str, Any] = {**pairs(fields, "--set")}
    lake = Lakehouse.create(
        target.url,
        storage_options=target.storage_options,
        warehouse=target.warehouse,
        **definition,
    )
    output.record({"url": target.url, "version": lake.version})


@click.command("ls")
@target_arguments
@click.argument("namespace", required=False)
@at_arguments
def ls_command(target: Target, output: Output, namespace: str | None, moment: Moment) -> None:
    """List the namespaces, or the tables and views of one NAMESPACE."""
    snapshot = snapshot_of(target.open(), moment)
    if namespace is None:
        names = snapshot.namespaces()
        output.rows(["namespace"], [[name] for name in names])
    else:
        output.rows(["kind", "name", "location"], _objects(snapshot, namespace))


def _objects(snapshot: Snapshot, namespace: str) -> Iterator[list[str]]:
    snapshot.namespace(namespace)  # an unknown one is an error, not an empty list
    for name in snapshot.tables(namespace):
        properties = snapshot.table(namespace, name).definition.format_properties
        yield ["table", name, properties.get("location", "")]
    for name in snapshot.views(namespace):
        yield ["view", name, ""]


@click.command("set")
@target_arguments
@click.argument("key")
@click.argument("value")
def set_command(target: Target, output: Output, key: str, value: str) -> None:
    """Set a field of the lakehouse definition, or a property of one's own."""
    lake = target.open()
    version = lake.set_property(key, value)
    output.record({"version": version if version is not None else lake.version, key: value})


@click.command("check")
@target_arguments
@click.option("--deep", is_flag=True, help="Read every node, definition and table log.")
def check_command(target: Target, output: Output, *, deep: bool) -> int:
    """Check that the lakehouse is sound; exit code 1 if it is not."""
    lake = target.open()
    report = lake.check(deep=deep)
    if output.as_json:
        output.show("", asdict(report))
    elif report.problems:
        columns = ["path", "rule", "found"]
        output.rows(columns, [[each.path, each.rule, each.found] for each in report.problems])
    else:
        output.note(f"Sound: {report.versions} versions, {report.objects} definitions.")
    return 1 if report.problems else 0
