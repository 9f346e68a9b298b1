"""Which checkpoint belongs to which commit: what this process wrote, and what others left notes of.

Delta writes a checkpoint right after a commit, so the definition that pins the commit cannot name
it; the next definition does. A note beside the checkpoint, named after the commit, lets another
process find it before that. The note's name holds the commit's unique part, so a chain with
another commit of the same number never takes it for its own.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from trinitylake_spark.delta.log import Memory
from trinitylake_spark.delta.names import (
    LOG_FOLDER,
    checkpoint_name,
    checkpoint_note_name,
)
from trinitylake_spark.delta.segment import Checkpoint, ListedFile
from trinitylake_spark.errors import AlreadyExistsError, CorruptError, NotFoundError

if TYPE_CHECKING:
    from trinitylake_spark.delta.segment import Commit, Segment
    from trinitylake_spark.lakehouse.formats import FormatContext

DEFAULT_INTERVAL = 10
"""Delta's own default of ``delta.checkpointInterval``, in commits."""

_ABSENT = "absent"
_OURS = "trinitylake"
_SINGLE = re.compile(r"[0-9]{20}\.checkpoint\.parquet")


class Checkpoints:
    """Checkpoints known to this process. Safe to use from several threads."""

    def __init__(self, capacity: int = 65536) -> None:
        self._known: Memory[Checkpoint | str] = Memory(capacity)

    def record(
        self, context: FormatContext, location: str, commit: Commit, token: str, content: bytes
    ) -> Checkpoint:
        """Take note of a checkpoint that was just written.

        Args:
            context: storage and services.
            location: the table's.
            commit: the commit whose state the checkpoint holds, in the chain of its writer.
            token: name of the view through which it was written.
            content: what Delta wrote to ``_last_checkpoint``.

        Raises:
            CorruptError: the content is not what Delta writes.
        """
        hint = _parse_hint(content)
        now = context.clock.now_millis()
        folder = f"{context.warehouse_path(location)}/{LOG_FOLDER}"
        parts = tuple(
            ListedFile(name, self._size(context, folder, token, name, hint), now)
            for name in _part_names(hint)
        )
        checkpoint = Checkpoint(commit.version, commit.unique, token, parts)
        # Readers of the note look for the files where they are listed, not where the hint says.
        hint.pop("v2Checkpoint", None)
        hint[_OURS] = [token, [list(part) for part in parts]]
        note = f"{folder}/{checkpoint_note_name(commit.version, commit.unique)}"
        try:
            context.warehouse.create(note, json.dumps(hint, separators=(",", ":")).encode())
        except AlreadyExistsError:
            # Another writer of the very same chain was first; both checkpoints hold the same state.
            return self._probe(context, location, commit) or checkpoint
        self._known.put(_key(context, location, commit), checkpoint)
        return checkpoint

    def with_newest(self, context: FormatContext, segment: Segment, interval: int) -> Segment:
        """Return the log with the newest checkpoint that can be found for it cheaply.

        What this process knows costs nothing. Notes of others are looked for once for each commit
        that should have one, and only while the log has more commits after its checkpoint than
        the interval.

        Args:
            context: storage and services.
            segment: a table's log.
            interval: Delta writes a checkpoint at every multiple of this number.
        """
        since = segment.checkpoint.version if segment.checkpoint else -1
        due = [c for c in segment.after(since) if c.version % interval == 0 and c.version > 0]
        for commit in reversed(segment.after(since)):
            known = self._known.get(_key(context, segment.location, commit))
            if isinstance(known, Checkpoint):
                return replace(segment, checkpoint=known)
            if known is None and commit in due and segment.version - since > interval:
                found = self._probe(context, segment.location, commit)
                if found is not None:
                    return replace(segment, checkpoint=found)
        return segment

    def _probe(self, context: FormatContext, location: str, commit: Commit) -> Checkpoint | None:
        note = checkpoint_note_name(commit.version, commit.unique)
        path = f"{context.warehouse_path(location)}/{LOG_FOLDER}/{note}"
        key = _key(context, location, commit)
        try:
            content = context.warehouse.read(path)
        except NotFoundError:
            self._known.put(key, _ABSENT)
            return None
        token, parts = _parse_note(content, path)
        found = Checkpoint(
            commit.version, commit.unique, token, tuple(ListedFile(*part) for part in parts)
        )
        self._known.put(key, found)
        return found

    def _size(
        self, context: FormatContext, folder: str, token: str, name: str, hint: dict[str, Any]
    ) -> int:
        """Return a file's size: from the hint where it says so, else from the file."""
        v2 = hint.get("v2Checkpoint")
        if v2 is not None and "sizeInBytes" in v2:
            return int(v2["sizeInBytes"])
        if _SINGLE.fullmatch(name) and hint.get("sizeInBytes") is not None:
            return int(hint["sizeInBytes"])
        return len(context.warehouse.read(f"{folder}/{checkpoint_name(token, name)}"))


def _key(context: FormatContext, location: str, commit: Commit) -> str:
    return f"{context.resolve(location)}|{commit.version}|{commit.unique}"


def _parse_hint(content: bytes) -> dict[str, Any]:
    try:
        hint = json.loads(content)
        int(hint["version"])
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptError(
            "A checkpoint hint is corrupt: Delta writes a JSON object with a version.",
            rule="_last_checkpoint",
            found=content[:120].decode(errors="replace"),
        ) from error
    # The checksum covers fields that are added or left out here; without one Delta checks nothing.
    hint.pop("checksum", None)
    return dict(hint)


def _parse_note(content: bytes, path: str) -> tuple[str, list[list[Any]]]:
    try:
        token, parts = _parse_hint(content)[_OURS]
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptError(
            f"The checkpoint note {path!r} is corrupt: it does not say which files it is about.",
            path=path,
            rule=f"a note has the field {_OURS!r}: token and files",
            found=content[:120].decode(errors="replace"),
        ) from error
    return token, parts


def _part_names(hint: dict[str, Any]) -> list[str]:
    version = f"{int(hint['version']):020d}"
    v2 = hint.get("v2Checkpoint")
    if v2 is not None:
        return [str(v2["path"]).rpartition("/")[2]]
    parts = hint.get("parts")
    if parts is None:
        return [f"{version}.checkpoint.parquet"]
    return [f"{version}.checkpoint.{i:010d}.{parts:010d}.parquet" for i in range(1, parts + 1)]
