"""Names of the files below ``_delta_log``: as Delta sees them and as they are stored.

Commit 0 has Delta's canonical name, for each table has a fresh folder. A later commit is stored
under the number it was first written with and a UUID. Renumbering copies nothing: the *unique*
part of a renumbered commit is ``<uuid>_<first number>``, and whoever opens the seen name
``_staged_commits/<new>.<uuid>_<first>.json`` finds ``_staged_commits/<first>.<uuid>.json`` by that
rule alone, on any machine, without asking anybody.
"""

from __future__ import annotations

import re

LOG_FOLDER = "_delta_log"
STAGED_FOLDER = "_staged_commits"
CHECKPOINT_FOLDER = "_checkpoints"
CHECKSUM_FOLDER = "_crc"
HISTORY_FOLDER = "_history"
LAST_CHECKPOINT = "_last_checkpoint"
CREATION = ""
"""The unique part of commit 0, which has none."""

_COMMIT = re.compile(r"([0-9]{20})\.json")
_CHECKSUM = re.compile(r"([0-9]{20})\.crc")


def commit_number(name: str) -> int | None:
    """Return the version in a canonical commit name such as ``00…07.json``, or None."""
    found = _COMMIT.fullmatch(name)
    return int(found.group(1)) if found else None


def checksum_number(name: str) -> int | None:
    """Return the version in a checksum's name such as ``00…07.crc``, or None."""
    found = _CHECKSUM.fullmatch(name)
    return int(found.group(1)) if found else None


def canonical_name(version: int) -> str:
    """Return Delta's own name of a commit, below the log folder."""
    return f"{version:020d}.json"


def seen_name(version: int, unique: str) -> str:
    """Return the name under which a commit is listed to Delta, below the log folder."""
    if unique == CREATION:
        return canonical_name(version)
    return f"{STAGED_FOLDER}/{version:020d}.{unique}.json"


def stored_name(version: int, unique: str) -> str:
    """Return the name under which a commit is stored, below the log folder."""
    uuid, separator, first = unique.partition("_")
    return seen_name(int(first) if separator else version, uuid)


def renumber(unique: str, old: int, new: int) -> str:
    """Return the unique part of a commit that moves from number ``old`` to ``new``."""
    uuid, separator, first = unique.partition("_")
    first_number = int(first) if separator else old
    return uuid if first_number == new else f"{uuid}_{first_number}"


def checksum_name(version: int, unique: str) -> str:
    """Return where the checksum of a commit is stored: one for each chain that it may end."""
    return f"{CHECKSUM_FOLDER}/{version:020d}.{unique or '0'}.crc"


def checkpoint_name(token: str, name: str) -> str:
    """Return where a file of a checkpoint is stored; ``token`` names the view that wrote it."""
    return f"{CHECKPOINT_FOLDER}/{token}/{name}"


def checkpoint_note_name(version: int, unique: str) -> str:
    """Return where the note is that says which checkpoint belongs to a commit."""
    return f"{CHECKPOINT_FOLDER}/{version:020d}.{unique or '0'}.json"


def history_name(uuid: str) -> str:
    """Return where a sealed part of the history is stored."""
    return f"{HISTORY_FOLDER}/{uuid}.json"
