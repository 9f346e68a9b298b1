"""How results are printed: for a person as tables, with ``--json`` for a program."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType

    from trinitylake_spark.errors import TrinityLakeError


_PIPE_WIDTH = 200


class Output:
    """Where a command prints.

    Args:
        as_json: print one JSON document instead of text.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        # What goes into a file or a pipe is not cut to the width of nobody's terminal.
        width = None if sys.stdout.isatty() else _PIPE_WIDTH
        self._console = Console(highlight=False, width=width)
        self._errors = Console(highlight=False, soft_wrap=True, stderr=True)

    def rows(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Print a result of several rows; in JSON a list of objects."""
        if self.as_json:
            self._json([dict(zip(columns, row, strict=True)) for row in rows])
            return
        table = Table(box=None, header_style="bold", pad_edge=False)
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(_text(value) for value in row))
        self._console.print(table)

    def record(self, record: Mapping[str, Any]) -> None:
        """Print one result with named fields; in JSON an object."""
        if self.as_json:
            self._json(record)
            return
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_column(style="bold")
        table.add_column(overflow="fold")
        for key, value in record.items():
            table.add_row(key.replace("_", " "), _text(value))
        self._console.print(table)

    def show(self, picture: RenderableType, data: object) -> None:
        """Print a picture for a person, or the data it shows as JSON."""
        if self.as_json:
            self._json(data)
        else:
            self._console.print(picture)

    def note(self, text: str) -> None:
        """Print a remark for a person; nothing in JSON."""
        if not self.as_json:
            self._console.print(Text(text, style="dim"))

    def error(self, error: TrinityLakeError) -> None:
        """Print an error to standard error, with its condition."""
        if self.as_json:
            facts = {
                "kind": error.kind,
                "sql_state": error.sql_state,
                "message": error.message,
                "fields": error.fields,
            }
            self._errors.print_json(json.dumps({"error": facts}, default=_plain), indent=None)
            return
        self._errors.print(Text.assemble(("Error ", "bold red"), f"[{error.kind}] {error.message}"))

    def _json(self, data: object) -> None:
        sys.stdout.write(json.dumps(data, default=_plain, indent=2, ensure_ascii=False) + "\n")


def _plain(value: object) -> object:
    """Turn what JSON does not know into what it knows."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)


def _text(value: object) -> Text:
    """Turn a value into a cell, without reading markup in it."""
    if value is None:
        return Text("")
    if isinstance(value, datetime):
        return Text(value.astimezone().isoformat(" ", timespec="milliseconds"))
    if isinstance(value, Mapping):
        return Text("\n".join(f"{key} = {item}" for key, item in value.items()))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Text("\n".join(str(item) for item in value))
    return Text(str(value))
