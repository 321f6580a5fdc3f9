"""Two who are compared, and in words how: by how much, how sure, and of how many blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import comb, floor, log10
from typing import NamedTuple

from ronda_arena.report import words
from ronda_arena.statistics.estimate import DIGITS, Estimate
from ronda_arena.statistics.ratings import Strengths

Met = Callable[[int], Mapping[tuple[int, int], Estimate]]


class Comparison(NamedTuple):
    """Two who are compared: neighbours in the table, the stronger first, or who met."""

    first: str
    second: str
    by: Estimate
    met: int | None = None
    """Blocks in which both took part, where the estimate is made of others too."""
    among: int = 1
    """How many comparisons it was one of, or picked from."""
    stands: bool = False
    """The stronger is shown to be so with all of these counted together."""

    @property
    def open(self) -> bool:
        """Say whether it is known, but nothing is shown with all counted together."""
        return self.by.known and self.among > 1 and not self.stands


def neighbours(
    names: Sequence[str], order: Sequence[int], strengths: Strengths
) -> list[Comparison]:
    """Return how each compares with the next, from the strongest on; `order` holds all.

    Who follows whom is known from results alone: they are picked from all pairs.
    """
    following, among = list(pairwise(order)), comb(len(order), 2)
    told = strengths.differences(following)
    together = strengths.differences(following, among)
    return [
        Comparison(
            names[first], names[second], by, strengths.met(first, second), among, apart(wide)
        )
        for (first, second), by, wide in zip(following, told, together, strict=True)
    ]


def challenges(
    names: Sequence[str],
    order: Sequence[int],
    challengers: int,
    met: Met,
) -> list[Comparison]:
    """Return how each challenger of a gauntlet did against each other entrant that it has met.

    The strongest come first; `order` holds all. `met` is what two did against each other, by how
    many comparisons its intervals are to hold for together.
    """
    alone = met(1)
    told = [
        (first, second)
        for first in order
        if first < challengers
        for second in order
        if (first, second) in alone and second >= challengers
    ]
    together = met(max(1, len(told)))
    among = len(told)
    return [
        Comparison(names[first], names[second], by, None, among, apart(together[first, second]))
        for (first, second), by in ((pair, alone[pair]) for pair in told)
    ]


def compared(one: Comparison, unit: str, aside: str = "", *, shown: bool | None = None) -> str:
    """Return in words how one compares with another.

    Whether it is shown that they differ is what the interval says, with all comparisons counted
    together, if nothing else decided it.
    """
    first, second, by, met = one[:4]
    if shown is None and one.among > 1:
        shown = one.stands
    if not by.known:
        return (
            f"There are too few blocks to compare {first} with {second}: "
            f"{words.count(by.blocks)}{_of(by, met)}."
        )
    value, low, _ = limits(by)
    if value < 0:
        other = one._replace(first=second, second=first, by=turned(by))
        return compared(other, unit, aside, shown=shown)
    if one.open and apart(by) and not aside:
        aside = ", which may be chance among so many comparisons"
    how_sure = f"({within(by, met)}){aside}"
    told = f"by {points(by)} points a {unit} {how_sure}."
    if _over(low) if shown is None else shown:
        return f"{first} is stronger than {second} {told}"
    doubt = f"It cannot be said yet whether {first} or {second} is stronger"
    if level(by):
        return f"{doubt}: in points a {unit} they are level {how_sure}."
    return f"{doubt}: {first} is ahead {told}"


def limits(told: Estimate) -> tuple[float, float, float]:
    """Return the value of a known estimate, and between what it lies."""
    assert told.value is not None
    assert told.low is not None
    assert told.high is not None
    return told.value, told.low, told.high


def turned(told: Estimate) -> Estimate:
    """Return a known estimate as the other side sees it."""
    value, low, high = limits(told)
    return Estimate(-value, -high, -low, told.blocks)


def points(told: Estimate) -> str:
    """Return the value of a known estimate, as exact as its interval makes sense of."""
    value, _, _ = limits(told)
    return _number(value, _digits(told))


def level(told: Estimate) -> bool:
    """Return whether nothing is left of the value of a known estimate as it is told."""
    return not float(points(told).replace(",", ""))


def within(told: Estimate, met: int | None = None) -> str:
    """Return the interval of a known estimate, and of how many blocks it is made.

    `met` says how many of them are encounters of the two that it compares.
    """
    _, low, high = limits(told)
    digits = _digits(told)
    blocks = f"{words.counted(told.blocks, 'block')}{_of(told, met)}"
    return f"95 %: {_number(low, digits)} to {_number(high, digits)}; {blocks}"


def _of(told: Estimate, met: int | None) -> str:
    """Return of whom the blocks are, where they are not all of both."""
    if met is None or met == told.blocks:
        return ""
    return f" of one or the other, {words.count(met) if met else 'none'} of them against each other"


def _digits(told: Estimate) -> int:
    """Return how many digits the width of an interval makes sense of, and its end nearest to zero.

    An end that is not zero is never told as if it were.
    """
    _, low, high = limits(told)
    half = (high - low) / 2
    digits = 1 if half <= 0 else min(4, max(1, -floor(log10(half))))
    near = round(min(abs(low), abs(high)), DIGITS)
    while near and not round(near, digits):
        digits += 1
    return digits


def _number(value: float, digits: int) -> str:
    return f"{round(value, digits) + 0.0:,.{digits}f}"


def apart(told: Estimate) -> bool:
    """Return whether an interval leaves out zero."""
    if not told.known:
        return False
    _, low, high = limits(told)
    return _over(low) or _over(-high)


def _over(number: float) -> bool:
    """Return whether a number is above zero by as much as is told anywhere."""
    return round(number, DIGITS) > 0
