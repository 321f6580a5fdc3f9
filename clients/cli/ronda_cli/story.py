"""An event as a sentence, with every point it paid and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ronda_core.cards import Card
from ronda_core.hand import Award
from ronda_core.view import (
    CardPlayed,
    CardsDealt,
    DeclarationAnswered,
    DeclarationsRevealed,
    Event,
    HandEnded,
    MatchEnded,
)


class SeatTaken(NamedTuple):
    """Somebody sat down. `name` is clean."""

    seat: int
    name: str


class CancelAgreed(NamedTuple):
    """A seat agreed to call the match off."""

    seat: int


class Other(NamedTuple):
    """Something of which only the number counts."""


Happening = Event | SeatTaken | CancelAgreed | Other


class Gain(NamedTuple):
    """Points that a side was paid."""

    points: int
    who: str
    why: str

    @property
    def sentence(self) -> str:
        """All of it in words."""
        get = "get" if self.who == "you" or " and " in self.who else "gets"
        points = "1 point" if self.points == 1 else f"{self.points} points"
        return _capital(f"{self.who} {get} {points}: {self.why}.")


class Told(NamedTuple):
    """One thing that happened."""

    parts: tuple[str | Card, ...]
    gains: tuple[Gain, ...] = ()
    score: str = ""
    """The score after it, where it changed."""
    heading: bool = False

    @property
    def sentence(self) -> str:
        """What happened, as text."""
        return "".join(str(part) for part in self.parts)

    @property
    def linear(self) -> str:
        """All of it on one line."""
        score = f"Score: {self.score}." if self.gains else ""
        return " ".join(filter(None, [self.sentence, *(g.sentence for g in self.gains), score]))


@dataclass(frozen=True, slots=True)
class Cast:
    """Who plays: `names` by seat as in a picture."""

    names: tuple[str, ...]

    @property
    def players(self) -> int:
        """How many."""
        return len(self.names)

    def who(self, seat: int) -> str:
        """Return a seat's name, or its number where it has none."""
        return self.names[seat] if seat < len(self.names) else f"seat {seat}"

    def does(self, seat: int, verb: str) -> str:
        """Return `you play` or `name plays`, at the start of a sentence."""
        name = self.who(seat)
        return f"You {verb}" if name == "you" else f"{name} {_third(verb)}"

    def side(self, side: int) -> str:
        """Return the name of a side."""
        if self.players != 4:
            return self.who(side)
        partners = sorted((self.who(side), self.who(side + 2)), key=lambda name: name != "you")
        return " and ".join(partners)

    def side_does(self, side: int, verb: str) -> str:
        """Return what a side does, at the start of a sentence."""
        name = self.side(side)
        many = name == "you" or self.players == 4
        return _capital(f"{name} {verb if many else _third(verb)}")

    def score(self, scores: Sequence[int]) -> str:
        """Return the score of every side in words."""
        return ", ".join(f"{self.side(side)} {points}" for side, points in enumerate(scores))


def tell(event: Happening, cast: Cast) -> Told | None:
    """Return the sentence of an event, or None where there is nothing to say."""
    match event:
        case CardPlayed():
            told = _play(event, cast)
        case CardsDealt():
            told = _deal(event, cast)
        case DeclarationsRevealed():
            told = _reveal(event, cast)
        case HandEnded():
            told = _hand_over(event, cast)
        case MatchEnded():
            told = Told((end(event, cast),), heading=True)
        case SeatTaken(seat, name):
            told = Told((f"{name} takes seat {seat}.",))
        case CancelAgreed(seat):
            told = Told((cast.does(seat, "agree") + " to call the match off.",))
        case DeclarationAnswered() | Other():  # the picture says whose answer is missing
            return None
    return told


def end(event: MatchEnded, cast: Cast) -> str:
    """Return how a match ended."""
    score = cast.score(event.scores)
    if event.outcome == "cancelled":
        return f"The match was called off. Score: {score}."
    blame = ""
    if event.outcome == "forfeit" and event.fault_seat is not None:
        blame = f"{cast.does(event.fault_seat, _FAULTS.get(event.fault_cause or '', 'forfeit'))}: "
        blame += "the match is forfeited. "
    if event.winner is None:
        return f"{blame}The match is over without a winner. Score: {score}."
    return f"{blame}{cast.side_does(event.winner, 'win')} the match. Score: {score}."


