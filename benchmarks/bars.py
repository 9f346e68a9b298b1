"""What a benchmark found, beside what was aimed at; and how two sides are timed fairly."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Bar:
    """One figure that has an aim.

    Args:
        name: what was measured.
        found: the figure; None if it could not be measured.
        aim: the most that it should be.
        how: unit, and what stands behind the figure.
    """

    name: str
    found: float | None
    aim: float
    how: str

    @property
    def holds(self) -> bool:
        """Whether the figure is within its aim."""
        return self.found is not None and self.found <= self.aim


@dataclass(frozen=True)
class Pairs:
    """Times of two sides that took turns, in milliseconds."""

    ours: list[float]
    peer: list[float]

    @property
    def ratio(self) -> float:
        """The median of ours to the peer's, pair by pair."""
        return median(a / b for a, b in zip(self.ours, self.peer, strict=True))

    def __str__(self) -> str:
        ratios = [a / b for a, b in zip(self.ours, self.peer, strict=True)]
        low, _, high = quantiles(ratios, n=4)
        return (
            f"{median(self.ours):.2f} ms to {median(self.peer):.2f} ms,"
            f" {len(ratios)} pairs, quartiles {low:.2f}-{high:.2f}"
        )


def take_turns(
    ours: Callable[[int], object],
    peer: Callable[[int], object],
    *,
    pairs: int = 40,
    warm_up: int = 8,
) -> Pairs:
    """Time two things that take turns, so that whatever else the machine does hits both alike.

    Args:
        ours: gets the number of the pair.
        peer: the same.
        pairs: pairs that count.
        warm_up: pairs before them that do not.
    """
    times: dict[bool, list[float]] = {True: [], False: []}
    gc.collect()
    for number in range(warm_up + pairs):
        order = (True, False) if number % 2 else (False, True)
        for is_ours in order:
            began = time.perf_counter()
            (ours if is_ours else peer)(number)
            taken = (time.perf_counter() - began) * 1e3
            if number >= warm_up:
                times[is_ours].append(taken)
    return Pairs(times[True], times[False])


@dataclass
class Report:
    """All figures of a run.

    Args:
        title: what the table is called.
    """

    title: str
    bars: list[Bar] = field(default_factory=list)
    console: Console = field(default_factory=lambda: Console(width=150))

    def add(self, name: str, found: float | None, aim: float, how: str) -> None:
        """Take down a figure that has an aim, and say it at once."""
        self.bars.append(Bar(name, found, aim, how))
        shown = "not measured" if found is None else f"{found:.3g}"
        self.note(f"{name}: {shown} (aim ≤ {aim:g}); {how}")

    def pair(self, name: str, pairs: Pairs, aim: float) -> None:
        """Take down a ratio."""
        self.add(name, pairs.ratio, aim, str(pairs))

    def note(self, text: str) -> None:
        """Say something that has no aim."""
        self.console.print(text, highlight=False, soft_wrap=True)

    def finish(self, *, strict: bool) -> int:
        """Print the table; return the exit code.

        Args:
            strict: a bar that was missed or not measured is a failure.
        """
        table = Table(title=self.title)
        for column in ("bar", "found", "aim", "how"):
            table.add_column(column, justify="right" if column in ("found", "aim") else "left")
        for bar in self.bars:
            colour = "green" if bar.holds else "red"
            found = "not measured" if bar.found is None else f"{bar.found:.3g}"
            table.add_row(bar.name, f"[{colour}]{found}", f"≤ {bar.aim:g}", bar.how)
        self.console.print(table)
        return int(strict and not all(bar.holds for bar in self.bars))
