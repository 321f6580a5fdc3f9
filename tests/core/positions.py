"""Positions that tests set up: decks with chosen cards in chosen places, hands in the middle."""

from __future__ import annotations

from collections.abc import Sequence

from ronda_core import match as matches
from ronda_core.cards import PACK, STEP, cards_text, parse_card
from ronda_core.hand import Hand, Phase
from ronda_core.match import Match
from ronda_core.rules import PRESETS, settings

FULL_PACK = cards_text(PACK).split()
TABLES = [(rules, players) for rules, preset in PRESETS.items() for players in preset.players]


def numbers(cards: Sequence[str]) -> list[int]:
    return [parse_card(card) for card in cards]


def others(*used: Sequence[str]) -> list[str]:
    """The cards of the pack that are in none of the given collections."""
    taken = {card for cards in used for card in cards}
    return [card for card in FULL_PACK if card not in taken]


def deck_with(
    players: int,
    dealer: int,
    *batches: Sequence[Sequence[str]],
    table: Sequence[str] | None = None,
) -> list[int]:
    """A deck that deals these hands, by seat, in the first batches, and this first table.

    Hands are filled up to three cards; without a table, a legal one is taken from what is left.
    """
    wanted = [card for batch in batches for hand in batch for card in hand]
    free = others(wanted, table or [])
    if table is None:
        by_step = {STEP[parse_card(card)]: card for card in free}
        table = [by_step[step] for step in sorted(by_step)[::2]][:4]
        free = others(wanted, table)
    dealt: list[str] = []
    for batch in range(36 // (3 * players)):
        for place in range(players):
            seat = (dealer + 1 + place) % players
            packet = list(batches[batch][seat]) if batch < len(batches) else []
            while len(packet) < 3:
                packet.append(free.pop())
            dealt += packet
        if batch == 0:
            dealt += table
    return numbers(dealt)


def dealt(
    rules: str,
    players: int,
    hands: Sequence[Sequence[str]],
    dealer: int = 0,
    scores: Sequence[int] | None = None,
    target: int | None = None,
) -> tuple[Match, list[matches.MatchEvent]]:
    """A match whose first batch deals these hands, at a score, and the events of the deal."""
    match = Match(settings(rules, players, target), dealer)
    before = Hand()
    before.number = 0
    before.phase = Phase.OVER
    before.scores = tuple(scores or [0] * match.settings.sides)
    match.hand = before
    return match, list(matches.deal(match, deck_with(players, dealer, hands)))


def position(
    rules: str,
    players: int,
    hands: Sequence[Sequence[str]],
    table: Sequence[str],
    *,
    dealer: int,
    turn: int,
    final: bool = False,
    later: Sequence[Sequence[str]] | None = None,
    last_capturer: int = -1,
    piles: Sequence[int] | None = None,
    scores: Sequence[int] | None = None,
    target: int | None = None,
) -> Match:
    """A match in the middle of a hand with no chain running; `final` is in its last batch.

    As in any hand, the dealer must be the last to have cards.
    """
    none: list[list[str]] = [[] for _ in range(players)]
    match, _ = dealt(rules, players, none, dealer, scores, target)
    hand = match.hand
    assert hand is not None
    held = sum(map(len, hands))
    hand.deck = tuple(deck_with(players, dealer, none, later or none))
    hand.batch = match.settings.batches if final else 1
    hand.plays = [0] * (hand.batch * match.settings.batch_plays - held)
    hand.phase = Phase.PLAY
    hand.turn = turn
    hand.hands = [numbers(cards) for cards in hands]
    hand.strengths = [0] * players
    hand.answers = [False] * players
    hand.table = [0] * 11
    for card in numbers(table):
        hand.table[STEP[card]] = card
    hand.last_capturer = last_capturer
    if piles is not None:
        hand.piles = list(piles)
    return match
