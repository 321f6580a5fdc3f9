"""What the plots of a report are made of: axes in pixels, rows with names, intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ronda_arena.report import names, words
from ronda_arena.report.ink import ACCENT, GRID, INK, MUTED, mark
from ronda_arena.statistics.estimate import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NARROW: Final = 350
"""Of a phone, in pixels."""
WIDE: Final = 950

ROW: Final = 24
CROWDED_ROW: Final = 17
CROWDED: Final = 60
"""Rows; with more of them each is lower."""
TALL: Final = 30
"""Rows; with more of them the numbers below are out of sight, and stand above too."""
BELOW: Final = 46
"""Pixels below axes for their numbers and what they are."""
_CELL: Final = 6.6
"""Pixels of a letter at the size of labels, nearly always enough."""


class Known(NamedTuple):
    """An estimate with an interval, at its place among others."""

    at: int
    value: float
    low: float
    high: float


def known(estimates: Sequence[Estimate]) -> list[Known]:
    """Return those of which there is enough to say."""
    return [
        Known(at, value, low, high)
        for at, (value, low, high, _) in enumerate(estimates)
        if value is not None and low is not None and high is not None
    ]


def labels(all_names: Sequence[str], width: int) -> tuple[str, ...]:
    """Return names as short as a picture of this width needs them."""
    return names.labels(all_names, 16 if width == NARROW else 30)


def room(shown: Sequence[str]) -> float:
    """Return how many pixels these take to the left of their rows."""
    return 14 + _CELL * max(4, *(names.width(label) for label in shown))


def figure(width: float, height: float) -> Figure:
    """Return an empty drawing, in pixels."""
    return Figure(figsize=(width / 72, height / 72), dpi=72)


def axes(drawn: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Return axes at a place in pixels, with nothing around them but numbers below."""
    all_width, all_height = drawn.get_size_inches() * 72
    plot = drawn.add_axes(
        (
            left / all_width,
            1 - (top + height) / all_height,
            width / all_width,
            height / all_height,
        )
    )
    plot.patch.set_visible(False)
    plot.set_axisbelow(True)
    for spine in plot.spines.values():
        spine.set_visible(False)
    plot.tick_params(length=0, labelsize=11, labelcolor=MUTED, pad=6)
    plot.xaxis.label.set(color=MUTED, fontsize=11)
    return plot


def forest(plot: Axes, estimates: Sequence[Estimate]) -> None:
    """Draw an interval and its middle for each estimate, from the top down."""
    told = known(estimates)
    places = [one.at for one in told]
    thick = 5 if len(estimates) <= CROWDED else 3
    plot.axvline(0, color=MUTED, linewidth=1, dashes=(2, 3))
    plot.hlines(
        places,
        [one.low for one in told],
        [one.high for one in told],
        colors=ACCENT,
        linewidth=thick,
        alpha=0.6,
    )
    plot.plot(
        [one.value for one in told],
        places,
        "o",
        color=ACCENT,
        markersize=thick + 2,
        markeredgewidth=0,
    )
    for at in set(range(len(estimates))) - set(places):
        plot.text(0, at, words.TOO_FEW, color=MUTED, fontsize=11, ha="center", va="center")
    plot.margins(x=0.05)
    plot.xaxis.set_major_locator(MaxNLocator(5))
    plot.tick_params(labeltop=len(estimates) > TALL)
    numbers_below(plot, len(estimates))


def numbers_below(plot: Axes, many: int) -> None:
    """Make room for so many rows, from the top down, on lines that lead to the numbers."""
    plot.set_ylim(many - 0.5, -0.5)
    plot.grid(visible=True, axis="x", color=GRID, linewidth=1)
    plot.set_yticks([])


def rows(plot: Axes) -> None:
    """Name the rows, to their left."""
    bottom, top = plot.get_ylim()
    places = range(round(bottom - top))
    plot.set_yticks(places, [mark(at) for at in places])
    plot.tick_params(axis="y", labelsize=12, labelcolor=INK, pad=8)
