"""Which decision of a record is meant, by the numbers that a person gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ronda_cli.output import Failure
from ronda_core.cards import BadCardError, parse_card

if TYPE_CHECKING:
    from ronda_arena.decisions import Decision


def pick(
    made: Sequence[Decision],
    hand: int | None,
    named: str | None,
    *,
    declare: bool,
    seat: int | None,
    forfeit: bool,
) -> Decision:
    """Return the decision that is meant, or say which there are.

    Without numbers it is the last one of a match that ended by a bot's fault; of a hand and a seat
    it is the first play.
    """
    if hand is None and named is None and not declare:
        if forfeit and made[-1].chosen is None:
            return made[-1]
        raise Failure(f"which decision? --hand {_range(made[-1].hand)} and --play say it")
    hand = 1 if hand is None else hand
    here = [one for one in made if one.hand == hand]
    if not here:
        raise Failure(f"there is no --hand {hand}: the match has {_range(made[-1].hand)}")
    play = _number(here, hand, named)
    if declare or play == 0:
        return _declaration(here, hand, play, seat)
    plays = {one.play: one for one in here if not one.declares}
    if not plays:
        raise Failure(f"hand {hand} ended before a card was asked for")
    if play is None and seat is not None:
        first = next((one for one in plays.values() if one.seat == seat), None)
        if first is None:
            raise Failure(f"seat {seat} has no play in hand {hand}")
        return first
    if play is None:
        raise Failure(f"which play of hand {hand}? --play {_range(max(plays))} says it")
    if play not in plays:
        raise Failure(f"there is no --play {play}: hand {hand} has {_range(max(plays))}")
    found = plays[play]
    if seat not in (None, found.seat):
        own = ", ".join(str(number) for number, one in plays.items() if one.seat == seat)
        whose = f"those of seat {seat} are {own}" if own else f"seat {seat} has none"
        raise Failure(f"play {play} of hand {hand} is of seat {found.seat}: {whose}")
    return found


def _number(here: Sequence[Decision], hand: int, named: str | None) -> int | None:
    """Return which play of a hand is meant by its number or by its card."""
    if named is None or named.isdecimal():
        return None if named is None else int(named)
    try:
        card = parse_card(named.upper())
    except BadCardError:
        raise Failure(f"--play {named}: a play is a number, or a card such as 7O") from None
    found = [one.play for one in here if not one.declares and one.chosen == card]
    if not found:
        raise Failure(f"nobody played {card} in hand {hand}")
    return found[0]


def _declaration(
    here: Sequence[Decision], hand: int, play: int | None, seat: int | None
) -> Decision:
    asked = [one for one in here if one.declares]
    if not asked:
        raise Failure(f"nobody was asked to declare in hand {hand}")
    batch = next((one.batch for one in here if not one.declares and one.play == play), None)
    if play and batch is None:
        raise Failure(f"there is no --play {play}: hand {hand} has {_range(here[-1].play)}")
    asked = [one for one in asked if one.batch == (batch or 1)]
    if not asked:
        raise Failure(f"nobody was asked to declare in batch {batch or 1} of hand {hand}")
    found = next((one for one in asked if one.seat == seat), None)
    if found is None:
        seats = ", ".join(str(one.seat) for one in asked)
        raise Failure(f"whose declaration? --seat says it: one of {seats}")
    return found


def _range(last: int) -> str:
    return "1" if last == 1 else f"1 to {last}"
