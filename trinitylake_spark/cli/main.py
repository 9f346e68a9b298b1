"""The command group, and how a command ends: 0 done, 1 refused or failed, 2 wrong use."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from trinitylake_spark.cli.output import Output
from trinitylake_spark.errors import TrinityLakeError

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMANDS = {
    "init": "lakehouse",
    "log": "history",
    "show": "history",
    "diff": "history",
    "ls": "lakehouse",
    "tree": "tree",
    "rollback": "history",
    "check": "lakehouse",
    "transactions": "history",
    "set": "lakehouse",
    "doctor": "doctor",
    "spark-conf": "spark",
    "sql": "spark",
}
"""Each command and the module of this package that has it, in the order of the help page."""


class _LazyGroup(click.Group):
    """Imports a command's module when the command is needed, so that ``--help`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table above."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module and return the command that it registered."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"trinitylake_spark.cli.{_COMMANDS[cmd_name]}")
        command: click.Command = getattr(module, cmd_name.replace("-", "_") + "_command")
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="trinitylake-spark")
def cli() -> None:
    """Look at a lakehouse and change it.

    URL is the root: a folder, file:///data/lake, s3://bucket/lake and so on.
    Exit codes: 0 done, 1 refused or failed, 2 wrong use.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Args:
        arguments: what was typed; the process's own arguments if left out.
    """
    typed = sys.argv[1:] if arguments is None else list(arguments)
    try:
        code = cli.main(typed, prog_name="trinitylake", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("Aborted.", err=True)
        sys.exit(1)
    except TrinityLakeError as error:
        Output(as_json="--json" in typed).error(error)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)
