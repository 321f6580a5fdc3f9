"""One hand: thirty-six plays between a deal and a count.

`Hand` is a state that its caller owns; `deal`, `declare` and `play` check their input, advance it
and return what happened. Nothing else changes a state, and a refused input changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from ronda_core.cards import STEP
from ronda_core.fair import legal_table
from ronda_core.rules import ESTE_POINTS, PLAYS, RONDA, TRINGA, Settings


class Phase(StrEnum):
    """What a hand waits for."""

    DECLARE = "declare"
    PLAY = "play"
    OVER = "over"


class Refusal(StrEnum):
    """Why the rules or the state forbid an input."""

    NOT_YOUR_TURN = "NOT_YOUR_TURN"
    CARD_NOT_HELD = "CARD_NOT_HELD"
    DECLARATION_PENDING = "DECLARATION_PENDING"
    DECLARATION_CLOSED = "DECLARATION_CLOSED"
    DECLARATION_AUTOMATIC = "DECLARATION_AUTOMATIC"
    ALREADY_DECLARED = "ALREADY_DECLARED"
    FALSE_DECLARATION = "FALSE_DECLARATION"
    MATCH_NOT_STARTED = "MATCH_NOT_STARTED"
    MATCH_OVER = "MATCH_OVER"


class IllegalMoveError(Exception):
    """An input that the rules or the state forbid; the state is as it was."""

    def __init__(self, reason: Refusal) -> None:
        super().__init__(reason.value)
        self.reason = reason


class DeckError(ValueError):
    """Forty cards that may not be dealt."""


class Award(NamedTuple):
    """Points for a side."""

    plays: int
    """Plays made in this hand when they were paid."""
    side: int
    reason: str
    """ronda, tringa, este, missa, penalty, closing or cards."""
    points: int


class Dealt(NamedTuple):
    """A batch was dealt. Secret: `hands` belongs to its seats, one hand each."""

    hand: int
    batch: int
    dealer: int
    hands: tuple[tuple[int, ...], ...]
    table: tuple[int, ...]
    """The four cards turned up, in batch 1 only."""
    stock: int
    awards: tuple[Award, ...]
    scores: tuple[int, ...]
    turn: int
    """-1 while seats declare, or when the match is over."""

    def __repr__(self) -> str:
        return f"Dealt(hand={self.hand}, batch={self.batch})"


class Answered(NamedTuple):
    """A seat has answered the declaring step. Secret until the step is over: `declares`."""

    seat: int
    declares: bool

    def __repr__(self) -> str:
        return f"Answered(seat={self.seat})"


class Revealed(NamedTuple):
    """Every seat has answered: the kinds are public and paid."""

    batch: int
    kinds: tuple[tuple[int, str], ...]
    """Seat and kind of each declared set, by seat."""
    awards: tuple[Award, ...]
    scores: tuple[int, ...]
    turn: int


class Played(NamedTuple):
    """A card was played."""

    seat: int
    card: int
    captured: tuple[int, ...]
    """Taken from the table, upward from the card's rank, without the card itself."""
    reclaimed: tuple[int, ...]
    """Taken back from the pack of the link before."""
    link: int
    """0: no este; 1, 2, 3: the second, third, fourth equal card."""
    awards: tuple[Award, ...]
    scores: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Played(seat={self.seat})"


class Ended(NamedTuple):
    """A hand was counted."""

    hand: int
    leftovers: tuple[int, ...]
    side: int
    """Who took the leftovers."""
    piles: tuple[int, ...]
    """Cards captured by side, the leftovers among them."""
    awards: tuple[Award, ...]
    scores: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Ended(hand={self.hand})"


HandEvent = Dealt | Answered | Revealed | Played | Ended

