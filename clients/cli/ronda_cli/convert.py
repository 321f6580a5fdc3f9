"""What messages of `ronda.v1` tell of the game, as the core and bots have it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ronda.v1 import event_pb2, match_pb2, view_pb2
from ronda_bots.api import Event, View
from ronda_core.cards import CARDS, Card, by_rank
from ronda_core.hand import Award
from ronda_core.view import (
    CardPlayed,
    CardsDealt,
    DeclarationAnswered,
    DeclarationsRevealed,
    Declared,
    HandEnded,
    MatchEnded,
    Play,
)


def bot_view(view: view_pb2.View, clock: float | None) -> View:
    """Return a view as a bot sees it; `clock` is what is left for the decision, in seconds."""
    return View(
        sequence=view.sequence,
        players=view.settings.players,
        rules=view.settings.rules,
        target=view.settings.target,
        length=view.settings.length,
        hand_number=view.hand_number,
        batch=view.batch,
        dealer=view.dealer,
        turn=view.turn if view.HasField("turn") else None,
        phase=name_of(view_pb2.View.Phase, view.phase, "PHASE_"),
        hand_sizes=tuple(view.hand_sizes),
        table=_cards(view.table),
        first_table=_cards(view.first_table),
        plays=_cards(view.plays),
        last_play=_play(view.last_play) if view.HasField("last_play") else None,
        stock=view.stock,
        pile_counts=tuple(view.pile_counts),
        scores=tuple(view.scores),
        chain_rank=view.chain_rank,
        chain_link=view.chain_link,
        pack=_cards(view.pack),
        last_capturer=view.last_capturer if view.HasField("last_capturer") else None,
        declared=_declared(view.declared),
        answered=tuple(view.answered_seats),
        clock=clock,
        seat=view.seat,
        hand=by_rank(view.hand),
        may_declare=view.may_declare,
    )


class EventReader:
    """Turns the events of one seat into what its bot is told.

    The wire does not say how many plays were made in the hand when points were paid, nor who
    captured last where nothing was left: both follow from the events before, or from a view.
    """

    def __init__(self) -> None:
        self._made = 0
        self._teams = False
        self._capturer = 0

    def seen(self, view: View) -> None:
        """Go on from a view, whatever was missed."""
        self._made = len(view.plays)
        self._teams = view.players == 4
        self._capturer = view.last_capturer or 0

    def read(self, event: event_pb2.Event) -> Event | None:
        """Return what a bot is told, None where it is told nothing."""
        match event.WhichOneof("kind"):
            case "cards_dealt":
                return self._dealt(event.cards_dealt)
            case "declaration_answered":
                return DeclarationAnswered(event.declaration_answered.seat)
            case "declarations_revealed":
                return self._revealed(event.declarations_revealed)
            case "card_played":
                return self._played(event.card_played)
            case "hand_ended":
                return self._hand_ended(event.hand_ended)
            case "match_ended":
                return ended(event.match_ended.result)
        return None  # of the time before the first deal, or of a later version

    def _dealt(self, told: event_pb2.CardsDealt) -> CardsDealt:
        if told.batch == 1:
            self._made = 0
            self._teams = len(told.hand_sizes) == 4
        return CardsDealt(
            hand_number=told.hand_number,
            batch=told.batch,
            dealer=told.dealer,
            hand=by_rank(told.hand),
            hand_sizes=tuple(told.hand_sizes),
            table=_cards(told.table),
            stock=told.stock,
            awards=self._awards(told.awards),
            scores=tuple(told.scores),
            turn=told.turn if told.HasField("turn") else None,
        )

    def _revealed(self, told: event_pb2.DeclarationsRevealed) -> DeclarationsRevealed:
        return DeclarationsRevealed(
            _declared(told.declarations),
            self._awards(told.awards),
            tuple(told.scores),
            told.turn if told.HasField("turn") else None,
        )

    def _played(self, told: event_pb2.CardPlayed) -> CardPlayed:
        self._made += 1
        play = _play(told.play)
        if play.captured or play.reclaimed:
            self._capturer = play.seat % 2 if self._teams else play.seat
        return CardPlayed(
            play,
            self._awards(told.awards),
            tuple(told.scores),
            tuple(told.pile_counts),
            told.turn if told.HasField("turn") else None,
        )

    def _hand_ended(self, told: event_pb2.HandEnded) -> HandEnded:
        return HandEnded(
            hand_number=told.hand_number,
            leftovers=_cards(told.leftovers),
            leftovers_side=self._capturer,
            pile_counts=tuple(told.pile_counts),
            awards=self._awards(told.awards),
            scores=tuple(told.scores),
        )

    def _awards(self, awards: Iterable[event_pb2.Award]) -> tuple[Award, ...]:
        return tuple(
            Award(
                self._made,
                award.side,
                name_of(event_pb2.AwardReason, award.reason, "AWARD_REASON_"),
                award.points,
            )
            for award in awards
        )


def ended(result: match_pb2.Result) -> MatchEnded:
    """Return how a match ended."""
    fault = result.fault if result.HasField("fault") else None
    return MatchEnded(
        name_of(match_pb2.Result.Outcome, result.outcome, "OUTCOME_"),
        result.winner if result.HasField("winner") else None,
        tuple(result.scores),
        fault.seat if fault else None,
        name_of(match_pb2.Fault.Cause, fault.cause, "CAUSE_") if fault else None,
    )


def _play(play: event_pb2.Play) -> Play:
    captured, reclaimed = _cards(play.captured), _cards(play.reclaimed)
    return Play(play.seat, CARDS[play.card], captured, reclaimed, play.este_link)


def _declared(declared: Iterable[event_pb2.SetDeclaration]) -> tuple[Declared, ...]:
    return tuple(
        Declared(one.batch, one.seat, name_of(event_pb2.SetKind, one.kind, "SET_KIND_"))
        for one in declared
    )


def _cards(numbers: Sequence[int]) -> tuple[Card, ...]:
    return tuple(CARDS[number] for number in numbers)


def name_of(enum: Any, number: int, prefix: str) -> str:
    """Return the name of an enum's value in lower case; of a later version's, its number."""
    names: Mapping[int, str] = {value: name for name, value in enum.items()}
    return names.get(number, f"{prefix}{number}").removeprefix(prefix).lower()
