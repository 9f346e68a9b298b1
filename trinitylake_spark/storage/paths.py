"""The shape of a path inside a storage, and of a storage's URL (format.md §2.1)."""

from __future__ import annotations

from trinitylake_spark.errors import InvalidInputError, Kind


def path_problem(path: str) -> str | None:
    """Say what breaks the rules for relative paths, or None for a good path."""
    if not path:
        return "it is empty"
    if path.startswith("/"):
        return "it is absolute"
    if "\x00" in path:
        return "it holds a NUL"
    for segment in path.split("/"):
        if segment in ("", ".", ".."):
            return f"it has the segment {segment!r}"
    return None


def check_path(path: str) -> None:
    """Refuse a path that could leave the root or have two spellings.

    Raises:
        InvalidInputError: kind ``INVALID_ARGUMENT``.
    """
    problem = path_problem(path)
    if problem is not None:
        raise InvalidInputError(
            f"Invalid storage path {path!r}: {problem}. Paths are relative to the root.",
            path=path,
        )


def check_prefix(prefix: str) -> None:
    """Refuse a listing prefix whose folders break the rules; its last part may be anything.

    Raises:
        InvalidInputError: kind ``INVALID_ARGUMENT``.
    """
    folder = prefix.rpartition("/")
    if folder[1]:
        check_path(folder[0])


def check_url_path(url: str, path: str) -> None:
    """Refuse a URL whose path POSIX normalisation would change, like ``s3://b/../f``.

    Args:
        url: the URL as given, for the message.
        path: its path part, with or without the leading and trailing ``/``.

    Raises:
        InvalidInputError: kind ``INVALID_URL``.
    """
    inner = path.removeprefix("/").removesuffix("/")
    problem = path_problem(inner) if inner else None
    if problem is not None:
        raise InvalidInputError(
            f"Invalid root URL {url!r}: {problem}. Write it without '.', '..' and '//'.",
            kind=Kind.INVALID_URL,
            url=url,
        )


def escape(path: str, characters: str) -> str:
    """Spell a path without ``characters``, which a storage forbids or replaces by others.

    They become ``%`` and two hexadecimal digits, and so does ``%`` itself; ``unescape`` undoes it.
    Without characters the path stays as it is.
    """
    for character in f"%{characters}" if characters else "":
        path = path.replace(character, f"%{ord(character):02X}")
    return path


def unescape(path: str, characters: str) -> str:
    """Undo ``escape`` with the same ``characters``."""
    for character in f"{characters}%" if characters else "":
        path = path.replace(f"%{ord(character):02X}", character)
    return path