_NO_CARDS: Final[tuple[int, ...]] = ()
_NO_AWARDS: Final[tuple[Award, ...]] = ()
# A set's strength, for comparing: rondas 1 to 10 by rank, then tringas. 0 is no set.
_TRINGA_STRENGTH: Final = 10
_POINTS: Final = (0, *[RONDA] * 10, *[TRINGA] * 10)
_KINDS: Final = ("", *["ronda"] * 10, *["tringa"] * 10)
_PLAY: Final = Phase.PLAY
_DECLARE: Final = Phase.DECLARE
_OVER: Final = Phase.OVER
_EMPTY: Final = tuple([0] * count for count in range(11))
"""What a capture of so many cards leaves on the table."""
_new = tuple.__new__  # what NamedTuple's own constructor calls, without the frame around it


class Hand:
    """A hand at one moment. Read it freely; change it only through this module."""

    __slots__ = (
        "answers",
        "batch",
        "chain_link",
        "chain_step",
        "dealer",
        "deck",
        "declared",
        "hands",
        "last",
        "last_capturer",
        "left",
        "number",
        "on_table",
        "pack",
        "pack_side",
        "packets",
        "phase",
        "piles",
        "plays",
        "scores",
        "settings",
        "strengths",
        "table",
        "turn",
        "winner",
    )

    settings: Settings
    number: int
    """From 1 in its match."""
    dealer: int
    deck: tuple[int, ...]
    """Secret: all 40 cards in dealing order."""
    scores: tuple[int, ...]
    """By side, of the match so far."""
    batch: int
    phase: Phase
    turn: int
    """-1 while seats declare and when the hand is over."""
    left: int
    """Plays left in this batch."""
    hands: list[list[int]]
    """Secret: cards held, by seat."""
    table: list[int]
    """Card by step of its rank; 0: none. One more place, always 0, ends every run."""
    on_table: int
    piles: list[int]
    """Cards captured, by side."""
    last_capturer: int
    """Side; -1: nobody yet."""
    chain_step: int
    """Step that the next link must have; -1: no chain."""
    chain_link: int
    """Links so far."""
    pack: tuple[int, ...]
    """What the next link would take back."""
    pack_side: int
    packets: list[tuple[tuple[int, ...], ...]]
    """Secret: the cards dealt, by batch and seat."""
    plays: list[int]
    """Cards in the order they were played."""
    last: Played | None
    strengths: list[int]
    """Secret: sets dealt in this batch, by seat; 0: none, else comparable."""
    answers: list[bool | None]
    """Secret while somebody's is missing."""
    declared: list[tuple[int, int, str]]
    """Batch, seat and kind of every set declared in this hand."""
    winner: int
    """Side that has won the match at once; -1: none."""

    def __repr__(self) -> str:
        return f"<Hand {self.number}, {len(self.plays)} plays made>"


def deal(
    settings: Settings, number: int, dealer: int, deck: Sequence[int], scores: tuple[int, ...]
) -> tuple[Hand, tuple[HandEvent, ...]]:
    """Return hand `number` with its first batch and table dealt, and the events of it.

    `deck` is all 40 cards in dealing order; `DeckError` if it is not, or if its first table is
    illegal.
    """
    first = settings.batch_plays
    if len(deck) != 40 or set(deck) != _WHOLE_PACK:
        raise DeckError("a deck is the 40 different cards")
    if not legal_table(deck[first : first + 4]):
        raise DeckError("the first table has a pair or a run of four")
    hand = Hand()
    hand.settings = settings
    hand.number = number
    hand.dealer = dealer
    hand.deck = deck = tuple(deck)
    hand.packets = [
        tuple([deck[at : at + 3] for at in starts]) for starts in settings.packets[dealer]
    ]
    hand.scores = scores
    hand.batch = 0
    hand.phase = _PLAY
    hand.table = [0] * 11
    for card in hand.deck[first : first + 4]:
        hand.table[STEP[card]] = card
    hand.on_table = 4
    hand.piles = [0] * settings.sides
    hand.last_capturer = -1
    hand.pack_side = -1
    hand.plays = []
    hand.last = None
    hand.answers = []
    hand.strengths = []
    hand.declared = []
    hand.winner = -1
    return hand, (_deal_batch(hand),)


