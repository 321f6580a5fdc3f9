"""A hand at one moment: what is dealt, played and owed, and what it waits for."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from ronda_core.events import Played
from ronda_core.rules import Settings
from ronda_core.sets import KINDS


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


class Hand:
    """A hand at one moment. Read it freely; change it only through `hand`."""

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
        "number",
        "owed",
        "pack",
        "pack_side",
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
    hands: list[list[int]]
    """Secret: cards held, by seat."""
    table: list[int]
    """Card by step of its rank; 0: none. One more place, always 0, ends every run."""
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
    plays: list[int]
    """Cards in the order they were played."""
    last: Played | None
    strengths: list[int]
    """Secret: sets dealt in this batch, by seat, paid by the rules or not; 0: none, else
    comparable."""
    answers: list[bool | None]
    """Secret while somebody's is missing."""
    owed: Sequence[int]
    """Secret: what sets kept silent pay when the batch is over, by side; empty: nothing."""
    declared: list[tuple[int, int, str]]
    """Batch, seat and kind of every set declared in this hand."""
    winner: int
    """Side that has won the match at once; -1: none."""

    def __repr__(self) -> str:
        return f"<Hand {self.number}, {len(self.plays)} plays made>"


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
    new.hands = [held[:] for held in hand.hands]
    new.table = hand.table[:]
    new.piles = hand.piles[:]
    new.last_capturer = hand.last_capturer
    new.chain_step = hand.chain_step
    new.chain_link = hand.chain_link
    new.pack = hand.pack
    new.pack_side = hand.pack_side
    new.plays = hand.plays[:]
    new.last = hand.last
    new.strengths = hand.strengths[:]
    new.answers = hand.answers[:]
    new.owed = hand.owed
    new.declared = hand.declared[:]
    new.winner = hand.winner
    return new


def set_kind(hand: Hand, seat: int) -> str | None:
    """Return the kind of set that pays `seat` in this batch, or None. Secret."""
    if not hand.settings.has_sets:
        return None
    return KINDS[hand.strengths[seat]] or None