_FAULTS = {
    "time": "run out of time",
    "crash": "break down",
    "illegal": "break the rules",
    "protocol": "answer nonsense",
    "no_show": "do not come",
    "resigned": "resign",
}
_ORDINALS = ("", "second", "third", "fourth")


def _deal(event: CardsDealt, cast: Cast) -> Told:
    parts: list[str | Card]
    if event.batch == 1:
        parts = [f"Hand {event.hand_number}. {cast.does(event.dealer, 'deal')}. On the table: "]
        parts += [*_cards(event.table), "."]
    else:
        left = f"{event.stock} cards are left" if event.stock else "it is the last"
        parts = [f"Batch {event.batch} is dealt, {left}."]
    if event.hand:
        parts += [" You hold ", *_cards(event.hand), "."]
    why = {
        "ronda": "ronda, a pair was dealt",
        "tringa": "tringa, three of a rank were dealt",
    }
    gains = [(award, why.get(award.reason, award.reason)) for award in event.awards]
    return _told(parts, gains, event.scores, cast, heading=event.batch == 1)


def _reveal(event: DeclarationsRevealed, cast: Cast) -> Told:
    told = [f"{cast.does(one.seat, 'declare')} a {one.kind}." for one in event.declared]
    many = len(event.declared) > 1
    why = "the best set takes the points of all" if many else "declared"
    gains = [(award, f"{award.reason}, {why}") for award in event.awards]
    parts = [" ".join(told) or "Nobody declares."]
    return _told(parts, gains, event.scores, cast)


def _play(event: CardPlayed, cast: Cast) -> Told:
    play = event.play
    takes = "take" if cast.who(play.seat) == "you" else "takes"
    parts: list[str | Card]
    if play.reclaimed:
        parts = [cast.does(play.seat, "play") + " ", play.card, f" and {takes} back "]
        parts += [*_cards(play.reclaimed), "."]
    elif play.captured:
        parts = [cast.does(play.seat, "play") + " ", play.card, f" and {takes} "]
        parts += [*_cards(play.captured), "."]
    else:
        parts = [cast.does(play.seat, "lay") + " ", play.card, "."]
    nothing = "" if play.captured or play.reclaimed else " that takes nothing"
    why = {
        "este": f"este, the {_ORDINALS[min(play.link, 3)]} {play.card.rank} in a row",
        "missa": "missa, the table is swept",
        "penalty": "a set was kept silent",
        "closing": f"closing bonus, the last card is a {play.card.rank}{nothing}",
    }
    gains = [(award, why.get(award.reason, award.reason)) for award in event.awards]
    return _told(parts, gains, event.scores, cast)


def _hand_over(ended: HandEnded, cast: Cast) -> Told:
    parts: list[str | Card] = [f"Hand {ended.hand_number} is over. "]
    if ended.leftovers:
        last = "last card" if len(ended.leftovers) == 1 else f"last {len(ended.leftovers)} cards"
        parts += [
            f"The {last}, ",
            *_cards(ended.leftovers),
            f", went to {cast.side(ended.leftovers_side)}. ",
        ]
    counts = ", ".join(f"{cast.side(at)} {cards}" for at, cards in enumerate(ended.pile_counts))
    parts.append(f"Cards taken: {counts}.")
    gains = []
    for award in ended.awards:
        pile = ended.pile_counts[award.side]
        share = pile - award.points
        gains.append((award, f"{pile} cards" + (f", {award.points} over {share}" if share else "")))
    return _told(parts, gains, ended.scores, cast)


def _told(
    parts: Sequence[str | Card],
    gains: Sequence[tuple[Award, str]],
    scores: Sequence[int],
    cast: Cast,
    *,
    heading: bool = False,
) -> Told:
    return Told(
        tuple(parts),
        tuple(Gain(award.points, cast.side(award.side), why) for award, why in gains),
        cast.score(scores) if gains else "",
        heading,
    )


def _cards(cards: Sequence[Card]) -> list[str | Card]:
    spaced: list[str | Card] = []
    for card in cards:
        spaced += [" ", card] if spaced else [card]
    return spaced


def _third(verb: str) -> str:
    first, space, rest = verb.partition(" ")
    irregular = {"have": "has", "do": "does"}
    return irregular.get(first, first + "s") + space + rest


def _capital(sentence: str) -> str:
    return "You" + sentence[3:] if sentence.startswith("you ") else sentence