def declare(hand: Hand, seat: int, declares: bool) -> tuple[HandEvent, ...]:
    """Take `seat`'s answer to the declaring step; the last answer reveals and pays the sets."""
    if not hand.settings.declares:
        raise IllegalMoveError(Refusal.DECLARATION_AUTOMATIC)
    if hand.phase is not _DECLARE:
        closed = hand.phase is _PLAY
        raise IllegalMoveError(Refusal.DECLARATION_CLOSED if closed else Refusal.MATCH_OVER)
    if hand.answers[seat] is not None:
        raise IllegalMoveError(Refusal.ALREADY_DECLARED)
    if declares and not hand.strengths[seat]:
        raise IllegalMoveError(Refusal.FALSE_DECLARATION)
    hand.answers[seat] = declares
    answered = Answered(seat, declares)
    if None in hand.answers:
        return (answered,)
    return (answered, _reveal(hand))


def play(hand: Hand, card: int) -> tuple[HandEvent, ...]:
    """Play `card` from the hand of the seat whose turn it is.

    The events are the play, then the next batch's deal or, after play 36, the count.
    """
    # The hot path of every search and simulation: it calls nothing until something is paid or
    # a batch is over.
    if hand.phase is not _PLAY:
        pending = hand.phase is _DECLARE
        raise IllegalMoveError(Refusal.DECLARATION_PENDING if pending else Refusal.MATCH_OVER)
    seat = hand.turn
    try:
        hand.hands[seat].remove(card)
    except ValueError:
        raise IllegalMoveError(Refusal.CARD_NOT_HELD) from None
    hand.plays.append(card)
    hand.left = left = hand.left - 1
    settings = hand.settings
    table = hand.table
    step = STEP[card]
    link = hand.chain_link + 1 if step == hand.chain_step else 0
    captured = reclaimed = _NO_CARDS
    if link > 1 and hand.pack:
        reclaimed = _reclaim(hand, settings.side_of[seat], card)
    elif table[step]:
        end = step + 1
        while table[end]:
            end += 1
        captured = tuple(table[step:end])
        count = end - step
        table[step:end] = _EMPTY[count]
        hand.on_table -= count
        side = settings.side_of[seat]
        hand.piles[side] += count + 1
        hand.last_capturer = side
        if link and settings.reclaims:
            hand.pack = (card, *captured)
            hand.pack_side = side
        else:
            hand.pack = _NO_CARDS
    else:
        table[step] = card
        hand.on_table += 1
        hand.pack = _NO_CARDS
    if settings.este_takes:
        # What took without being a link starts no chain; the longest chain ends itself.
        over = link == settings.links if link else captured
        hand.chain_step = -1 if over else step
    else:
        hand.chain_step = step
    hand.chain_link = link

    hand.turn = settings.next_seat[seat]
    if not link and hand.on_table and (left or hand.batch <= settings.silent_batches):
        hand.last = played = _new(
            Played, (seat, card, captured, reclaimed, 0, _NO_AWARDS, hand.scores)
        )
        return (played,) if left else (played, _deal_batch(hand))
    return _settle(hand, seat, card, captured, reclaimed, link)


def copy(hand: Hand) -> Hand:
    """Return a hand that advances apart from this one."""
    new = Hand()
    new.settings = hand.settings
    new.number = hand.number
    new.dealer = hand.dealer
    new.deck = hand.deck
    new.scores = hand.scores
    new.batch = hand.batch
    new.phase = hand.phase
    new.turn = hand.turn
    new.left = hand.left
    new.hands = [held[:] for held in hand.hands]
    new.table = hand.table[:]
    new.on_table = hand.on_table
    new.piles = hand.piles[:]
    new.last_capturer = hand.last_capturer
    new.chain_step = hand.chain_step
    new.chain_link = hand.chain_link
    new.pack = hand.pack
    new.pack_side = hand.pack_side
    new.packets = hand.packets
    new.plays = hand.plays[:]
    new.last = hand.last
    new.strengths = hand.strengths[:]
    new.answers = hand.answers[:]
    new.declared = hand.declared[:]
    new.winner = hand.winner
    return new


