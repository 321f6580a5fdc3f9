"""Pictures of a summary, drawn by matplotlib without a display and without global figures.

Each takes the width it is to be drawn for, in pixels, and returns an element of the page, or None
where there is nothing to see. A picture is never the only place of a number: tables are beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10, sqrt
from typing import TYPE_CHECKING, Final

import numpy as np
from markupsafe import Markup
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from ronda_arena.report import canvas, reading, words
from ronda_arena.report.ink import (
    ACCENT,
    AHEAD,
    BEHIND,
    GRID,
    INK,
    MUTED,
    SERIES,
    drawing,
    mark,
    markup,
)
from ronda_arena.report.summary import THOUGHT_CLASSES, Step, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS: Final = 24
"""Bots whose faults and thoughts are drawn: those with the most."""


def ratings(summary: Summary, width: int) -> Markup | None:
    """Draw each entrant's margin with its interval; where there is room, Elo beside it."""
    rows = summary.ratings
    if not any(row.margin.known or row.elo.known for row in rows):
        return None
    labels = canvas.labels([row.entrant for row in rows], width)
    with drawing():
        height = (canvas.ROW if len(rows) <= canvas.CROWDED else canvas.CROWDED_ROW) * len(rows)
        top = 26 if len(rows) > canvas.TALL else 6
        figure = canvas.figure(width, top + height + canvas.BELOW)
        left = canvas.room(labels)
        panels = [([row.margin for row in rows], f"points a {summary.unit}")]
        if width == canvas.WIDE:
            panels.append(([row.elo for row in rows], "Elo, from wins alone"))
        gap = 28
        each = (width - left - 12 - gap * (len(panels) - 1)) / len(panels)
        for at, (estimates, unit) in enumerate(panels):
            axes = canvas.axes(figure, left + at * (each + gap), top, each, height)
            canvas.forest(axes, estimates)
            axes.set_xlabel(unit)
            if not at:
                canvas.rows(axes)
        label = (
            f"Ratings of {words.counted(len(rows), 'entrant')} with 95 % intervals, the strongest "
            "at the top. The table below has the numbers."
        )
        return markup(figure, f"ratings-{width}", label, labels)


def pairs(summary: Summary, width: int) -> Markup | None:
    """Draw who beat whom of all entrants, one square for each two: for where a table ends."""
    place_of = {row.entrant: at for at, row in enumerate(summary.ratings)}
    told = [row for row in summary.pairs if row.margin.known]
    if not told:
        return None
    most = max(abs(row.margin.value or 0.0) for row in told) or 1.0
    count = len(place_of)
    squares = np.zeros((count, count, 4), np.uint8)
    for row in told:
        at, against = place_of[row.first], place_of[row.second]
        lead = reading.sure_lead(row.margin)
        depth = round(255 * sqrt(abs(lead) / most))
        squares[at, against] = (*(AHEAD if lead > 0 else BEHIND), depth)
        squares[against, at] = (*(BEHIND if lead > 0 else AHEAD), depth)
    with drawing():
        side = min(width, 640) - 62
        figure = canvas.figure(width, side + canvas.BELOW + 6)
        axes = canvas.axes(figure, 56, 6, side, side)
        axes.imshow(squares, interpolation="none", extent=(0.5, count + 0.5, count + 0.5, 0.5))
        for spine in axes.spines.values():
            spine.set(visible=True, color=MUTED, linewidth=1)
        axes.plot([0.5, count + 0.5], [0.5, count + 0.5], color=MUTED, linewidth=1)
        axes.xaxis.set_major_locator(_ranks(count))
        axes.yaxis.set_major_locator(_ranks(count))
        axes.set_xlabel("against, by place in the ratings")
        axes.set_ylabel("entrant, by place in the ratings", color=MUTED, fontsize=11)
        label = (
            f"Who beat whom of {words.counted(count, 'entrant')} as a square of colours, the "
            "strongest at the top and on the left. All numbers are in report.json."
        )
        return markup(figure, f"pairs-{width}", label)


