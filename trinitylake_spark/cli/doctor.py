"""``doctor``: is everything here that a session needs, and does the storage keep its promise?"""

from __future__ import annotations

import platform
from importlib import metadata
from typing import TYPE_CHECKING

import click

from trinitylake_spark.cli.options import Target, target_of
from trinitylake_spark.cli.output import Output
from trinitylake_spark.errors import Kind, TrinityLakeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CLIENTS = {
    "obstore": "s3, gcs, azure",
    "fsspec": "a filesystem of your own",
    "requests": "hdfs",
    "boto3": "dynamodb",
    "redis": "redis",
    "valkey": "redis",
}

Row = tuple[str, bool, str, str]


@click.command("doctor")
@click.argument("url", required=False)
@click.option(
    "-o", "--option", multiple=True, metavar="KEY=VALUE", help="An option of the storage."
)
@click.option("--json", is_flag=True, help="Print JSON.")
def doctor_command(url: str | None, option: tuple[str, ...], *, json: bool) -> int:
    """Check versions, jars and Java; with URL also that its storage creates exclusively.

    Exit code 1 if something that Spark sessions need is wrong.
    """
    output = Output(as_json=json)
    rows = [*_setup(), *_clients()]
    if url is not None:
        rows += _storage(target_of(url, option))
    if json:
        output.show(
            "", [dict(zip(("what", "ok", "found", "fix"), row, strict=True)) for row in rows]
        )
    else:
        output.rows(["", "what", "found", "to do"], [_line(*row) for row in rows])
    return 0 if all(ok for _, ok, _, _ in rows) else 1


def _line(what: str, ok: bool, found: str, fix: str) -> list[str]:
    return ["✓" if ok else "✗", what, found, "" if ok else fix]


def _setup() -> Iterator[Row]:
    from trinitylake_spark.spark.checks import findings

    yield ("trinitylake-spark", True, metadata.version("trinitylake-spark"), "")
    yield ("Python", True, platform.python_version(), "")
    for finding in findings():
        yield (finding.what, finding.ok, finding.found or "missing", finding.fix)


def _clients() -> Iterator[Row]:
    """Clients of storages are optional, so a missing one is no fault."""
    for package, purpose in _CLIENTS.items():
        try:
            found = metadata.version(package)
        except metadata.PackageNotFoundError:
            found = "not installed"
        yield (f"{package} ({purpose})", True, found, "")


def _storage(target: Target) -> Iterator[Row]:
    from trinitylake_spark.ids import SystemIds
    from trinitylake_spark.lakehouse.create import probe_exclusive_create
    from trinitylake_spark.storage.registry import open_storage

    with open_storage(target.url, target.storage_options) as storage:
        yield _attempt("storage answers", storage.list)
        yield _attempt(
            "storage creates exclusively", lambda: probe_exclusive_create(storage, SystemIds())
        )
    yield _attempt("lakehouse", target.open)


def _attempt(what: str, call: Callable[[], object]) -> Row:
    try:
        call()
    except TrinityLakeError as error:
        if error.kind is Kind.LAKEHOUSE_NOT_FOUND:
            return (what, True, "none yet", "")
        return (what, False, str(error.kind), error.message)
    return (what, True, "yes", "")
