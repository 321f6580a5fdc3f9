"""One hand: thirty-six plays between a deal and a count.

`Hand` is a state that its caller owns; `deal`, `declare` and `play` check their input, advance it
and return what happened. Nothing else changes a state, and a refused input changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ronda_core.awards import closing, leader, pay, pay_one, pay_sets, penalties
from ronda_core.cards import STEP
from ronda_core.events import (
    Answered,
    Award,
    Dealt,
    Ended,
    HandEvent,
    Played,
    Revealed,
    new_answered,
    new_dealt,
    new_ended,
    new_played,
    new_revealed,
)
from ronda_core.fair import legal_table
from ronda_core.rules import ESTE_POINTS, PLAYS, Settings
from ronda_core.sets import KINDS, STRENGTH
from ronda_core.state import DeckError, Hand, IllegalMoveError, Phase, Refusal, copy, set_kind

__all__ = [
    "Answered",
    "Award",
    "Dealt",
    "DeckError",
    "Ended",
    "Hand",
    "HandEvent",
    "IllegalMoveError",
    "Phase",
    "Played",
    "Refusal",
    "Revealed",
    "copy",
    "deal",
    "declare",
    "leader",
    "play",
    "set_kind",
]


_PLAY: Final = Phase.PLAY
_DECLARE: Final = Phase.DECLARE
_OVER: Final = Phase.OVER
_BARE: Final = [0] * 11
"""A table without a card; copied, never changed."""


def deal(
    settings: Settings, number: int, dealer: int, deck: Sequence[int], scores: tuple[int, ...]
) -> tuple[Hand, tuple[HandEvent, ...]]:
    """Return hand `number` with its first batch and table dealt, and the events of it.

    `deck` is all 40 cards in dealing order; `DeckError` if it is not, or if its first table is
    illegal.
    """
    deck = tuple(deck)
    if not _is_pack(deck):
        raise DeckError("a deck is the 40 different cards")
    turned_up = deck[settings.batch_plays : settings.batch_plays + 4]
    if not legal_table(turned_up):
        raise DeckError("the first table has a pair or a run of four")
    hand = Hand()
    hand.settings = settings
    hand.number = number
    hand.dealer = dealer
    hand.deck = deck
    hand.scores = scores
    hand.batch = 0
    hand.phase = _PLAY
    hand.table = table = _BARE[:]
    for card in turned_up:
        table[STEP[card]] = card
    hand.piles = [0] * settings.sides
    hand.last_capturer = -1
    hand.pack_side = -1
    hand.plays = []
    hand.last = None
    hand.strengths = []
    hand.answers = []
    hand.declared = []
    hand.winner = -1
    return hand, (_deal_batch(hand, turned_up),)


def declare(hand: Hand, seat: int, declares: bool) -> tuple[HandEvent, ...]:
    """Take `seat`'s answer to the declaring step; the last answer reveals and pays the sets."""
    if hand.phase is not _DECLARE:
        raise IllegalMoveError(_why_not_declare(hand))
    answers = hand.answers
    if answers[seat] is not None:
        raise IllegalMoveError(Refusal.ALREADY_DECLARED)
    if declares and not hand.strengths[seat]:
        raise IllegalMoveError(Refusal.FALSE_DECLARATION)
    answers[seat] = declares
    answered = new_answered((seat, declares))
    return (answered,) if None in answers else (answered, _reveal(hand))


def play(hand: Hand, card: int) -> tuple[HandEvent, ...]:
    """Play `card` from the hand of the seat whose turn it is.

    The events are the play, then the next batch's deal or, after play 36, the count.
    """
    # The hot path of every search and simulation: it calls only for what is rarer.
    seat = hand.turn
    if seat < 0:
        raise IllegalMoveError(_why_not_play(hand))
    held = hand.hands[seat]
    try:
        held.remove(card)
    except ValueError:
        raise IllegalMoveError(Refusal.CARD_NOT_HELD) from None
    hand.plays.append(card)
    settings = hand.settings
    hand.turn = settings.next_seat[seat]
    step = STEP[card]
    if step == hand.chain_step:
        return _link(hand, seat, card)
    hand.chain_link = 0
    hand.pack = ()
    table = hand.table
    if table[step]:
        captured = _capture(hand, settings.side_of[seat], step)
        # What took without being a link starts no chain where an este must take.
        hand.chain_step = -1 if settings.este_takes else step
        if table == _BARE:  # a missa
            return _settle(hand, seat, card, captured, (), 0)
    else:
        captured = ()
        table[step] = card
        hand.chain_step = step
    if held or seat != hand.dealer:
        hand.last = played = new_played((seat, card, captured, (), 0, (), hand.scores))
        return (played,)
    if hand.owed or hand.batch == settings.batches:
        return _settle(hand, seat, card, captured, (), 0)
    hand.last = played = new_played((seat, card, captured, (), 0, (), hand.scores))
    return (played, _deal_batch(hand))


def _is_pack(deck: Sequence[int]) -> bool:
    """Say whether these are the forty different cards."""
    try:
        return len(deck) == 40 and not _PACK.translate(None, bytes(deck))
    except (TypeError, ValueError):  # not even numbers of cards
        return False


_PACK: Final = bytes(range(1, 41))


def _why_not_play(hand: Hand) -> Refusal:
    pending = hand.phase is _DECLARE
    return Refusal.DECLARATION_PENDING if pending else Refusal.MATCH_OVER


