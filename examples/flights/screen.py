"""What the demonstration looks like: steps, statements, and numbers with their proof."""

from __future__ import annotations

import sys
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_PAGE_WIDTH = 110


class MismatchError(Exception):
    """A number on the screen is not what the CSV files say."""


class Screen:
    """Prints the story; every claim is compared before it is shown.

    Args:
        console: where to print; a terminal as wide as it is if left out.
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False, width=_width())
        self.steps = 0
        self.checked = 0

    def title(self, text: str, subtitle: str) -> None:
        """Open the show."""
        self.console.print(Panel(subtitle, title=f"[bold]{text}", border_style="cyan", padding=1))

    def step(self, title: str, text: str) -> None:
        """Begin a numbered step."""
        self.steps += 1
        self.console.print()
        self.console.rule(f"[bold cyan]{self.steps} · {title}", align="left", style="cyan")
        self.console.print(dedent(text).strip(), style="dim")
        self.console.print()

    def code(self, text: str, language: str = "sql") -> None:
        """Show a statement or a piece of Python as it is run."""
        syntax = Syntax(
            dedent(text).strip(),
            language,
            theme="ansi_dark",
            background_color="default",
            word_wrap=True,
        )
        self.console.print(Padding(syntax, (0, 0, 0, 2)))

    def say(self, text: str) -> None:
        """Remark on what was just seen."""
        self.console.print(f"  [yellow]→[/] {text}")

    def check(self, what: str, shown: Any, expected: Any) -> None:
        """Print a number with its proof.

        Raises:
            MismatchError: it is not what the files say.
        """
        if shown != expected:
            message = f"{what}: the lakehouse says {shown}, the files say {expected}"
            raise MismatchError(message)
        self.checked += 1
        self.console.print(f"  [green]✓[/] {what}: [bold]{readable(shown)}")

    def rows(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        expected: Sequence[Sequence[Any]] | None = None,
    ) -> None:
        """Print a result as a table, each row with its proof.

        Raises:
            MismatchError: the rows are not what the files say.
        """
        wanted = [tuple(row) for row in rows if expected is None] or [
            tuple(row) for row in expected or ()
        ]
        found = [tuple(row) for row in rows]
        if found != wanted:
            message = f"{columns}: the lakehouse says {found}, the files say {wanted}"
            raise MismatchError(message)
        proof = "" if expected is None else "[green]✓"
        table = Table(box=None, header_style="bold", padding=(0, 2))
        table.add_column("")
        for position, column in enumerate(columns):
            numeric = all(isinstance(row[position], int) for row in found)
            table.add_column(column, justify="right" if numeric else "left")
        for row in found:
            table.add_row(proof, *(readable(value) for value in row))
        if expected is not None:
            self.checked += sum(len(row) for row in found)
        self.console.print(table)

    def refused(self, what: str, condition: str | None, expected: str) -> None:
        """Print an error that had to come, by its condition.

        Raises:
            MismatchError: it was another one, or none.
        """
        if condition != expected:
            message = f"{what}: expected {expected}, got {condition}"
            raise MismatchError(message)
        self.checked += 1
        self.console.print(f"  [green]✓[/] {what}: [red]{condition}")


def _width() -> int | None:
    """A page is wide enough for every statement; a terminal is as wide as it is."""
    return None if sys.stdout.isatty() else _PAGE_WIDTH


def readable(value: Any) -> str:
    """Write numbers with separators, everything else as it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def condition_of(action: Callable[[], Any]) -> str | None:
    """Run something that must fail, and return its error condition; None if it worked."""
    from pyspark.errors import PySparkException

    try:
        action()
    except PySparkException as error:
        return error.getCondition()
    return None
