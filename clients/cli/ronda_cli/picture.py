"""A picture: what one viewer sees of a match at one moment, wherever it was seen.

Two makers: `of_view` here, from the core's views, and `client` from the protocol's. Names in a
picture are clean already (`text.labels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ronda_cli.text import labels
from ronda_core.cards import Card, cards_text
from ronda_core.view import PublicView, View


@dataclass(frozen=True, slots=True)
class Picture:
    """What can be drawn. Fields without a comment are those of the core's view."""

    names: tuple[str, ...]
    """By seat: clean, all different, `you` for the viewer."""
    rules: str
    players: int
    target: int
    length: int
    hand_number: int
    batch: int
    dealer: int
    turn: int | None
    phase: str
    hand_sizes: tuple[int, ...]
    table: tuple[Card, ...]
    stock: int
    piles: tuple[int, ...]
    scores: tuple[int, ...]
    chain_rank: int
    chain_link: int
    pack: tuple[Card, ...]
    declared: tuple[tuple[int, str], ...]
    """Seat and kind, in this batch."""
    answered: tuple[int, ...]
    match: str = ""
    """The match's id, clean; empty where it says nothing."""
    sequence: int = 0
    seat: int | None = None
    """The viewer's."""
    hand: tuple[Card, ...] = ()
    may_declare: bool = False
    open_hands: tuple[tuple[Card, ...], ...] = ()
    """Every hand, where nothing is secret any more."""
    deadline: float | None = None
    """When the decision that is open must be made, in seconds since 1970."""
    result: str = ""
    """How the match ended, as a sentence; empty before."""

    @property
    def batches(self) -> int:
        """Batches in a hand."""
        return 12 // self.players

    def side_of(self, seat: int) -> int:
        """Return the side that `seat` belongs to."""
        return seat % 2 if self.players == 4 else seat

    @property
    def waits_for(self) -> tuple[int, ...]:
        """The seats whose decision is open."""
        if self.phase == "declare":
            return tuple(seat for seat in range(self.players) if seat not in self.answered)
        return () if self.turn is None else (self.turn,)

    @property
    def just_laid(self) -> Card | None:
        """The card on the table that was played last."""
        if self.chain_link or not self.chain_rank:
            return None
        return next((card for card in self.table if card.rank == self.chain_rank), None)

    def same_cards(self) -> tuple[Card, ...]:
        """Return the set in the viewer's hand: the cards whose rank it holds twice or more."""
        ranks = [card.rank for card in self.hand]
        return tuple(card for card in self.hand if ranks.count(card.rank) > 1)


def of_view(
    view: PublicView,
    names: Sequence[str],
    *,
    match: str = "",
    hands: tuple[tuple[Card, ...], ...] = (),
    result: str = "",
) -> Picture:
    """Return the picture of a core view; `names` are raw, `hands` opens every hand."""
    own = view if isinstance(view, View) else None
    return Picture(
        names=labels(names, own.seat if own else None),
        rules=view.rules,
        players=view.players,
        target=view.target,
        length=view.length,
        hand_number=view.hand_number,
        batch=view.batch,
        dealer=view.dealer,
        turn=view.turn,
        phase=view.phase,
        hand_sizes=view.hand_sizes,
        table=view.table,
        stock=view.stock,
        piles=view.pile_counts,
        scores=view.scores,
        chain_rank=view.chain_rank,
        chain_link=view.chain_link,
        pack=view.pack,
        declared=tuple(
            (told.seat, told.kind) for told in view.declared if told.batch == view.batch
        ),
        answered=view.answered,
        match=match,
        sequence=view.sequence,
        seat=own.seat if own else None,
        hand=own.hand if own else (),
        may_declare=own.may_declare if own else False,
        open_hands=hands,
        result=result,
    )


def describe(picture: Picture) -> list[str]:
    """Return a picture as sentences, one a line."""
    rules = picture.rules + (f" to {picture.target}" if picture.target else "")
    where = f"Match {picture.match}, {rules}." if picture.match else f"Rules: {rules}."
    if picture.hand_number:
        where += f" Hand {picture.hand_number}, batch {picture.batch} of {picture.batches},"
        where += f" {picture.stock} cards in the pack." if picture.stock else " the pack is empty."
    lines = [where, *(_describe_seat(picture, seat) for seat in range(picture.players))]
    lines += describe_cards(picture)
    return [*lines, picture.result] if picture.result else lines


def describe_cards(picture: Picture) -> list[str]:
    """Return what lies on the table and what the viewer holds, as sentences."""
    if picture.phase not in ("declare", "play"):
        return []
    lines = [f"Table: {cards_text(picture.table) or 'empty'}."]
    lines += [f"{picture.names[seat]} declared a {kind}." for seat, kind in picture.declared]
    if picture.phase == "declare":
        waited = ", ".join(picture.names[seat] for seat in picture.waits_for)
        lines.append(f"The seats declare, waiting for {waited}.")
    if picture.seat is not None:
        held = ", ".join(f"{number}: {card}" for number, card in enumerate(picture.hand, 1))
        lines.append(f"Your hand: {held or 'empty'}.")
    if picture.may_declare:
        lines.append(f"You hold a set: {cards_text(picture.same_cards())}.")
    return lines


def _describe_seat(picture: Picture, seat: int) -> str:
    side = picture.side_of(seat)
    team = f"team of seats {side} and {side + 2}, " if picture.players == 4 else ""
    extra = ", deals" if seat == picture.dealer and picture.hand_number else ""
    extra += ", to play" if seat == picture.turn else ""
    return (
        f"Seat {seat}, {picture.names[seat]}: {team}"
        f"{_many(picture.scores[side], 'point')}, {_many(picture.piles[side], 'card')} taken,"
        f" {picture.hand_sizes[seat]} in hand{extra}."
    )


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