def set_kind(hand: Hand, seat: int) -> str | None:
    """Return the kind of set that `seat` was dealt in this batch, or None. Secret."""
    strength = hand.strengths[seat] if hand.strengths else 0
    return _KINDS[strength] if strength else None


_WHOLE_PACK: Final = frozenset(range(1, 41))


def _reclaim(hand: Hand, side: int, card: int) -> tuple[int, ...]:
    """Take over the pack of the link before, and make the new pack of it and `card`."""
    reclaimed = hand.pack
    hand.piles[hand.pack_side] -= len(reclaimed)
    hand.piles[side] += len(reclaimed) + 1
    hand.last_capturer = side
    hand.pack = (card, *reclaimed)
    hand.pack_side = side
    return reclaimed


def _settle(
    hand: Hand,
    seat: int,
    card: int,
    captured: tuple[int, ...],
    reclaimed: tuple[int, ...],
    link: int,
) -> tuple[HandEvent, ...]:
    """Pay what a play earns in the order of the rules, then deal on or end the hand.

    Once the match is won nothing later is paid, dealt or counted.
    """
    settings = hand.settings
    side = settings.side_of[seat]
    awards = _NO_AWARDS
    if link:
        awards = (_award(hand, side, "este", ESTE_POINTS[link]),)
    last_play = len(hand.plays) == PLAYS
    took = captured or reclaimed
    swept = took and not hand.on_table and (not last_play or settings.preset.missa_on_last)
    if swept and hand.winner < 0:
        awards += (_award(hand, side, "missa", 1),)
    if not hand.left and hand.winner < 0:
        if settings.preset.penalties:
            awards += _pay(hand, _penalties(hand))
        if last_play and settings.preset.closing:
            awards += _pay(hand, _closing(hand, card, bool(took)))
    played = Played(seat, card, captured, reclaimed, link, awards, hand.scores)
    hand.last = played
    if hand.left or hand.winner >= 0:
        return (played,)
    return (played, _end(hand) if last_play else _deal_batch(hand))


def _award(hand: Hand, side: int, reason: str, points: int) -> Award:
    """Pay one side, and see whether that wins the match."""
    scores = [*hand.scores]
    scores[side] += points
    hand.scores = tuple(scores)
    if hand.settings.immediate:
        _check(hand)
    award: Award = _new(Award, (len(hand.plays), side, reason, points))
    return award


def _pay(hand: Hand, shares: Sequence[tuple[int, str, int]]) -> tuple[Award, ...]:
    """Pay several sides in one award: its shares are added first, then the match is checked."""
    if not shares:
        return _NO_AWARDS
    scores = [*hand.scores]
    for side, _, points in shares:
        scores[side] += points
    hand.scores = tuple(scores)
    if hand.settings.immediate:
        _check(hand)
    made = len(hand.plays)
    return tuple(Award(made, side, reason, points) for side, reason, points in shares)


def _check(hand: Hand) -> None:
    winner = leader(hand.scores, hand.settings.target)
    if winner >= 0:
        hand.winner = winner
        hand.phase = _OVER
        hand.turn = -1


def leader(scores: Sequence[int], target: int) -> int:
    """Return the side at or over `target` and strictly ahead of all others, or -1."""
    best = max(scores)
    if best < target or scores.count(best) > 1:
        return -1
    return scores.index(best)


def _penalties(hand: Hand) -> list[tuple[int, str, int]]:
    """Return what sets kept silent pay to the opposing sides, summed by side."""
    settings = hand.settings
    owed = [0] * settings.sides
    for seat, strength in enumerate(hand.strengths):
        if strength and not hand.answers[seat]:
            for side in range(settings.sides):
                if side != settings.side_of[seat]:
                    owed[side] += _POINTS[strength]
    return [(side, "penalty", points) for side, points in enumerate(owed) if points]


def _closing(hand: Hand, card: int, took: bool) -> list[tuple[int, str, int]]:
    """Judge the dealer's last card: a 12 that takes is the dealer's, a 1 or nothing is not."""
    dealer = hand.settings.side_of[hand.dealer]
    step = STEP[card]
    if took and step == 9:
        return [(dealer, "closing", 5)]
    if not took or step == 0:
        return [(1 - dealer, "closing", 5)]
    return []


