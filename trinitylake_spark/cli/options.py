"""Arguments that many commands share, and how they open a lakehouse."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trinitylake_spark.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Callable

    from trinitylake_spark.api import Lakehouse
    from trinitylake_spark.lakehouse.snapshot import Snapshot


@dataclass(frozen=True)
class Target:
    """The lakehouse that a command is about.

    Args:
        url: the root's URL; a plain path is made a ``file://`` URL.
        storage_options: options of the root's storage.
        warehouse: URL of the data, if it is not below the root.
    """

    url: str
    storage_options: dict[str, str]
    warehouse: str | None

    def open(self) -> Lakehouse:
        """Open it."""
        from trinitylake_spark.api import Lakehouse

        return Lakehouse.open(
            self.url, storage_options=self.storage_options, warehouse=self.warehouse
        )


def target_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command URL, storage options, ``--warehouse`` and ``--json``.

    The function gets a ``target`` and an ``output``.
    """

    @functools.wraps(function)
    def command(
        url: str, option: tuple[str, ...], warehouse: str | None, *, json: bool, **rest: Any
    ) -> Any:
        target = target_of(url, option, warehouse)
        return function(target=target, output=Output(as_json=json), **rest)

    for decorate in (
        click.option("--json", is_flag=True, help="Print JSON."),
        click.option("--warehouse", metavar="URL", help="Where the data is, if not below URL."),
        click.option(
            "-o", "--option", multiple=True, metavar="KEY=VALUE", help="An option of the storage."
        ),
        click.argument("url"),
    ):
        command = decorate(command)
    return command


@dataclass(frozen=True)
class Moment:
    """When to look: at most one of the three is given, none means now."""

    version: int | None
    timestamp: str | None
    snapshot: str | None


def at_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--version``, ``--timestamp`` and ``--snapshot``, as one ``moment``."""

    @functools.wraps(function)
    def command(
        version: int | None, timestamp: str | None, snapshot: str | None, **rest: Any
    ) -> Any:
        if sum(value is not None for value in (version, timestamp, snapshot)) > 1:
            message = "Give only one of --version, --timestamp and --snapshot."
            raise click.UsageError(message)
        return function(moment=Moment(version, timestamp, snapshot), **rest)

    for decorate in (
        click.option("--snapshot", metavar="NAME", help="As in this exported snapshot."),
        click.option("--timestamp", metavar="TIME", help="As of 2026-11-01T10:00:00+01:00."),
        click.option("--version", type=click.IntRange(min=0), help="As of this version."),
    ):
        command = decorate(command)
    return command


def snapshot_of(lake: Lakehouse, moment: Moment) -> Snapshot:
    """Return what the lakehouse was at that moment."""
    if moment.version is not None:
        return lake.at(version=moment.version)
    if moment.timestamp is not None:
        return lake.at(timestamp=parse_time(moment.timestamp))
    if moment.snapshot is not None:
        return lake.at(snapshot=moment.snapshot)
    return lake.snapshot()


def parse_time(text: str) -> datetime:
    """Read an ISO 8601 time; without a zone it is local time, as in a shell.

    Raises:
        click.BadParameter: it is none.
    """
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        message = f"'{text}' is not a time such as 2026-11-01T10:00:00+01:00"
        raise click.BadParameter(message) from error


def pairs(items: tuple[str, ...], option: str) -> dict[str, str]:
    """Split ``KEY=VALUE`` arguments.

    Raises:
        click.BadParameter: one has no ``=`` or no key.
    """
    found = {}
    for item in items:
        key, separator, value = item.partition("=")
        if not separator or not key:
            message = f"'{item}' is not KEY=VALUE"
            raise click.BadParameter(message, param_hint=option)
        found[key] = value
    return found


def target_of(url: str, option: tuple[str, ...], warehouse: str | None = None) -> Target:
    """Make a target of what was typed; a plain path is a local folder."""
    full = url if "://" in url else Path(url).resolve().as_uri()
    return Target(full, pairs(option, "--option"), warehouse)
