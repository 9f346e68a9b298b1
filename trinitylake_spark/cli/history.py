"""``log``, ``show``, ``diff``, ``rollback``, ``transactions``: what was and is being done."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from trinitylake_spark.cli.options import parse_time, target_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trinitylake_spark.cli.options import Target
    from trinitylake_spark.cli.output import Output
    from trinitylake_spark.lakehouse.actions import Change
    from trinitylake_spark.lakehouse.history import VersionInfo


@click.command("log")
@target_arguments
@click.option("-n", "--limit", type=click.IntRange(min=1), help="The newest N versions only.")
def log_command(target: Target, output: Output, limit: int | None) -> None:
    """Show the versions, newest first: when, who, what."""
    versions = [_facts(info) for info in target.open().versions(limit)]
    if output.as_json:
        output.show("", versions)
        return
    columns = ["version", "created_at", "kind", "author", "message", "changes"]
    output.rows(columns, [[facts[column] for column in columns] for facts in versions])


@click.command("show")
@target_arguments
@click.argument("version", type=click.IntRange(min=0))
def show_command(target: Target, output: Output, version: int) -> None:
    """Show one VERSION: who made it, and everything it changed."""
    from trinitylake_spark.lakehouse.history import describe_version

    lake = target.open()
    facts = _facts(describe_version(lake.at(version=version).root))
    output.record(facts)


@click.command("diff")
@target_arguments
@click.argument("a", type=click.IntRange(min=0))
@click.argument("b", type=click.IntRange(min=0))
def diff_command(target: Target, output: Output, a: int, b: int) -> None:
    """Show which objects differ between versions A and B."""
    from trinitylake_spark.lakehouse.differences import differences

    lake = target.open()
    found = differences(lake.services.nodes, lake.at(version=a), lake.at(version=b))
    rows = [(each.presence.value, each.kind, each.name) for each in found]
    output.rows(["change", "kind", "name"], rows)


@click.command("rollback")
@target_arguments
@click.option("--to-version", type=click.IntRange(min=0), help="The version to go back to.")
@click.option("--to-timestamp", metavar="TIME", help="Or the time, as 2026-11-01T10:00:00+01:00.")
@click.option("--message", default="", help="Why; it is kept in the history.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def rollback_command(
    target: Target,
    output: Output,
    to_version: int | None,
    to_timestamp: str | None,
    message: str,
    *,
    yes: bool,
) -> None:
    """Make a new version whose content is that of an older one. History stays."""
    if (to_version is None) == (to_timestamp is None):
        text = "Give either --to-version or --to-timestamp."
        raise click.UsageError(text)
    lake = target.open()
    time = None if to_timestamp is None else parse_time(to_timestamp)
    goal = lake.at(version=to_version, timestamp=time).version
    previous = lake.version
    if not yes:
        click.confirm(f"Roll {target.url} back from version {previous} to {goal}?", abort=True)
    version = lake.rollback(to_version=goal, message=message)
    output.record({"version": version, "previous_version": previous, "rolled_back_to": goal})


@click.command("transactions")
@target_arguments
def transactions_command(target: Target, output: Output) -> None:
    """Show the prepared transactions, and what became of earlier ones."""
    found = [
        {**asdict(info), "changes": _changes(info.changes)} for info in target.open().transactions()
    ]
    if output.as_json:
        output.show("", found)
        return
    columns = ["name", "state", "version", "author", "message", "expires_at", "changes"]
    output.rows(columns, [[facts[column] for column in columns] for facts in found])


def _changes(changes: Sequence[Change]) -> list[str]:
    return [f"{each.operation} {each.object} {each.name}".rstrip() for each in changes]


def _facts(info: VersionInfo) -> dict[str, Any]:
    """Give a version's facts the names that ``system.versions`` has."""
    return {
        "version": info.version,
        "created_at": info.created_at,
        "time_version": info.time_version,
        "kind": info.kind,
        "transaction_id": info.transaction_id,
        "isolation_level": info.isolation_level,
        "author": info.author,
        "message": info.message,
        "rolled_back_to": info.rolled_back_to,
        "changes": _changes(info.changes),
    }
