"""Leaks in what an event tells: deals, declarations, awards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.hidden.planting import (
    field,
    hand_of,
    in_events,
    leak,
    leaked,
    strengths_of,
)

from ronda.v1 import event_pb2
from ronda_core import hand as hands
from ronda_core import match as matches
from ronda_core import view as views
from ronda_core.hand import Answered, Dealt, Phase, Revealed
from ronda_core.match import Match, MatchEvent
from ronda_core.sets import KINDS
from ronda_core.view import DeclarationAnswered
from ronda_server import fold
from ronda_server.game import Game, Happened
from ronda_server.live import Live, Request
from ronda_server.opening import Opening


@leak("a deal tells a seat its own cards in the order in which they were dealt")
def dealing_order(patch: pytest.MonkeyPatch) -> None:
    def edit(message: event_pb2.Event, happened: Happened, _: Game, seat: int | None) -> None:
        if isinstance(happened.event, Dealt) and seat is not None:
            message.cards_dealt.ClearField("hand")
            message.cards_dealt.hand.extend(_cards(happened.event.hands[seat]))

    in_events(patch, edit)


@leak("a deal tells a spectator the hand of seat 0")
def nobody_is_seat_0(patch: pytest.MonkeyPatch) -> None:
    def edit(message: event_pb2.Event, happened: Happened, _: Game, seat: int | None) -> None:
        if isinstance(happened.event, Dealt) and seat is None:
            message.cards_dealt.hand.extend(_cards(happened.event.hands[0]))

    in_events(patch, edit)


@leak("a deal in arabic tells a seat the other's hand with its own")
def both_hands_in_arabic(patch: pytest.MonkeyPatch) -> None:
    def edit(message: event_pb2.Event, happened: Happened, game: Game, seat: int | None) -> None:
        arabic = game.settings.preset.name == "arabic"
        if isinstance(happened.event, Dealt) and seat is not None and arabic:
            message.cards_dealt.hand.extend(_cards(happened.event.hands[1 - seat]))

    in_events(patch, edit)


@leak("a deal at four players tells a seat its partner's hand")
def partners_share(patch: pytest.MonkeyPatch) -> None:
    def edit(message: event_pb2.Event, happened: Happened, game: Game, seat: int | None) -> None:
        if isinstance(happened.event, Dealt) and seat is not None and game.settings.players == 4:
            message.cards_dealt.hand.extend(_cards(happened.event.hands[(seat + 2) % 4]))

    in_events(patch, edit)


@leak("a deal at three players tells seat 2 the hand of seat 0, from the second batch on")
def three_from_batch_2(patch: pytest.MonkeyPatch) -> None:
    def edit(message: event_pb2.Event, happened: Happened, game: Game, seat: int | None) -> None:
        dealt = happened.event
        if isinstance(dealt, Dealt) and dealt.batch > 1 and seat == 2:
            own = dealt.hands[seat if game.settings.players == 4 else (seat + 1) % 3]
            message.cards_dealt.ClearField("hand")
            message.cards_dealt.hand.extend(_cards(tuple(sorted(own))))

    in_events(patch, edit)


@leak("a deal tells the dealer, and only the dealer, the hand of who plays first")
def dealer_sees_first(patch: pytest.MonkeyPatch) -> None:
    def edit(message: event_pb2.Event, happened: Happened, game: Game, seat: int | None) -> None:
        dealt = happened.event
        if isinstance(dealt, Dealt) and seat == dealt.dealer:
            first = game.settings.next_seat[dealt.dealer]
            message.cards_dealt.hand.extend(_cards(dealt.hands[first]))

    in_events(patch, edit)


@leak("a deal tells every seat its neighbour's hand, from the second hand of a match on")
def off_by_one_in_hand_2(patch: pytest.MonkeyPatch) -> None:
    def edit(message: event_pb2.Event, happened: Happened, game: Game, seat: int | None) -> None:
        dealt = happened.event
        if isinstance(dealt, Dealt) and dealt.hand > 1 and seat is not None:
            next_one = dealt.hands[game.settings.next_seat[seat]]
            message.cards_dealt.ClearField("hand")
            message.cards_dealt.hand.extend(_cards(tuple(sorted(next_one))))

    in_events(patch, edit)


@leak("a deal of a rematch tells a spectator the hand of the dealer")
def rematch_is_open(patch: pytest.MonkeyPatch) -> None:
    again: set[str] = set()
    right = Opening._insert

    async def insert(
        self: Opening,
        scope: str,
        commitment: str,
        data: dict[str, Any],
        request: Request,
        follows: str,
    ) -> Live:
        if follows:
            again.add(scope)
        return await right(self, scope, commitment, data, request, follows)

    def edit(message: event_pb2.Event, happened: Happened, game: Game, seat: int | None) -> None:
        dealt = happened.event
        if isinstance(dealt, Dealt) and seat is None and game.id in again:
            message.cards_dealt.hand.extend(_cards(tuple(sorted(dealt.hands[dealt.dealer]))))

    patch.setattr(Opening, "_insert", insert)
    in_events(patch, edit)


@leak("a deal names as the turn, while seats declare, the first seat that holds a set")
def whom_to_ask(patch: pytest.MonkeyPatch) -> None:
    def edit(message: event_pb2.Event, happened: Happened, game: Game, _: int | None) -> None:
        if isinstance(happened.event, Dealt) and game.settings.declares:
            strengths = strengths_of(happened.event)
            if any(strengths):
                message.cards_dealt.turn = next(at for at, one in enumerate(strengths) if one)

    in_events(patch, edit)


@leak("the award of an automatic set names at four players the seat instead of the side")
def award_names_seat(patch: pytest.MonkeyPatch) -> None:
    def edit(message: event_pb2.Event, happened: Happened, _: Game, __: int | None) -> None:
        dealt = happened.event
        if isinstance(dealt, Dealt) and len(dealt.awards) == 1:
            strengths = strengths_of(dealt)
            message.cards_dealt.awards[0].side = strengths.index(max(strengths))

    in_events(patch, edit)


@leak("an event more, after a deal that pays a set by itself, says which seat holds it")
def set_is_shown(patch: pytest.MonkeyPatch) -> None:
    right = fold._tell

    def tell(game: Game, events: tuple[MatchEvent, ...]) -> Iterator[fold._Step]:
        for step in right(game, events):
            yield step
            if isinstance(step[3], Dealt) and step[3].awards:
                strengths = strengths_of(step[3])
                best = strengths.index(max(strengths))
                shown: fold._Step = ("answered", DeclarationAnswered(best), None, None)
                yield leaked(step, shown)

    patch.setattr(fold, "_tell", tell)


@leak("an answer to the declaring step is told with the event, before all have answered")
def answer_is_told(patch: pytest.MonkeyPatch) -> None:
    def edit(message: event_pb2.Event, happened: Happened, _: Game, __: int | None) -> None:
        if isinstance(happened.event, Answered):
            message.declaration_answered.MergeFromString(bytes([2 << 3, happened.event.declares]))

    in_events(patch, edit)


@leak("declared sets are told from the strongest on, which orders their ranks")
def strongest_first(patch: pytest.MonkeyPatch) -> None:
    right = views._tell

    def tell(
        match: Match, event: MatchEvent, following: MatchEvent | None, seat: int | None
    ) -> views.Event:
        told = right(match, event, following, seat)
        if not isinstance(told, views.DeclarationsRevealed) or not match.hand:
            return told
        strengths = match.hand.strengths
        by_strength = sorted(told.declared, key=lambda one: -strengths[one.seat])
        return leaked(told, told._replace(declared=tuple(by_strength)))

    patch.setattr(views, "_tell", tell)


@leak("the sets that seats kept silent are revealed with the declared ones")
def silent_sets_too(patch: pytest.MonkeyPatch) -> None:
    right = views._tell

    def tell(
        match: Match, event: MatchEvent, following: MatchEvent | None, seat: int | None
    ) -> views.Event:
        told = right(match, event, following, seat)
        if not isinstance(event, Revealed) or not match.hand:
            return told
        assert isinstance(told, views.DeclarationsRevealed)
        kinds = [(at, KINDS[one]) for at, one in enumerate(match.hand.strengths) if one]
        every = tuple(views.Declared(event.batch, at, kind) for at, kind in kinds)
        return leaked(told, told._replace(declared=every))

    patch.setattr(views, "_tell", tell)


@leak("the end of a hand gives out a key to check it by, which is that of the next hand")
def key_of_next_hand(patch: pytest.MonkeyPatch) -> None:
    def edit(message: event_pb2.Event, _: Happened, game: Game, __: int | None) -> None:
        if message.HasField("hand_ended") and game.dealer and not game.over:
            key = game.dealer.key("deal", message.hand_ended.hand_number + 1)
            message.hand_ended.MergeFromString(field(20, key))

    in_events(patch, edit)


@leak("a seat that holds no set is answered for at once")
def nothing_to_declare(patch: pytest.MonkeyPatch) -> None:
    _answer_for(patch, lambda strength: not strength, declares=False)


@leak("a seat that holds a tringa is answered for at once, since who would keep it silent")
def tringa_declares_itself(patch: pytest.MonkeyPatch) -> None:
    _answer_for(patch, lambda strength: strength > 10, declares=True)


@leak("the declaring step is left out of a batch in which nobody holds a set")
def no_step_without_sets(patch: pytest.MonkeyPatch) -> None:
    right = hands._deal_batch

    def deal_batch(hand: hands.Hand, turned_up: tuple[int, ...] = ()) -> Dealt:
        honest = right(hand, turned_up)
        if hand.phase is not Phase.DECLARE or any(hand.strengths):
            return honest
        hand.answers = [False] * hand.settings.players
        hand.phase = Phase.PLAY
        hand.turn = hand.settings.next_seat[hand.dealer]
        return leaked(honest, honest._replace(turn=hand.turn))

    patch.setattr(hands, "_deal_batch", deal_batch)


def _answer_for(patch: pytest.MonkeyPatch, whom: Callable[[int], bool], declares: bool) -> None:
    right = fold._tell

    def tell(game: Game, events: tuple[MatchEvent, ...]) -> Iterator[fold._Step]:
        yield from right(game, events)
        if not any(isinstance(event, Dealt) for event in events):
            return
        for seat in game.waits_for:
            hand = hand_of(game)
            if hand and game.match and hand.answers and whom(hand.strengths[seat]):
                answer = matches.declare(game.match, seat, declares)
                yield from right(game, leaked((), answer))

    patch.setattr(fold, "_tell", tell)


def _cards(cards: tuple[int, ...]) -> Any:
    return cards