def _why_not_declare(hand: Hand) -> Refusal:
    if not hand.settings.declares:
        return Refusal.DECLARATION_AUTOMATIC
    return Refusal.DECLARATION_CLOSED if hand.phase is _PLAY else Refusal.MATCH_OVER


def _capture(hand: Hand, side: int, step: int) -> tuple[int, ...]:
    """Move a run from the table to the pile of `side`, and the card that takes it."""
    table = hand.table
    hand.last_capturer = side
    if not table[step + 1]:  # a run of one
        captured: tuple[int, ...] = (table[step],)
        table[step] = 0
        hand.piles[side] += 2
        return captured
    end = table.index(0, step + 2)
    captured = tuple(table[step:end])
    table[step:end] = _BARE[step:end]
    hand.piles[side] += end - step + 1
    return captured


def _link(hand: Hand, seat: int, card: int) -> tuple[HandEvent, ...]:
    """Continue the chain: `card` takes back the pack of the link before, if there is one."""
    settings = hand.settings
    side = settings.side_of[seat]
    step = hand.chain_step
    hand.chain_link = link = hand.chain_link + 1
    captured: tuple[int, ...] = ()
    reclaimed = hand.pack
    if reclaimed:
        hand.piles[hand.pack_side] -= len(reclaimed)
        hand.piles[side] += len(reclaimed) + 1
        hand.last_capturer = side
    elif hand.table[step]:
        captured = _capture(hand, side, step)
    else:
        hand.table[step] = card
    if link == settings.links:  # the longest chain ends itself
        hand.chain_step = -1
        hand.pack = ()
    elif settings.reclaims and (captured or reclaimed):
        hand.pack = (card, *captured, *reclaimed)
        hand.pack_side = side
    return _settle(hand, seat, card, captured, reclaimed, link)


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
    awards: tuple[Award, ...] = ()
    if link:
        awards = pay_one(hand, settings.side_of[seat], "este", ESTE_POINTS[link])
    ends = not hand.hands[hand.dealer]
    last_play = ends and hand.batch == settings.batches
    took = captured or reclaimed
    missa = took and hand.table == _BARE and (not last_play or settings.preset.missa_on_last)
    if missa and hand.winner < 0:
        awards += pay_one(hand, settings.side_of[seat], "missa", 1)
    if ends and hand.winner < 0:
        if hand.owed:
            awards += pay(hand, "penalty", hand.owed)
        if last_play and settings.preset.closing:
            awards += pay(hand, "closing", closing(hand, card, bool(took)))
    hand.last = played = new_played((seat, card, captured, reclaimed, link, awards, hand.scores))
    if not ends or hand.winner >= 0:
        return (played,)
    return (played, _end(hand) if last_play else _deal_batch(hand))


def _end(hand: Hand) -> Ended:
    """End the hand: the leftovers go to the last capturer, then the cards are counted."""
    leftovers = tuple(filter(None, hand.table))
    side = hand.last_capturer
    hand.piles[side] += len(leftovers)
    hand.table = _BARE[:]
    hand.phase = _OVER
    hand.turn = -1
    share = hand.settings.fair_share
    awards = pay(hand, "cards", [max(0, count - share) for count in hand.piles])
    return new_ended((hand.number, leftovers, side, tuple(hand.piles), awards, hand.scores))


def _deal_batch(hand: Hand, turned_up: tuple[int, ...] = ()) -> Dealt:
    """Deal three cards to each seat, starting after the dealer, and open the batch."""
    settings = hand.settings
    dealer = hand.dealer
    packets = settings.readers[dealer][hand.batch](hand.deck)
    hand.hands = hands = []
    hand.strengths = strengths = []
    for a, b, c in packets:
        hands.append([a, b, c])
        strengths.append(STRENGTH[a][b][c])
    hand.batch = batch = hand.batch + 1
    hand.turn = settings.next_seat[dealer]
    hand.chain_step = -1
    hand.chain_link = 0
    hand.pack = ()
    hand.owed = ()
    awards: tuple[Award, ...] = ()
    if settings.declares:
        hand.answers = [None] * settings.players
        hand.phase = _DECLARE
        hand.turn = -1
    elif settings.has_sets and any(strengths):
        awards = pay_sets(hand, strengths)
    stock = PLAYS - batch * settings.batch_plays
    return new_dealt(
        (hand.number, batch, dealer, packets, turned_up, stock, awards, hand.scores, hand.turn)
    )


def _reveal(hand: Hand) -> Revealed:
    """Publish the kinds of all declared sets, pay them, and open the plays of the batch."""
    hand.phase = _PLAY
    hand.turn = hand.settings.next_seat[hand.dealer]
    kinds: list[tuple[int, str]] = []
    awards: tuple[Award, ...] = ()
    if True in hand.answers:
        strengths = hand.strengths[:]
        for seat, answer in enumerate(hand.answers):
            if answer:
                kind = KINDS[strengths[seat]]
                kinds.append((seat, kind))
                hand.declared.append((hand.batch, seat, kind))
            else:
                strengths[seat] = 0
        awards = pay_sets(hand, strengths)
    if hand.settings.preset.penalties:
        hand.owed = penalties(hand)
    return new_revealed((hand.batch, tuple(kinds), awards, hand.scores, hand.turn))
