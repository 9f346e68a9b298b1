"""Options of a storage: strings from a Spark setting or values from Python, read strictly."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from trinitylake_spark.errors import InvalidInputError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|sec|seconds?|m|min|minutes?|)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")


class Options:
    """Storage options by name, in any case; whatever nobody asks for is refused by ``finish``."""

    def __init__(self, given: Mapping[str, Any] | None) -> None:
        self._given = {name.lower(): value for name, value in (given or {}).items()}
        self._known: list[str] = []

    def text(self, *names: str) -> str | None:
        """Take the first of ``names`` that was given (all of them count as known)."""
        found: str | None = None
        self._known.extend(names)
        for name in names:
            value = self._given.pop(name, None)
            if found is None and value is not None:
                found = str(value)
        return found

    def flag(self, *names: str, default: bool = False) -> bool:
        """Take a yes/no option."""
        value = self.text(*names)
        if value is None:
            return default
        if value.lower() in _TRUE:
            return True
        if value.lower() in _FALSE:
            return False
        raise InvalidInputError(f"Storage option {names[0]} is true or false, not {value!r}.")

    def integer(self, name: str, default: int) -> int:
        """Take a whole number that is not negative."""
        value = self.text(name)
        if value is None:
            return default
        if not value.isascii() or not value.isdigit():
            raise InvalidInputError(f"Storage option {name} is a whole number, not {value!r}.")
        return int(value)

    def seconds(self, name: str, default: float) -> float:
        """Take a duration such as ``30``, ``30s``, ``500ms`` or ``2m``, in seconds."""
        value = self.text(name)
        if value is None:
            return default
        match = _DURATION.fullmatch(value.strip())
        if match is None:
            raise InvalidInputError(f"Storage option {name} is a time like 30s, not {value!r}.")
        number, unit = match.groups()
        return float(number) * _UNITS["ms" if unit == "ms" else unit[:1] or "s"]

    def rest(self) -> dict[str, Any]:
        """Take everything that is left, for a client that knows its own options."""
        left, self._given = self._given, {}
        return left

    def finish(self, scheme: str) -> None:
        """Refuse options that nobody took."""
        if self._given:
            raise InvalidInputError(
                f"Unknown storage option for {scheme}: {', '.join(sorted(self._given))}. "
                f"Known: {', '.join(self._known)}."
            )


def missing_client(package: str, extra: str) -> UnsupportedError:
    """Say which extra brings the client library that is not installed."""
    return UnsupportedError(
        f"This storage needs the Python package {package!r}, which is not installed. "
        f"Install it with: pip install 'trinitylake-spark[{extra}]'",
        extra=extra,
    )
