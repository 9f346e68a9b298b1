"""Which names an object may have (format.md §4)."""

from __future__ import annotations

import re

from trinitylake_spark.errors import InvalidInputError, Kind

_FORBIDDEN = re.compile("[\x00-\x20\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PREPARED = re.compile("[A-Za-z0-9._-]{1,64}")


def validate_name(what: str, name: str, max_bytes: int) -> None:
    """Check one name by the rules of format.md §4.

    Args:
        what: what is being named, for the message: ``namespace``, ``table`` or ``view``.
        name: the name as the user gave it; nothing is trimmed or normalised.
        max_bytes: most UTF-8 bytes the lakehouse allows for this kind of object.

    Raises:
        InvalidInputError: kind ``INVALID_NAME``.
    """
    problem = _problem(name, max_bytes)
    if problem is not None:
        raise InvalidInputError(
            f"Invalid {what} name {name!r}: {problem}.",
            kind=Kind.INVALID_NAME,
            what=what,
            name=name,
            max_bytes=max_bytes,
        )


def validate_prepared_name(name: str) -> None:
    """Check the name of a prepared transaction by the rule of format.md §6.7.

    Raises:
        InvalidInputError: kind ``INVALID_NAME``.
    """
    if not _PREPARED.fullmatch(name):
        raise InvalidInputError(
            f"Invalid name {name!r} of a prepared transaction: use 1 to 64 of the letters A-Z and"
            " a-z, digits, '.', '_' and '-'.",
            kind=Kind.INVALID_NAME,
            what="prepared transaction",
            name=name,
        )


def _problem(name: str, max_bytes: int) -> str | None:
    if not name:
        return "it is empty"
    if _SURROGATE.search(name):
        return "it holds a lone surrogate, which is not valid Unicode"
    found = _FORBIDDEN.search(name)
    if found:
        return (
            f"character U+{ord(found.group()):04X} is not allowed"
            " (no control characters and no space)"
        )
    size = len(name.encode())
    if size > max_bytes:
        return f"it has {size} bytes of UTF-8, and this lakehouse allows {max_bytes}"
    return None
