"""What a tournament came to, in words: who is stronger, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import comb, floor, log10
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
_SURE_APART: Final = (
    "95 %: of twenty such intervals nineteen hold the true value. What is counted is blocks where "
    "the games of a block share their deals, and games where each has deals of its own."
)
_OTHERS: Final = "the mean of the others"
_PLACES: Final = ("the side that deals first", "the side that plays first", "the third side")


Met = Callable[[int], Mapping[tuple[int, int], Estimate]]


class Comparison(NamedTuple):
    """Two who follow each other in the table, the stronger first."""

    first: str
    second: str
    by: Estimate
    met: int | None = None
    """Blocks in which both took part, where the estimate is made of others too."""
    among: int = 1
    """How many comparisons it was one of, or picked from."""
    stands: bool = False
    """The stronger is shown to be so with all of these counted together."""


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
    left: tuple[Estimate, Estimate] | None = None
    """Of the variance of a game's margin, as a share: after rotation, and after control too."""
    unpaired: int = 0
    """Blocks of which every game has deals of its own."""


def sentences(matter: Matter) -> tuple[str, ...]:
    """Return what matters, most of all first."""
    if not matter.blocks:
        return ("No block is over yet: there is nothing to say.",)
    return (
        *_winner(matter),
        *broken.sentences(matter.ratings),
        *_strength(matter),
        *_seat(matter),
        *_apart_from_others(matter),
        *_luck(matter),
        *_faults(matter.faults, matter.plan.players),
        *_helped(matter.helped),
        *_alike(matter.plan),
        *_stop(matter),
        *_so_far(matter),
        _SURE_APART if matter.unpaired else _SURE,
    )


def compared(one: Comparison, unit: str, aside: str = "", *, shown: bool | None = None) -> str:
    """Return in words how one compares with another.

    Whether it is shown that they differ is what the interval says, if nothing else decided it.
    """
    first, second, by, met = one[:4]
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
    yield from _together(matter.comparisons)


def _together(comparisons: Sequence[Comparison]) -> Iterator[str]:
    """Say which of the comparisons that are shown stand where all of them are to be right."""
    shown = [one for one in comparisons if apart(one.by)]
    if not shown or shown[0].among < 2:
        return
    sure = [one for one in shown if one.stands]
    named = ", ".join(f"{first} over {second}" for first, second in map(_stronger, sure[:MOST]))
    more = f" and {len(sure) - MOST} more" if len(sure) > MOST else ""
    yield (
        "Each comparison is sure to 95 % by itself: of twenty pairs that are equal one is called "
        f"different. All {shown[0].among} counted together, "
        + (f"these are still sure to 95 %: {named}{more}." if sure else "none is sure to 95 %.")
    )


def _stronger(one: Comparison) -> tuple[str, str]:
    value, _, _ = limits(one.by)
    return (one.first, one.second) if value > 0 else (one.second, one.first)


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
    sure = [row for row in told if apart(row.margin)]
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


def apart(told: Estimate) -> bool:
    """Return whether an interval leaves out zero."""
    if not told.known:
        return False
    _, low, high = limits(told)
    return _over(low) or _over(-high)


def _over(number: float) -> bool:
    """Return whether a number is above zero by as much as is told anywhere."""
    return round(number, DIGITS) > 0


def _apart_from_others(matter: Matter) -> Iterator[str]:
    """Say which blocks are unpaired, and why."""
    if not matter.unpaired:
        return
    names = matter.plan.remote
    one = len(names) == 1
    which = (
        f"{words.count(matter.unpaired)} of {words.counted(matter.blocks, 'block')} "
        f"{'is' if matter.unpaired == 1 else 'are'} unpaired"
    )
    yield (
        f"{', '.join(names)} {'plays' if one else 'play'} remotely, where a deal could be "
        f"remembered: so wherever {'it' if one else 'one of them'} sits, every rotation has deals "
        f"of its own. {which}."
    )


def _luck(matter: Matter) -> Iterator[str]:
    if matter.left is None or not matter.left[0].known:
        return
    luck, (left, controlled) = matter.luck, matter.left
    if matter.unpaired < matter.blocks:
        text = (
            f"Dealing the same hands in every rotation leaves {_share(left)} of the variance of a "
            "game's margin"
        )
    elif controlled.known and luck.taken:
        text = "The variance of a game's margin is luck in part"
    else:
        return
    if controlled.known and luck.taken:
        left = controlled
        text += (
            f", and taking off {luck.taken:.2f} of every point that the reference bot makes on the "
            f"same hands leaves {_share(left)}"
        )
    value, low, high = limits(left)
    if high < 1:
        least, worth, most = (round(luck.games / share) for share in (high, value, low))
        text += (
            f": {luck.games} games tell as much as {worth} single ones with deals of their own "
            f"({least} to {most})"
        )
    yield text + "."


def _share(told: Estimate) -> str:
    value, low, high = (round(100 * share) for share in limits(told))
    if low == value == high:  # games that share no deals: rotation leaves all
        return f"{value} %"
    return f"{value} % (95 %: {low} to {high}; {words.counted(told.blocks, 'block')})"


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
