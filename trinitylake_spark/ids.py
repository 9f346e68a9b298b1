"""Identifiers and randomness as a service, so that tests are deterministic."""

from __future__ import annotations

import random
import uuid
from typing import Protocol


class Ids(Protocol):
    """What the library asks of chance."""

    def uuid4(self) -> str:
        """A new UUID4 in its 36-character form."""

    def uniform(self, low: float, high: float) -> float:
        """A float in [low, high], for jitter."""


class SystemIds:
    """Identifiers from the operating system's randomness."""

    def uuid4(self) -> str:
        """A new random UUID4."""
        return str(uuid.uuid4())

    def uniform(self, low: float, high: float) -> float:
        """A float in [low, high]."""
        return random.SystemRandom().uniform(low, high)


class SeededIds:
    """Identifiers that repeat for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - repeatable on purpose, for tests

    def uuid4(self) -> str:
        """The next UUID4 of this seed."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def uniform(self, low: float, high: float) -> float:
        """The next float in [low, high]."""
        return self._random.uniform(low, high)
