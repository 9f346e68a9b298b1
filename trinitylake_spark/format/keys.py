"""Keys of the tree: a type id and space-padded names (format.md §4).

Keys are ``str``. Their order is the byte order of their UTF-8 form, which for valid Unicode is
Python's own order of ``str``, so keys compare, sort and bisect as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from trinitylake_spark.errors import CorruptError
from trinitylake_spark.format.names import validate_name

if TYPE_CHECKING:
    from collections.abc import Mapping

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_TYPE_ID_SIZE = 4
_MAX_TYPE_ID = 64**_TYPE_ID_SIZE - 1


class ObjectType(IntEnum):
    """Objects that have a key in the tree; the numbers are the type ids of format.md §4."""

    NAMESPACE = 1
    TABLE = 2
    VIEW = 3


@dataclass(frozen=True, slots=True)
class NameSizes:
    """Bytes of each name field of a key, from the lakehouse definition."""

    namespace: int = 100
    table: int = 100
    view: int = 100


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """A key, taken apart. ``name`` is None for a namespace."""

    type: ObjectType
    namespace: str
    name: str | None


def encode_type_id(number: int) -> str:
    """Return the four characters of a type id: base 64, most significant first, ``=`` to the right.

    Args:
        number: 0 to 64^4 - 1.
    """
    if not 0 <= number <= _MAX_TYPE_ID:
        raise ValueError(f"type id {number} does not fit four base-64 digits")
    digits = _ALPHABET[number % 64]
    while number >= 64:  # noqa: PLR2004 - the base
        number //= 64
        digits = _ALPHABET[number % 64] + digits
    return digits.ljust(_TYPE_ID_SIZE, "=")


_TYPE_IDS: Mapping[ObjectType, str] = {t: encode_type_id(t) for t in ObjectType}
_TYPES: Mapping[str, ObjectType] = {text: t for t, text in _TYPE_IDS.items()}


def prefix_end(prefix: str) -> str:
    """Return the least string above every string that starts with ``prefix``: an exclusive bound.

    Args:
        prefix: not empty, and not ending in U+10FFFF (key prefixes end in ``=`` or a space or a
            character of a name).
    """
    head, last = prefix[:-1], ord(prefix[-1])
    if last == 0x10FFFF:  # noqa: PLR2004 - the last code point
        return prefix_end(head)
    following = last + 1
    # Lone surrogates have no UTF-8 form; the next character is the one after that gap.
    return head + chr(0xE000 if following == 0xD800 else following)  # noqa: PLR2004


class KeyCodec:
    """Builds and takes apart keys for one set of name sizes.

    Args:
        sizes: from the definition that the root in use names.
    """

    def __init__(self, sizes: NameSizes) -> None:
        self.sizes = sizes
        self._name_size = {ObjectType.TABLE: sizes.table, ObjectType.VIEW: sizes.view}

    def namespace_key(self, namespace: str) -> str:
        """Return the key of a namespace.

        Raises:
            InvalidInputError: kind ``INVALID_NAME``.
        """
        return _TYPE_IDS[ObjectType.NAMESPACE] + self._namespace_field(namespace)

    def table_key(self, namespace: str, table: str) -> str:
        """Return the key of a table.

        Raises:
            InvalidInputError: kind ``INVALID_NAME``.
        """
        return self.tables_prefix(namespace) + _field("table", table, self.sizes.table)

    def view_key(self, namespace: str, view: str) -> str:
        """Return the key of a view.

        Raises:
            InvalidInputError: kind ``INVALID_NAME``.
        """
        return self.views_prefix(namespace) + _field("view", view, self.sizes.view)

    def key(self, target: ObjectKey) -> str:
        """Return the key of what ``decode`` returns.

        Raises:
            InvalidInputError: kind ``INVALID_NAME``.
        """
        if target.name is None:
            return self.namespace_key(target.namespace)
        if target.type is ObjectType.TABLE:
            return self.table_key(target.namespace, target.name)
        return self.view_key(target.namespace, target.name)

    def namespaces_prefix(self) -> str:
        """Return what all keys of namespaces start with."""
        return _TYPE_IDS[ObjectType.NAMESPACE]

    def tables_prefix(self, namespace: str) -> str:
        """Return what the keys of all tables of one namespace start with."""
        return _TYPE_IDS[ObjectType.TABLE] + self._namespace_field(namespace)

    def views_prefix(self, namespace: str) -> str:
        """Return what the keys of all views of one namespace start with."""
        return _TYPE_IDS[ObjectType.VIEW] + self._namespace_field(namespace)

    def decode(self, key: str) -> ObjectKey:
        """Take a key apart.

        Raises:
            CorruptError: unknown type id, or a length that does not fit the name sizes.
        """
        object_type = _TYPES.get(key[:_TYPE_ID_SIZE])
        if object_type is None:
            raise CorruptError(
                f"Key {key!r} has an unknown object type {key[:_TYPE_ID_SIZE]!r}.",
                key=key,
                rule="format.md §4: type id",
                found=key[:_TYPE_ID_SIZE],
            )
        name_size = self._name_size.get(object_type, 0)
        raw = key.encode()[_TYPE_ID_SIZE:]
        expected = self.sizes.namespace + name_size
        if len(raw) != expected:
            raise CorruptError(
                f"Key {key!r} has {len(raw)} bytes of names; the definition says {expected}.",
                key=key,
                rule="format.md §4: key length",
                found=len(raw),
                expected=expected,
            )
        namespace = _unpad(key, raw[: self.sizes.namespace])
        name = _unpad(key, raw[self.sizes.namespace :]) if name_size else None
        return ObjectKey(object_type, namespace, name)

    def _namespace_field(self, namespace: str) -> str:
        return _field("namespace", namespace, self.sizes.namespace)


@lru_cache(maxsize=4096)
def _field(what: str, name: str, size: int) -> str:
    """Check a name and pad it; a statement asks for the same few names several times."""
    validate_name(what, name, size)
    return name + " " * (size - len(name.encode()))


def _unpad(key: str, field: bytes) -> str:
    try:
        name = field.rstrip(b" ").decode()
    except UnicodeDecodeError:
        name = ""
    if not name:
        raise CorruptError(
            f"Key {key!r} has a name field that is empty or cuts a character.",
            key=key,
            rule="format.md §4: name field",
            found=field.hex(),
        )
    return name