def _ranks(count: int) -> FixedLocator:
    """Return where places in the ratings are written: the first, and some round ones."""
    step = next(step for step in (10, 20, 50, 100) if count <= 6 * step or step == 100)
    return FixedLocator([1, *range(step, count + 1, step)])


def positions(summary: Summary, width: int) -> Markup | None:
    """Draw what each place at the table is worth."""
    rows = summary.positions
    if not any(row.margin.known for row in rows):
        return None
    labels = tuple(reading.place(row.position) for row in rows)
    with drawing():
        height = 30 * len(rows)
        figure = canvas.figure(width, height + canvas.BELOW + 6)
        left = canvas.room(labels)
        axes = canvas.axes(figure, left, 6, width - left - 12, height)
        canvas.forest(axes, [row.margin for row in rows])
        axes.set_xlabel(f"points a {summary.unit}")
        canvas.rows(axes)
        label = (
            "What each place at the table is worth, with 95 % intervals. "
            "The table below has the numbers."
        )
        return markup(figure, f"positions-{width}", label, labels)


def progress(summary: Summary, width: int) -> Markup | None:
    """Draw how the margins of the strongest settled, a panel for each."""
    steps = reading.thinned(summary.progress, 60)
    shown = reading.followed(summary)
    if len(steps) < 2 or not any(step.margins[at].known for step in steps for at in shown):
        return None
    columns = min(len(shown), 4 if width == canvas.WIDE else 2)
    lines = ceil(len(shown) / columns)
    tall, left, gap = (120 if width == canvas.WIDE else 100), 44, 20
    each = (width - left - 12 - gap * (columns - 1)) / columns
    labels = canvas.fitted([summary.entrants[at] for at in shown], 20, each)
    with drawing():
        figure = canvas.figure(width, lines * (tall + 56) + 14)
        low, high = _span(steps, shown)
        for number, at in enumerate(shown):
            line, column = divmod(number, columns)
            axes = canvas.axes(
                figure, left + column * (each + gap), 24 + line * (tall + 56), each, tall
            )
            _course(axes, steps, at)
            axes.set_ylim(low, high)
            axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.xaxis.set_major_locator(MaxNLocator(3, integer=True))
            axes.grid(visible=True, axis="y", color=GRID, linewidth=1)
            if column:
                axes.tick_params(labelleft=False)
            axes.set_title(mark(number), fontsize=12, color=INK, loc="left", pad=8)
            if line == lines - 1 or number + columns >= len(shown):
                axes.set_xlabel("blocks")
        label = (
            f"How the margins of {words.counted(len(shown), 'entrant')} settled as blocks were "
            "played, with 95 % intervals."
        )
        return markup(figure, f"progress-{width}", label, labels)


def faults(summary: Summary, width: int) -> Markup | None:
    """Draw how often each bot lost by its own fault, by cause."""
    rows = reading.faulty(summary)[:MOST_BARS]
    if not rows:
        return None
    labels = canvas.labels([row.bot for row in rows], width)
    causes = [cause for cause in words.CAUSES if any(row.causes.get(cause) for row in rows)]
    with drawing():
        legend = 26 * ceil(len(causes) / (2 if width == canvas.NARROW else 6))
        height = canvas.ROW * len(rows)
        figure = canvas.figure(width, legend + height + canvas.BELOW + 6)
        left = canvas.room(labels)
        axes = canvas.axes(figure, left, legend + 6, width - left - 12, height)
        start = [0.0] * len(rows)
        for colour, cause in zip(SERIES, words.CAUSES, strict=True):
            many = [row.causes.get(cause, 0) for row in rows]
            if any(many):
                axes.barh(
                    range(len(rows)), many, 0.6, start, color=colour, label=words.cause(cause)
                )
            start = [before + more for before, more in zip(start, many, strict=True)]
        canvas.numbers_below(axes, len(rows))
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.set_xlim(0, max(start) * 1.05)
        axes.set_xlabel("games lost by an own fault")
        canvas.rows(axes)
        figure.legend(
            loc="upper left",
            bbox_to_anchor=(0, 1),
            borderaxespad=0,
            ncols=2 if width == canvas.NARROW else 6,
            frameon=False,
            labelcolor=INK,
            handlelength=1,
            handleheight=1,
        )
        label = (
            f"Games lost by own faults, by cause, of {words.counted(len(rows), 'bot')}. "
            "The table below has the numbers."
        )
        return markup(figure, f"faults-{width}", label, labels)


