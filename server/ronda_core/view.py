"""What each viewer may know: the one maker of views and of the events that viewers see.

Every type here lacks a field for a secret. Nothing is scrubbed from a state: a view is built
afresh from what the rules make public, and a seat's own hand is added. No other code reads a hand
on behalf of a client. Source: the rules document, "What each viewer may know".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ronda_core import hand as hands
from ronda_core.cards import CARDS, PACK, RANKS, Card, by_rank
from ronda_core.hand import Answered, Award, Dealt, Ended, Hand, Played, Revealed
from ronda_core.match import Finished, Match, MatchEvent


class Play(NamedTuple):
    """One card played, and what it took."""

    seat: int
    card: Card
    captured: tuple[Card, ...]
    """Taken from the table, in ascending rank, without the card played."""
    reclaimed: tuple[Card, ...]
    link: int
    """0: no este; 1, 2, 3: the second, third, fourth equal card in a row."""


class Declared(NamedTuple):
    """A set that a seat has declared in this hand."""

    batch: int
    seat: int
    kind: str
    """ronda or tringa; never the rank."""


class CardsDealt(NamedTuple):
    """A batch was dealt; `hand` is the viewer's own, empty for a spectator."""

    hand_number: int
    batch: int
    dealer: int
    hand: tuple[Card, ...]
    hand_sizes: tuple[int, ...]
    table: tuple[Card, ...]
    """The four cards turned up, in batch 1 only."""
    stock: int
    awards: tuple[Award, ...]
    scores: tuple[int, ...]
    turn: int | None

    def __repr__(self) -> str:
        return f"CardsDealt(hand_number={self.hand_number}, batch={self.batch})"


class DeclarationAnswered(NamedTuple):
    """A seat has answered; what it answered is told when all have."""

    seat: int


class DeclarationsRevealed(NamedTuple):
    """All seats have answered: who declared what, and what it was paid."""

    declared: tuple[Declared, ...]
    awards: tuple[Award, ...]
    scores: tuple[int, ...]
    turn: int | None


class CardPlayed(NamedTuple):
    """A card was played; `turn` is None when the batch or the match is over."""

    play: Play
    awards: tuple[Award, ...]
    scores: tuple[int, ...]
    pile_counts: tuple[int, ...]
    turn: int | None


class HandEnded(NamedTuple):
    """A hand was counted: leftovers to the side that captured last, then the count."""

    hand_number: int
    leftovers: tuple[Card, ...]
    leftovers_side: int
    pile_counts: tuple[int, ...]
    awards: tuple[Award, ...]
    scores: tuple[int, ...]


class MatchEnded(NamedTuple):
    """The match is over; `winner` is a side, None for a draw or nobody."""

    outcome: str
    winner: int | None
    scores: tuple[int, ...]
    fault_seat: int | None
    fault_cause: str | None


Event = (
    CardsDealt | DeclarationAnswered | DeclarationsRevealed | CardPlayed | HandEnded | MatchEnded
)
"""What a viewer is told, one kind a time."""


@dataclass(frozen=True, slots=True, repr=False)
class PublicView:
    """A match as anyone may see it."""

    sequence: int
    """Number of the last event that it takes in."""
    players: int
    rules: str
    target: int
    length: int
    hand_number: int
    """From 1; 0 before the first deal."""
    batch: int
    dealer: int
    turn: int | None
    """The seat to play; None while seats declare and when nothing is to be played."""
    phase: str
    """waiting, declare, play or over."""
    hand_sizes: tuple[int, ...]
    table: tuple[Card, ...]
    """In ascending rank; never two of a rank."""
    first_table: tuple[Card, ...]
    """The four cards turned up at the start of this hand."""
    plays: tuple[Card, ...]
    """This hand's plays in order; the first is the seat's after the dealer."""
    last_play: Play | None
    stock: int
    """Cards not dealt yet."""
    pile_counts: tuple[int, ...]
    """By side."""
    scores: tuple[int, ...]
    """By side."""
    chain_rank: int
    """The rank that the next play must have to be a link, which follows from the plays; 0: none."""
    chain_link: int
    """Links of that chain so far."""
    pack: tuple[Card, ...]
    """What the next link would take back."""
    last_capturer: int | None
    """Side."""
    declared: tuple[Declared, ...]
    """In this hand."""
    answered: tuple[int, ...]
    """Seats that have answered the declaring step that is open."""
    clock: float | None
    """Seconds left for the decision that is open; None: no limit."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.sequence}>"

    def side_of(self, seat: int) -> int:
        """Return the side that `seat` belongs to."""
        return seat % 2 if self.players == 4 else seat


@dataclass(frozen=True, slots=True, repr=False)
class View(PublicView):
    """A match as one seat may see it: the public view and the seat's own hand."""

    seat: int
    hand: tuple[Card, ...]
    """The seat's own cards in ascending rank."""
    may_declare: bool
    """The seat holds a set that it may declare now."""

    @property
    def side(self) -> int:
        """The side of this seat."""
        return self.side_of(self.seat)

    @property
    def unseen(self) -> tuple[Card, ...]:
        """Cards that this seat has not seen in this hand: other hands and the stock."""
        seen = {*self.hand, *self.plays, *self.first_table}
        return tuple(card for card in PACK if card not in seen)


class Private(NamedTuple):
    """What a seat's view adds to the public one."""

    seat: int
    hand: tuple[Card, ...]
    may_declare: bool

    def __repr__(self) -> str:
        return f"Private(seat={self.seat})"


