"""What the plots of a report are made of: axes in pixels, rows with names, intervals."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.ticker import MaxNLocator, ScalarFormatter

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
_WHOLE: Final = re.compile(r"\d+")
_LABEL: Final = 12
"""Pixels of the size of labels."""
_STRANGE: Final = 1.3
"""Of that size, how wide a letter is at most that the font for measuring lacks."""


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
    """Return names as short as a picture of this width needs them: some third of it at most."""
    return fitted(all_names, 16, width / 3) if width == NARROW else fitted(all_names, 30, width / 4)


def fitted(all_names: Sequence[str], cells: int, wide: float) -> tuple[str, ...]:
    """Return names of at most so many cells, and pixels wide: some letters are twice others."""
    made = names.labels(all_names, cells)
    while cells > 4 and any(pixels(label) > wide for label in made):
        cells -= 1
        shorter = names.labels(all_names, cells)
        made = tuple(
            less if pixels(label) > wide else label
            for label, less in zip(made, shorter, strict=True)
        )
    return made


def room(shown: Sequence[str]) -> float:
    """Return how many pixels these take to the left of their rows."""
    return 14 + max(4 * _LABEL / 2, *map(pixels, shown))


def pixels(label: str) -> float:
    """Return how wide a label is, in a font that is wider than those that pages have."""
    font = _font()
    font.set_size(_LABEL, 72)
    return sum(_advance(font, char) for char in label)


def _advance(font: FT2Font, char: str) -> float:
    if unicodedata.combining(char):
        return 0.0
    if font.get_char_index(ord(char)):
        return font.load_char(ord(char)).linearHoriAdvance / 65536
    return _LABEL * (1.0 if unicodedata.east_asian_width(char) in "WF" else _STRANGE)


@cache
def _font() -> FT2Font:
    """Return the font that comes with matplotlib, so that it measures alike everywhere."""
    return FT2Font(str(Path(mpl.get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")))


class Grouped(ScalarFormatter):
    """Writes numbers of an axis as the page does: in full, with their thousands apart."""

    def __init__(self) -> None:
        super().__init__(useOffset=False)
        self.set_scientific(False)

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return what stands at a tick."""
        told = super().__call__(x, pos)
        return _WHOLE.sub(lambda whole: words.count(int(whole[0])), told, count=1)


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
    plot.xaxis.set_major_formatter(Grouped())
    plot.yaxis.set_major_formatter(Grouped())
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