def thoughts(summary: Summary, width: int) -> Markup | None:
    """Draw how long each bot thought: a histogram of its games for each, the slowest on top."""
    rows = [row for row in reading.slowest(summary) if sum(row.counts)][:MOST_BARS]
    if not rows:
        return None
    used = [at for at in range(len(THOUGHT_CLASSES) + 1) if any(row.counts[at] for row in rows)]
    first, last = used[0], used[-1]
    edges = _edges()[first : last + 2]
    labels = canvas.labels([row.bot for row in rows], width)
    with drawing():
        each = 34
        figure = canvas.figure(width, each * len(rows) + canvas.BELOW + 12)
        left = canvas.room(labels)
        axes = canvas.axes(figure, left, 12, width - left - 16, each * len(rows))
        for at, row in enumerate(rows):
            counts = row.counts[first : last + 1]
            heights = [-0.8 * many / max(counts) + at + 0.5 for many in counts]
            axes.stairs(heights, edges, baseline=at + 0.5, fill=True, color=ACCENT)
        canvas.numbers_below(axes, len(rows))
        axes.set_xlim(edges[0], edges[-1])
        low, high = ceil(edges[0] - 1e-9), floor(edges[-1] + 1e-9)
        axes.set_xticks(range(low, high + 1))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda power, _: words.seconds(10.0**power)))
        axes.set_xlabel("mean time a decision, of each game")
        floors = [at + 0.5 for at in range(len(rows))]
        axes.hlines(floors, edges[0], edges[-1], colors=GRID, linewidth=1)
        canvas.rows(axes)
        label = (
            f"Histograms of the mean time a decision of {words.counted(len(rows), 'bot')}, on a "
            "logarithmic scale, the slowest at the top. The table below has the numbers."
        )
        return markup(figure, f"thoughts-{width}", label, labels)


def _edges() -> list[float]:
    """Return the bounds of all classes as powers of ten, the open ones closed."""
    bounds = [log10(bound) for bound in THOUGHT_CLASSES]
    return [bounds[0] - 0.3, *bounds, bounds[-1] + 0.3]


def _course(axes: Axes, steps: Sequence[Step], at: int) -> None:
    """Draw one entrant's margin over the blocks."""
    told = canvas.known([step.margins[at] for step in steps])
    blocks = [steps[one.at].blocks for one in told]
    axes.axhline(0, color=MUTED, linewidth=1, dashes=(2, 3))
    axes.fill_between(
        blocks,
        [one.low for one in told],
        [one.high for one in told],
        color=ACCENT,
        alpha=0.25,
        linewidth=0,
    )
    axes.plot(blocks, [one.value for one in told], color=ACCENT, linewidth=2)
    axes.set_xlim(0, steps[-1].blocks)


def _span(steps: Sequence[Step], shown: Sequence[int]) -> tuple[float, float]:
    """Return the margins to be seen: the wide intervals of the beginning may run out of sight."""
    late = canvas.known([step.margins[at] for step in steps[len(steps) // 4 :] for at in shown])
    told = late or canvas.known([step.margins[at] for step in steps for at in shown])
    low = min(0.0, *(one.low for one in told))
    high = max(0.0, *(one.high for one in told))
    room = 0.05 * (high - low or 1.0)
    return low - room, high + room
