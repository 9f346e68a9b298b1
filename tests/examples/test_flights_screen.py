"""The demonstration ends with an error as soon as a number is not what the files say."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from examples.flights import __main__ as demo
from examples.flights.screen import MismatchError, Screen

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def screen() -> Screen:
    """A screen that nobody sees."""
    return Screen(Console(file=io.StringIO(), width=100))


def test_what_is_right_is_counted(screen: Screen) -> None:
    """Each proved fact counts once."""
    screen.check("rows", 3, 3)
    screen.rows(["table", "rows"], [("a", 1), ("b", 2)], [("a", 1), ("b", 2)])
    screen.refused("an error", "SOME_CONDITION", "SOME_CONDITION")

    assert screen.checked == 6


def test_a_wrong_number_is_not_shown_as_right(screen: Screen) -> None:
    """A number, a row or a condition that differs stops the story."""
    with pytest.raises(MismatchError, match="the lakehouse says 3, the files say 4"):
        screen.check("rows", 3, 4)
    with pytest.raises(MismatchError):
        screen.rows(["table", "rows"], [("a", 1)], [("a", 2)])
    with pytest.raises(MismatchError):
        screen.refused("an error", None, "SOME_CONDITION")


class _Session:
    """Stands in for a Spark session that the story never reaches."""

    def newSession(self) -> _Session:  # noqa: N802 - Spark's name
        """Another session of the same JVM."""
        return self

    def stop(self) -> None:
        """Nothing runs."""


def test_a_mismatch_ends_with_an_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``make demo`` fails if the story does."""

    class Builder:
        """Builds the stand-in."""

        def getOrCreate(self) -> _Session:  # noqa: N802 - Spark's name
            return _Session()

    def lie(story: demo.Story) -> None:
        story.screen.check("flights", 1, 336776)

    monkeypatch.setattr(demo.tl, "configure", lambda *_, **__: Builder())
    monkeypatch.setattr(demo.Story, "tell", lie)

    assert demo.tell((tmp_path / "lake").as_uri(), tmp_path) == 1