def public(match: Match, sequence: int = 0, clock: float | None = None) -> PublicView:
    """Return what anyone may know of `match`; `sequence` and `clock` are the caller's."""
    return PublicView(*_public(match, sequence, clock))


def _public(match: Match, sequence: int, clock: float | None) -> tuple[Any, ...]:
    """Return the values of a public view, in the order of its fields."""
    settings = match.settings
    hand = match.hand
    if hand is None:
        return (
            sequence,
            settings.players,
            settings.preset.name,
            settings.target,
            settings.length,
            0,
            0,
            match.first_dealer,
            None,
            "over" if match.result else "waiting",
            (0,) * settings.players,
            (),
            (),
            (),
            None,
            40,
            (0,) * settings.sides,
            match.scores,
            0,
            0,
            (),
            None,
            (),
            (),
            clock,
        )
    over = match.result is not None or hand.phase is hands.Phase.OVER
    chained = hand.chain_step >= 0 and not over
    # A tuple: this is made for every decision of every bot, and names cost a third more.
    return (
        sequence,
        settings.players,
        settings.preset.name,
        settings.target,
        settings.length,
        hand.number,
        hand.batch,
        hand.dealer,
        None if over or hand.turn < 0 else hand.turn,
        "over" if over else hand.phase.value,
        tuple(map(len, hand.hands)),
        tuple([CARDS[card] for card in hand.table if card]),
        by_rank(hand.deck[settings.batch_plays : settings.batch_plays + 4]),
        tuple([CARDS[card] for card in hand.plays]),
        _play(hand.last) if hand.last else None,
        36 - hand.batch * settings.batch_plays,
        tuple(hand.piles),
        hand.scores,
        RANKS[hand.chain_step] if chained else 0,
        hand.chain_link if chained else 0,
        by_rank(hand.pack) if chained else (),
        None if hand.last_capturer < 0 else hand.last_capturer,
        tuple([Declared(*told) for told in hand.declared]),
        _answered(hand),
        clock,
    )


def private(match: Match, seat: int) -> Private:
    """Return what `seat` alone may know of `match`."""
    hand = match.hand
    if hand is None:
        return Private(seat, (), False)
    waits = hand.phase is hands.Phase.DECLARE and hand.answers[seat] is None and not match.result
    return Private(seat, by_rank(hand.hands[seat]), waits and hand.strengths[seat] > 0)


def view(match: Match, seat: int, sequence: int = 0, clock: float | None = None) -> View:
    """Return what `seat` may know of `match`."""
    values: tuple[Any, ...] = (*_public(match, sequence, clock), *private(match, seat))
    return View(*values)


def story(match: Match, events: Iterable[MatchEvent], seat: int | None = None) -> list[Event]:
    """Return the events of one step as `seat`, or a spectator, is told them.

    `match` is the state after the step. The list is as long as `events`: an event that a viewer
    may not know in full is told in part, never dropped.
    """
    told = list(events)
    return [
        _tell(match, event, told[at + 1] if at + 1 < len(told) else None, seat)
        for at, event in enumerate(told)
    ]


def ended(event: Finished) -> MatchEnded:
    """Return how a match ended, as everyone is told."""
    fault = event.fault
    return MatchEnded(
        event.outcome.value,
        _seat_or_none(event.winner),
        event.scores,
        fault.seat if fault else None,
        fault.cause.value if fault else None,
    )


def _tell(match: Match, event: MatchEvent, following: MatchEvent | None, seat: int | None) -> Event:
    if isinstance(event, Played):
        return _tell_play(match, event, following)
    if isinstance(event, Dealt):
        return CardsDealt(
            event.hand,
            event.batch,
            event.dealer,
            () if seat is None else by_rank(event.hands[seat]),
            tuple(map(len, event.hands)),
            by_rank(event.table),
            event.stock,
            event.awards,
            event.scores,
            _seat_or_none(event.turn),
        )
    if isinstance(event, Answered):
        return DeclarationAnswered(event.seat)
    if isinstance(event, Revealed):
        declared = tuple(Declared(event.batch, seat_, kind) for seat_, kind in event.kinds)
        return DeclarationsRevealed(declared, event.awards, event.scores, _seat_or_none(event.turn))
    if isinstance(event, Ended):
        return HandEnded(
            event.hand,
            by_rank(event.leftovers),
            event.side,
            event.piles,
            event.awards,
            event.scores,
        )
    return ended(event)


def _tell_play(match: Match, event: Played, following: MatchEvent | None) -> CardPlayed:
    hand = match.hand
    assert hand is not None
    piles = hand.piles
    if isinstance(following, Ended):
        piles = list(following.piles)
        piles[following.side] -= len(following.leftovers)
    turn = None if following else _seat_or_none(hand.turn)
    return CardPlayed(_play(event), event.awards, event.scores, tuple(piles), turn)


def _play(event: Played) -> Play:
    return Play(
        event.seat,
        CARDS[event.card],
        tuple([CARDS[card] for card in event.captured]),
        by_rank(event.reclaimed) if event.reclaimed else (),
        event.link,
    )


def _seat_or_none(number: int) -> int | None:
    return None if number < 0 else number


def _answered(hand: Hand) -> tuple[int, ...]:
    if hand.phase is not hands.Phase.DECLARE:
        return ()
    return tuple(seat for seat, answer in enumerate(hand.answers) if answer is not None)
