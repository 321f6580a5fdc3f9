"""What a tournament came to, in words: who is stronger, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ronda_arena.customs import OWN
from ronda_arena.report import broken, order, who, winner, words
from ronda_arena.report.comparison import (
    Comparison,
    apart,
    compared,
    level,
    limits,
    points,
    turned,
    within,
)
from ronda_arena.report.verdict import SprtTold, Verdict
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.tournament.formats.course import Course
from ronda_arena.tournament.spec import Plan

if TYPE_CHECKING:  # the summary has the sentences made, so it knows this room
    from ronda_arena.report.summary import FaultRow, LuckRow, PositionRow, RatingRow

MOST: Final = 12
"""Comparisons that are told; the rest is in the table."""
_MOST_OPEN: Final = 3
"""Comparisons that show nothing and are told one by one; more are folded into one sentence."""

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
    helped: Sequence[who.HelpRow] = ()
    order: order.Order | None = None
    """What is shown of all together; None where there are two, or only a challenger's matter."""
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
        *_owned(matter.plan),
        *_alike(matter.plan),
        *_together(matter.plan),
        *_stop(matter),
        *_so_far(matter),
        _SURE_APART if matter.unpaired else _SURE,
    )


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
    gauntlet = matter.plan.format == "gauntlet"
    if matter.order is not None:
        yield from order.sentences(matter.order, matter.ratings[0].margin, unit)
    elif gauntlet and len(matter.comparisons) > 1:
        yield from order.challenged(matter.comparisons)
    few = [one for one in matter.comparisons if not one.by.known]
    open_ = [one for one in matter.comparisons if one.open]
    folded = [one for those in (few, open_) if len(those) > _MOST_OPEN for one in those]
    told = [one for one in matter.comparisons if one not in folded]
    for one in told[:MOST]:
        yield compared(one, unit)
    if len(told) > MOST:
        table = "table of pairs" if gauntlet else "table"
        yield f"The other {words.count(len(told) - MOST)} are in the {table}."
    if len(few) > _MOST_OPEN:
        whom = "that met" if gauntlet else "that follow each other in the table"
        yield f"There are too few blocks to compare {words.counted(len(few), 'pair')} {whom}."
    if matter.order is not None and len(open_) > _MOST_OPEN:
        yield from order.together(matter.order)


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
            f": {words.count(luck.games)} games tell as much as {words.count(worth)} single ones "
            f"with deals of their own ({words.count(least)} to {words.count(most)})"
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
        if row.at_start:
            causes += f" ({row.at_start} when it was made, before the first card)"
        yield f"{row.bot} lost {lost} of {games} by a fault of its own: {causes}."
    if guilty and players == 3:
        yield (
            "Of three the one who breaks off a game has lost it; the two others have half a win"
            " each, and neither has beaten the other."
        )


def _helped(helped: Sequence[who.HelpRow]) -> Iterator[str]:
    for row in helped:
        games = words.counted(row.games, "game")
        yield (
            f"{row.bot} broke off {games} in which {row.helped} was ahead, and both are of"
            f" {row.owner}: such games say nothing of how strong {row.helped} is."
        )


def _owned(plan: Plan) -> Iterator[str]:
    for owner, (*others, last) in who.siblings(plan).items():
        yield (
            f"{', '.join(others)} and {last} are of one owner, {owner}: nothing keeps them from"
            " playing for each other where they meet."
        )


def _alike(plan: Plan) -> Iterator[str]:
    for *others, last in plan.alike:
        names = f"{', '.join(others)} and {last}"
        many = words.counted(len(others) + 1, "name")
        yield f"{names} are the same code under {many}: one bot, though each of them counts here."


def _together(plan: Plan) -> Iterator[str]:
    """Say it where a bot of somebody else shared a process with the games of a block."""
    if plan.isolation == "trusted" and not plan.names <= OWN:
        yield (
            "The bots were run in one process, where a bot can remember the deals of a block and"
            " know the hands in its next rotation."
        )


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
