"""A picture after one more event, for the time until the next view tells it exactly.

Views come after the last event only: in between, a viewer still wants to see each play.
"""

from __future__ import annotations

from dataclasses import replace

from ronda_cli.picture import Picture
from ronda_cli.story import Cast, Happening, end
from ronda_core.cards import by_rank
from ronda_core.view import (
    CardPlayed,
    CardsDealt,
    DeclarationAnswered,
    DeclarationsRevealed,
    HandEnded,
    MatchEnded,
)


def advance(picture: Picture, event: Happening, sequence: int) -> Picture:
    """Return `picture` after `event`. What follows from the rules alone waits for the view."""
    picture = replace(picture, sequence=sequence)
    if isinstance(event, CardsDealt):
        return _deal(picture, event)
    if isinstance(event, MatchEnded):
        result = end(event, Cast(picture.names))
        return replace(picture, phase="over", turn=None, scores=event.scores, result=result)
    if not picture.hand_number:  # nothing is known to go on from
        return picture
    if isinstance(event, CardPlayed):
        return _play(picture, event)
    if isinstance(event, DeclarationAnswered):
        answered = tuple(sorted({*picture.answered, event.seat}))
        may = picture.may_declare and event.seat != picture.seat
        return replace(picture, answered=answered, may_declare=may)
    if isinstance(event, DeclarationsRevealed):
        return replace(
            picture,
            declared=tuple((told.seat, told.kind) for told in event.declared),
            answered=(),
            may_declare=False,
            phase="play",
            turn=event.turn,
            scores=event.scores,
        )
    if isinstance(event, HandEnded):
        return replace(
            picture,
            table=(),
            piles=event.pile_counts,
            scores=event.scores,
            turn=None,
            phase="over",
            chain_rank=0,
        )
    return picture


def _deal(picture: Picture, event: CardsDealt) -> Picture:
    first = event.batch == 1
    declaring = event.turn is None
    dealt = replace(
        picture,
        hand_number=event.hand_number,
        batch=event.batch,
        dealer=event.dealer,
        turn=event.turn,
        phase="declare" if declaring else "play",
        hand_sizes=event.hand_sizes,
        hand=event.hand,
        table=event.table if first else picture.table,
        piles=(0,) * len(event.scores) if first else picture.piles,
        stock=event.stock,
        scores=event.scores,
        chain_rank=0,
        chain_link=0,
        pack=(),
        declared=(),
        answered=(),
    )
    return replace(dealt, may_declare=declaring and bool(dealt.same_cards()))


def _play(picture: Picture, event: CardPlayed) -> Picture:
    play = event.play
    took = play.captured or play.reclaimed
    left = [card for card in picture.table if card not in play.captured]
    sizes = list(picture.hand_sizes)
    sizes[play.seat] = max(sizes[play.seat] - 1, 0)
    return replace(
        picture,
        hand=tuple(card for card in picture.hand if card != play.card),
        hand_sizes=tuple(sizes),
        table=by_rank(left if took else [*left, play.card]),
        piles=event.pile_counts,
        scores=event.scores,
        turn=event.turn,
        # A longer chain pays by rules that differ: the view says what it would.
        chain_rank=0 if took else play.card.rank,
        chain_link=0,
        pack=(),
    )
