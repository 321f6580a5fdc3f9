"""What a tournament came to, in words: who is stronger, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import floor, log10
from typing import TYPE_CHECKING, Final, NamedTuple

from ronda_arena.report import broken, winner, words
from ronda_arena.report.verdict import SprtTold, Verdict
from ronda_arena.statistics.estimate import DIGITS, Estimate
from ronda_arena.statistics.ratings import Strengths
from ronda_arena.tournament.formats.course import Course
from ronda_arena.tournament.spec import Plan

if TYPE_CHECKING:  # the summary has the sentences made, so it knows this room
    from ronda_arena.report.summary import FaultRow, LuckRow, PositionRow, RatingRow
    from ronda_arena.report.who import HelpRow

MOST: Final = 12
"""Comparisons that are told; the rest is in the table."""

_SURE: Final = (
    "95 %: of twenty such intervals nineteen hold the true value. What is counted is blocks, "
    "because the games of a block share their deals."
)
_OTHERS: Final = "the mean of the others"
_PLACES: Final = ("the side that deals first", "the side that plays first", "the third side")


class Comparison(NamedTuple):
    """Two who follow each other in the table, the stronger first."""

    first: str
    second: str
    by: Estimate
    met: int | None = None
    """Blocks in which both took part, where the estimate is made of others too."""


def neighbours(
    names: Sequence[str], order: Sequence[int], strengths: Strengths
) -> list[Comparison]:
    """Return how each compares with the next, from the strongest on; `order` holds all."""
    following = list(pairwise(order))
    told = strengths.differences(following)
    return [
        Comparison(names[first], names[second], by, strengths.met(first, second))
        for (first, second), by in zip(following, told, strict=True)
    ]


def challenges(
    names: Sequence[str],
    order: Sequence[int],
    challengers: int,
    met: Mapping[tuple[int, int], Estimate],
) -> list[Comparison]:
    """Return how each challenger of a gauntlet did against each other entrant that it has met.

    The strongest come first; `order` holds all, and `met` what those two did against each other.
    """
    told = (
        (first, second)
        for first in order
        if first < challengers
        for second in order
        if (first, second) in met and second >= challengers
    )
    return [Comparison(names[first], names[second], met[first, second]) for first, second in told]


class Matter(NamedTuple):
    """What there is to say."""

    plan: Plan
    blocks: int
    planned: int | None
    state: str
    verdict: Verdict | None
    comparisons: Sequence[Comparison]
    """Of which `MOST` are told."""
    positions: Sequence[PositionRow]
    luck: LuckRow
    faults: Sequence[FaultRow]
    placings: Sequence[str] = ()
    course: Course | None = None
    ratings: Sequence[RatingRow] = ()
    helped: Sequence[HelpRow] = ()


def sentences(matter: Matter) -> tuple[str, ...]:
    """Return what matters, most of all first."""
    if not matter.blocks:
        return ("No block is over yet: there is nothing to say.",)
    return (
        *_winner(matter),
        *broken.sentences(matter.ratings),
        *_strength(matter),
        *_seat(matter),
        *_luck(matter.luck),
        *_faults(matter.faults, matter.plan.players),
        *_helped(matter.helped),
        *_alike(matter.plan),
        *_stop(matter),
        *_so_far(matter),
        _SURE,
    )


def compared(one: Comparison, unit: str, aside: str = "", *, shown: bool | None = None) -> str:
    """Return in words how one compares with another.

    Whether it is shown that they differ is what the interval says, if nothing else decided it.
    """
    first, second, by, met = one
    if not by.known:
        return (
            f"There are too few blocks to compare {first} with {second}: {by.blocks}{_of(by, met)}."
        )
    value, low, _ = limits(by)
    if value < 0:
        return compared(Comparison(second, first, turned(by), met), unit, aside, shown=shown)
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
    return not float(points(told))


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
    return f" of one or the other, {met or 'none'} of them against each other"


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
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _winner(matter: Matter) -> Iterator[str]:
    if matter.course:
        stopped = matter.state == "stopped"
        yield from winner.sentences(matter.course, matter.placings, stopped=stopped)


def _strength(matter: Matter) -> Iterator[str]:
    unit, verdict = matter.plan.unit, matter.verdict
    if verdict is not None and verdict.estimate.known:
        first, second = (entrant.name for entrant in matter.plan.entrants)
        aside = ", which allows for the looks of the stop rule"
        comparison = Comparison(first, second, verdict.estimate)
        yield compared(comparison, unit, aside, shown=verdict.block is not None)
        return
    if verdict is not None and verdict.sprt is not None and verdict.sprt.elo.known:
        yield _in_elo(matter, verdict.sprt.elo)
        return
    for one in matter.comparisons[:MOST]:
        yield compared(one, unit)
    left = len(matter.comparisons) - MOST
    if left > 0:
        table = "table of pairs" if matter.plan.format == "gauntlet" else "table"
        yield f"The other {left} are in the {table}."


def _in_elo(matter: Matter, by: Estimate) -> str:
    first, second = (entrant.name for entrant in matter.plan.entrants)
    if limits(by)[0] < 0:
        first, second, by = second, first, turned(by)
    value, low, high = (f"{round(number) + 0:d}" for number in limits(by))
    blocks = words.counted(by.blocks, "block")
    return (
        f"In wins {first} is ahead of {second} by {value} Elo (95 %: {low} to {high}; {blocks}), "
        "which allows for the looks of the stop rule."
    )


def _seat(matter: Matter) -> Iterator[str]:
    told = [row for row in matter.positions if row.margin.known]
    if not told:
        yield "There are too few blocks to say what a place at the table is worth."
        return
    unit, two = matter.plan.unit, len(matter.positions) == 2
    sure = [row for row in told if _apart(row.margin)]
    if not sure:
        yield "It cannot be said yet whether the place at the table matters."
    for row in told[:1] if two else sure or told[:1]:
        behind = limits(row.margin)[0] < 0
        size = turned(row.margin) if behind else row.margin
        how = f"{'behind' if behind else 'ahead of'} {'the other' if two else _OTHERS}"
        says = f"is {how} by {points(size)} points a {unit}"
        if level(size):
            says = f"and {'the other' if two else _OTHERS} are level in points a {unit}"
        yield f"Strength set aside, {_PLACES[row.position]} {says} ({within(size)})."


def _apart(told: Estimate) -> bool:
    _, low, high = limits(told)
    return _over(low) or _over(-high)


def _over(number: float) -> bool:
    """Return whether a number is above zero by as much as is told anywhere."""
    return round(number, DIGITS) > 0


def _luck(luck: LuckRow) -> Iterator[str]:
    if not luck.plain or luck.rotated is None:
        return
    left = luck.rotated / luck.plain
    text = (
        f"Dealing the same hands in every rotation leaves {100 * left:.0f} % of the variance of a "
        "game's margin"
    )
    if luck.controlled is not None and luck.taken:
        left = luck.controlled / luck.plain
        text += (
            f", and taking off {luck.taken:.2f} of every point that the reference bot makes on the "
            f"same hands leaves {100 * left:.0f} %"
        )
    if 0 < left < 1:
        worth = round(luck.games / left)
        text += f": {luck.games} games tell as much as {worth} single ones with deals of their own"
    yield text + "."


def _faults(faults: Sequence[FaultRow], players: int) -> Iterator[str]:
    guilty = [row for row in faults if row.causes]
    if not guilty:
        yield "No bot lost a game by a fault of its own."
    for row in guilty:
        causes = ", ".join(f"{times} {words.cause(cause)}" for cause, times in row.causes.items())
        games = "1 game" if row.games == 1 else f"{row.games} games"
        lost = sum(row.causes.values())
        yield f"{row.bot} lost {lost} of {games} by a fault of its own: {causes}."
    if guilty and players == 3:
        yield (
            "Of three the one who breaks off a game has lost it; the two others have half a win"
            " each, and neither has beaten the other."
        )


def _helped(helped: Sequence[HelpRow]) -> Iterator[str]:
    for row in helped:
        games = words.counted(row.games, "game")
        yield (
            f"{row.bot} broke off {games} in which {row.helped} was ahead, and both are of"
            f" {row.owner}: such games say nothing of how strong {row.helped} is."
        )


def _alike(plan: Plan) -> Iterator[str]:
    for *others, last in plan.alike:
        names = f"{', '.join(others)} and {last}"
        many = words.counted(len(others) + 1, "name")
        yield f"{names} are the same code under {many}: one bot, though each of them counts here."


def _stop(matter: Matter) -> Iterator[str]:
    verdict, stop = matter.verdict, matter.plan.stop
    if verdict is not None:
        blocks = None if verdict.block is None else words.counted(verdict.block + 1, "block")
        after = f" after {blocks}" if blocks else ""
        yield f"Stop rule ({verdict.rule}){after}: {verdict.decision.rstrip('.')}."
    if stop.sequential is not None:
        yield (
            "The sequential test looks at whole blocks, in the order of the schedule and never in "
            "that of their ends. If both were equal it would call one the stronger in at most "
            f"{stop.sequential:.3g} of such tournaments. What it has decided stands: games that "
            "are over later count for nothing here."
        )
    elif verdict is not None and verdict.sprt is not None:
        yield from _sprt(matter, verdict.sprt)
    elif stop.precision is not None:
        from ronda_arena.tournament.stops import FEWEST  # noqa: PLC0415 -- it knows the summary

        asked = f"{stop.precision:.3g}"
        yield (
            "The tournament stops when half of the interval of every rating is at most "
            f"{asked} {'point' if asked == '1' else 'points'} a {matter.plan.unit}. It looks at "
            "whole blocks in the order of the schedule, and not before every entrant has "
            f"{FEWEST}: from fewer an interval is too often too narrow."
        )


def _sprt(matter: Matter, told: SprtTold) -> Iterator[str]:
    asked = matter.plan.stop.sprt
    assert asked is not None
    yield (
        "The SPRT takes of each block, in the order of the schedule, the part of its games that "
        f"the first entrant won. LLR is {told.llr:.2f}; H0 ({told.elo0:g} Elo) is accepted at "
        f"{told.lower:.2f} and H1 ({told.elo1:g} Elo) at {told.upper:.2f}. H1 would be accepted in "
        f"at most about {100 * asked.alpha:g} % of such tournaments if H0 were true, and H0 in at "
        f"most about {100 * asked.beta:g} % if H1 were. What it has decided stands: games that are "
        "over later count for nothing here."
    )


def _so_far(matter: Matter) -> Iterator[str]:
    if matter.state == "running":
        of = "" if matter.planned is None else f" of {matter.planned}"
        yield f"So far {matter.blocks}{of} blocks are over; all of this may still change."
