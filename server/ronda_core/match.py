"""A match: hands, the dealer's turn among seats, the score, and how it ends."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from ronda_core import hand as hands
from ronda_core.hand import Hand, HandEvent, IllegalMoveError, Phase, Refusal
from ronda_core.rules import Settings


class Outcome(StrEnum):
    """How a match ended."""

    TARGET = "target"
    HAND = "hand"
    LENGTH = "length"
    FORFEIT = "forfeit"
    CANCELLED = "cancelled"


class Cause(StrEnum):
    """Why a seat forfeited."""

    TIME = "time"
    CRASH = "crash"
    ILLEGAL = "illegal"
    PROTOCOL = "protocol"
    NO_SHOW = "no_show"
    RESIGNED = "resigned"


class Fault(NamedTuple):
    """Whose fault ended a match."""

    seat: int
    cause: Cause
    detail: str = ""


class Finished(NamedTuple):
    """The match is over."""

    outcome: Outcome
    winner: int
    """A side; -1: a draw, or nobody."""
    scores: tuple[int, ...]
    fault: Fault | None = None


MatchEvent = HandEvent | Finished


class Match:
    """A match at one moment. Read it freely; change it only through this module."""

    __slots__ = ("first_dealer", "hand", "result", "settings")

    def __init__(self, settings: Settings, first_dealer: int) -> None:
        self.settings = settings
        self.first_dealer = first_dealer
        self.hand: Hand | None = None
        """The hand in play, or the last one."""
        self.result: Finished | None = None

    @property
    def scores(self) -> tuple[int, ...]:
        """Points by side."""
        return self.hand.scores if self.hand else (0,) * self.settings.sides

    @property
    def needs_deck(self) -> int:
        """The number of the hand that waits to be dealt, or 0."""
        if self.result:
            return 0
        if self.hand is None:
            return 1
        return self.hand.number + 1 if self.hand.phase is Phase.OVER else 0

    def __repr__(self) -> str:
        return f"<Match of {self.settings.preset.name}, {self.hand!r}>"


def deal(match: Match, deck: Sequence[int]) -> tuple[MatchEvent, ...]:
    """Deal the next hand from `deck`, 40 cards in dealing order."""
    number = match.needs_deck
    if not number:
        raise IllegalMoveError(Refusal.MATCH_OVER)
    dealer = (match.first_dealer + number - 1) % match.settings.players
    match.hand, events = hands.deal(match.settings, number, dealer, deck, match.scores)
    return events


def declare(match: Match, seat: int, declares: bool) -> tuple[MatchEvent, ...]:
    """Take `seat`'s answer to the declaring step."""
    _check_seat(match, seat)
    events = hands.declare(_live(match), seat, declares)
    return _and_end(match, events)


def play(match: Match, seat: int, card: int) -> tuple[MatchEvent, ...]:
    """Play `card` from `seat`."""
    hand = _live(match)
    if seat != hand.turn and hand.phase is Phase.PLAY:
        raise IllegalMoveError(Refusal.NOT_YOUR_TURN)
    events = hands.play(hand, card)
    return _and_end(match, events) if hand.phase is Phase.OVER else events


def forfeit(match: Match, fault: Fault) -> tuple[MatchEvent, ...]:
    """End the match by `fault`: of two sides the other wins; of three, the higher other one."""
    _check_seat(match, fault.seat)
    side = match.settings.side_of[fault.seat]
    others = [at for at in range(match.settings.sides) if at != side]
    best = max(match.scores[at] for at in others)
    ahead = [at for at in others if match.scores[at] == best]
    return _finish(match, Outcome.FORFEIT, ahead[0] if len(ahead) == 1 else -1, fault)


def cancel(match: Match) -> tuple[MatchEvent, ...]:
    """End the match without a winner."""
    return _finish(match, Outcome.CANCELLED, -1)


def copy(match: Match) -> Match:
    """Return a match that advances apart from this one."""
    new = Match(match.settings, match.first_dealer)
    new.hand = hands.copy(match.hand) if match.hand else None
    new.result = match.result
    return new


def _check_seat(match: Match, seat: int) -> None:
    """Refuse a seat that is none: a negative one would name another from the end."""
    if not 0 <= seat < match.settings.players:
        raise ValueError("there is no such seat")


def _live(match: Match) -> Hand:
    if match.result:
        raise IllegalMoveError(Refusal.MATCH_OVER)
    if match.hand is None:
        raise IllegalMoveError(Refusal.MATCH_NOT_STARTED)
    return match.hand


def _and_end(match: Match, events: tuple[MatchEvent, ...]) -> tuple[MatchEvent, ...]:
    """Append the match's end where the last event brought it."""
    hand = match.hand
    if hand is None or hand.phase is not Phase.OVER:
        return events
    settings = match.settings
    if hand.winner >= 0:
        return events + _finish(match, Outcome.TARGET, hand.winner)
    if settings.length:
        if hand.number < settings.length:
            return events
        return events + _finish(match, Outcome.LENGTH, hands.leader(hand.scores, 0))
    if not settings.target:
        return events + _finish(match, Outcome.HAND, hands.leader(hand.scores, 0))
    winner = hands.leader(hand.scores, settings.target)
    return events if winner < 0 else events + _finish(match, Outcome.TARGET, winner)


def _finish(
    match: Match, outcome: Outcome, winner: int, fault: Fault | None = None
) -> tuple[MatchEvent, ...]:
    if match.result:
        raise IllegalMoveError(Refusal.MATCH_OVER)
    match.result = Finished(outcome, winner, match.scores, fault)
    return (match.result,)