def _end(hand: Hand) -> Ended:
    """End the hand: the leftovers go to the last capturer, then the cards are counted."""
    leftovers = tuple(card for card in hand.table if card)
    side = hand.last_capturer
    hand.piles[side] += len(leftovers)
    hand.table = [0] * 11
    hand.on_table = 0
    hand.pack = _NO_CARDS
    hand.chain_step = -1
    hand.phase = _OVER
    hand.turn = -1
    share = hand.settings.fair_share
    counts = enumerate(hand.piles)
    awards = _pay(hand, [(at, "cards", count - share) for at, count in counts if count > share])
    return Ended(hand.number, leftovers, side, tuple(hand.piles), awards, hand.scores)


def _deal_batch(hand: Hand) -> Dealt:
    """Deal three cards to each seat, starting after the dealer, and open the batch."""
    batch = hand.batch
    settings = hand.settings
    dealt = hand.packets[batch]
    hand.hands = [[*held] for held in dealt]
    hand.batch = batch = batch + 1
    hand.left = settings.batch_plays
    hand.turn = settings.next_seat[hand.dealer]
    hand.chain_step = -1
    hand.chain_link = 0
    hand.pack = _NO_CARDS
    awards = _NO_AWARDS
    if settings.has_sets:
        hand.strengths = strengths = [
            _STRENGTH[_HUNDREDS[a] + _TENS[b] + STEP[c]] for a, b, c in dealt
        ]
        if settings.declares:
            hand.answers = [None] * settings.players
            hand.phase = _DECLARE
            hand.turn = -1
        elif max(strengths):
            awards = _pay_sets(hand, strengths)
    first = settings.batch_plays
    table = hand.deck[first : first + 4] if batch == 1 else _NO_CARDS
    dealt_event: Dealt = _new(
        Dealt,
        (
            hand.number,
            batch,
            hand.dealer,
            dealt,
            table,
            PLAYS - batch * first,
            awards,
            hand.scores,
            hand.turn,
        ),
    )
    return dealt_event


def _reveal(hand: Hand) -> Revealed:
    """Publish the kinds of all declared sets, pay them, and open the plays of the batch."""
    settings = hand.settings
    hand.phase = _PLAY
    hand.turn = settings.next_seat[hand.dealer]
    told = [
        strength if answer else 0
        for strength, answer in zip(hand.strengths, hand.answers, strict=True)
    ]
    kinds = tuple((seat, _KINDS[strength]) for seat, strength in enumerate(told) if strength)
    hand.declared += [(hand.batch, seat, kind) for seat, kind in kinds]
    awards = _pay_sets(hand, told) if kinds else _NO_AWARDS
    return Revealed(hand.batch, kinds, awards, hand.scores, hand.turn)


def _pay_sets(hand: Hand, strengths: Sequence[int]) -> tuple[Award, ...]:
    """Pay the best set the points of all, split where opposing sides tie for it."""
    best = max(strengths)
    side_of = hand.settings.side_of
    kind = _KINDS[best]
    if strengths.count(0) == len(strengths) - 1:
        return (_award(hand, side_of[strengths.index(best)], kind, _POINTS[best]),)
    total = sum([_POINTS[strength] for strength in strengths])
    sides = sorted({side_of[seat] for seat, strength in enumerate(strengths) if strength == best})
    return _pay(hand, [(side, kind, total // len(sides)) for side in sides])


def _strength(a: int, b: int, c: int) -> int:
    """Return a comparable number for the set in three ranks, as steps; 0: none."""
    if a == b == c:
        return _TRINGA_STRENGTH + a + 1
    if a in (b, c):
        return a + 1
    return b + 1 if b == c else 0


_STRENGTH: Final = tuple(_strength(n // 100, n // 10 % 10, n % 10) for n in range(1000))
"""Strength by the steps of three cards, read as three digits."""

_HUNDREDS: Final = tuple(step * 100 for step in STEP)
_TENS: Final = tuple(step * 10 for step in STEP)
