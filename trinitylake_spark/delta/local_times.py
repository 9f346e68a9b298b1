"""Tells in UTC the timestamps of a recorded condition, which Spark prints in the session's zone.

The zone is recorded nowhere. But the path of a partition has its time as the session shows it, and
the file's partition values have the same time in UTC, so the files that a statement wrote tell
which instants its condition means.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trinitylake_spark.delta.entry import Entry

_LOCAL = re.compile(r"TIMESTAMP '(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)'", re.ASCII)


def in_utc(condition: str, entry: Entry) -> str:
    """Return a condition with its timestamps in UTC, as far as they are told.

    Args:
        condition: SQL text, of ``entry``.
        entry: what the statement wrote.
    """
    if not _LOCAL.search(condition):
        return condition
    known = dict(_times(entry))
    return _LOCAL.sub(lambda found: f"TIMESTAMP '{known.get(found[1], found[1])}'", condition)


def _times(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield times of the session and of UTC."""
    older = {remove["path"] for remove in entry.removes}
    for add in entry.adds:
        values = add.get("partitionValues") or {}
        if add["path"] in older or not any(values.values()):
            continue
        # A path is encoded as a URL, and its folders' names as Spark encodes them, in one another.
        for folder in unquote(add["path"]).split("/")[:-1]:
            name, _, local = map(unquote, folder.partition("="))
            value = values.get(name)
            if value and value.endswith("Z"):
                yield local, value
