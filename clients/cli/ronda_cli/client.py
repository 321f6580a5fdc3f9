"""The door to a server: the one module of the command line that speaks `ronda.v1`.

What comes in leaves as pictures and happenings, what goes out is asked in plain values.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import grpc

from ronda.v1 import (
    bot_service_pb2,
    card_pb2,
    event_pb2,
    match_pb2,
    match_service_pb2,
    view_pb2,
)
from ronda.v1.bot_service_pb2_grpc import BotServiceStub
from ronda.v1.match_service_pb2_grpc import MatchServiceStub
from ronda_cli import refusal, text
from ronda_cli.channel import Target, channel
from ronda_cli.convert import ended, name_of
from ronda_cli.picture import Picture
from ronda_cli.story import CancelAgreed, Cast, Happening, Other, SeatTaken, end
from ronda_cli.updates import Ended, Happened, Quiet, RefusedError, Seat, Seen, Update
from ronda_core.cards import CARDS, Card
from ronda_core.hand import Award
from ronda_core.view import (
    CardPlayed,
    CardsDealt,
    DeclarationAnswered,
    DeclarationsRevealed,
    Declared,
    HandEnded,
    Play,
)

_ANSWER_WITHIN: Final = 10.0
"""Seconds for a call that is not a stream."""
_BOT_FIELDS: Final = (
    "name",
    "version",
    "distribution",
    "distribution_version",
    "description",
    "remote",
)


class Client:
    """The calls of one viewer or player; `token` is a seat's, or empty for a spectator."""

    def __init__(self, target: Target, token: str = "") -> None:
        self.target = target
        self.token = token
        self._channel = channel(target)
        self._stub = MatchServiceStub(self._channel)

    async def close(self) -> None:
        """Hang up."""
        await self._channel.close()

    async def find(self, match_id: str) -> Picture:
        """Return a match as far as GetMatch tells it: who sits where, and what is played."""
        request = match_service_pb2.GetMatchRequest(match_id=match_id)
        answer = await self._call(self._stub.GetMatch, request)
        return _waiting_picture(answer.match)

    async def create(
        self, rules: str, target: int, length: int, bots: Sequence[str], request_id: str
    ) -> str:
        """Create a match with an open seat 0 and bots in the others; return its id."""
        offers = [match_service_pb2.SeatOffer(open=match_service_pb2.OpenSeat())]
        offers += [match_service_pb2.SeatOffer(bot=bot) for bot in bots]
        request = match_service_pb2.CreateMatchRequest(
            rules=rules, target=target, length=length, seats=offers, request_id=request_id
        )
        answer = await self._call(self._stub.CreateMatch, request)
        return str(answer.match.id)

    async def create_between(
        self, rules: str, target: int, bots: Sequence[str], request_id: str
    ) -> str:
        """Create a match with a bot in every seat; return its id."""
        request = match_service_pb2.CreateMatchRequest(
            rules=rules,
            target=target,
            seats=[match_service_pb2.SeatOffer(bot=bot) for bot in bots],
            request_id=request_id,
        )
        answer = await self._call(self._stub.CreateMatch, request)
        return str(answer.match.id)

    async def bots(self) -> list[dict[str, Any]]:
        """Return what the server tells of the bots that it can seat, in its order."""
        stub = BotServiceStub(self._channel)
        found: list[dict[str, Any]] = []
        token = ""
        while True:
            request = bot_service_pb2.ListBotsRequest(page_size=200, page_token=token)
            page = await self._call(stub.ListBots, request)
            found += [{field: getattr(bot, field) for field in _BOT_FIELDS} for bot in page.bots]
            token = page.next_page_token
            if not token:
                return found

    async def record(self, match_id: str) -> bytes:
        """Return the record of a match that is over: one line of JSON, as the server says."""
        request = match_service_pb2.GetRecordRequest(match_id=match_id)
        answer = await self._call(self._stub.GetRecord, request)
        return bytes(answer.record)

    async def join(self, match_id: str, name: str, request_id: str) -> Seat:
        """Take the first open seat."""
        request = match_service_pb2.JoinMatchRequest(
            match_id=match_id, name=name, request_id=request_id
        )
        answer = await self._call(self._stub.JoinMatch, request)
        return Seat(answer.seat, answer.seat_token)

    async def declare(self, match_id: str, declares: bool, sequence: int, request_id: str) -> None:
        """Answer the declaring step that was open at `sequence`."""
        request = match_service_pb2.DeclareRequest(
            match_id=match_id, declare=declares, expected_sequence=sequence, request_id=request_id
        )
        await self._call(self._stub.Declare, request)

    async def play(self, match_id: str, card: Card, sequence: int, request_id: str) -> None:
        """Play a card on the state at `sequence`."""
        request = match_service_pb2.PlayCardRequest(
            match_id=match_id,
            card=card_pb2.Card.ValueType(int(card)),
            expected_sequence=sequence,
            request_id=request_id,
        )
        await self._call(self._stub.PlayCard, request)

    async def resign(self, match_id: str, request_id: str) -> None:
        """Give the match up."""
        request = match_service_pb2.ResignRequest(match_id=match_id, request_id=request_id)
        await self._call(self._stub.Resign, request)

    async def watch(self, match_id: str, after: int) -> AsyncGenerator[Update, None]:
        """Stream a match from the event after `after` on; a view follows each event."""
        request = match_service_pb2.WatchMatchRequest(
            match_id=match_id, after_sequence=after, include_views=True
        )
        try:
            async for message in self._stub.WatchMatch(request, metadata=self._metadata()):
                if update := _update(message):
                    yield update
        except grpc.aio.AioRpcError as error:
            raise RefusedError(refusal.read(error)) from None

    async def _call(self, method: Any, request: Any) -> Any:
        try:
            return await method(request, metadata=self._metadata(), timeout=_ANSWER_WITHIN)
        except grpc.aio.AioRpcError as error:
            raise RefusedError(refusal.read(error)) from None

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()


def new_request_id() -> str:
    """Return an id that makes one command safe to repeat."""
    return str(uuid.uuid4())


def _update(message: match_service_pb2.WatchMatchResponse) -> Update | None:
    match message.WhichOneof("update"):
        case "view":
            picture = view_picture(message.view, message.sent_time.ToMicroseconds() / 1e6)
            return Seen(message.view.sequence, picture)
        case "event":
            return Happened(message.event.sequence, happening(message.event))
        case "heartbeat":
            return Quiet(message.heartbeat.sequence)
        case "ended":
            why = name_of(match_service_pb2.StreamEnded.Reason, message.ended.reason, "REASON_")
            return Ended(message.ended.sequence, why)
    return None  # a kind of message that came after this version


def view_picture(view: view_pb2.View, sent: float = 0.0) -> Picture:
    """Return the picture of a view; its deadline moves to this machine's clock."""
    seat = view.seat if view.HasField("seat") else None
    names = _names(view.seats, seat)
    cast = Cast(names)
    deadline = None
    if view.HasField("deadline"):
        deadline = view.deadline.ToMicroseconds() / 1e6
        deadline += time.time() - sent if sent else 0.0
    players = len(view.seats)
    sides = 2 if players == 4 else players
    return Picture(
        names=names,
        rules=text.name(view.settings.rules),
        players=players,
        target=view.settings.target,
        length=view.settings.length,
        hand_number=view.hand_number,
        batch=view.batch,
        dealer=view.dealer,
        turn=view.turn if view.HasField("turn") else None,
        phase=name_of(view_pb2.View.Phase, view.phase, "PHASE_"),
        hand_sizes=_per(view.hand_sizes, players),
        table=_cards(view.table),
        stock=view.stock,
        piles=_per(view.pile_counts, sides),
        scores=_per(view.scores, sides),
        chain_rank=view.chain_rank,
        chain_link=view.chain_link,
        pack=_cards(view.pack),
        declared=tuple(
            (told.seat, name_of(event_pb2.SetKind, told.kind, "SET_KIND_"))
            for told in view.declared
            if told.batch == view.batch
        ),
        answered=tuple(view.answered_seats),
        match=text.name(view.match_id),
        sequence=view.sequence,
        seat=seat,
        hand=_cards(view.hand),
        may_declare=view.may_declare,
        deadline=deadline,
        result=end(ended(view.result), cast) if view.HasField("result") else "",
    )


def happening(event: event_pb2.Event) -> Happening:
    """Return what an event tells; a kind of a later version is only counted."""
    kind = event.WhichOneof("kind")
    make = _HAPPENINGS.get(kind) if kind else None
    return make(getattr(event, kind)) if kind and make else Other()


def _joined(told: event_pb2.SeatJoined) -> SeatTaken:
    return SeatTaken(told.seat, text.name(told.name or told.identity))


def _dealt(told: event_pb2.CardsDealt) -> CardsDealt:
    return CardsDealt(
        hand_number=told.hand_number,
        batch=told.batch,
        dealer=told.dealer,
        hand=_cards(told.hand),
        hand_sizes=tuple(told.hand_sizes),
        table=_cards(told.table),
        stock=told.stock,
        awards=_awards(told.awards),
        scores=tuple(told.scores),
        turn=told.turn if told.HasField("turn") else None,
    )


def _revealed(told: event_pb2.DeclarationsRevealed) -> DeclarationsRevealed:
    declared = tuple(
        Declared(one.batch, one.seat, name_of(event_pb2.SetKind, one.kind, "SET_KIND_"))
        for one in told.declarations
    )
    turn = told.turn if told.HasField("turn") else None
    return DeclarationsRevealed(declared, _awards(told.awards), tuple(told.scores), turn)


def _played(told: event_pb2.CardPlayed) -> Happening:
    play = told.play
    cards = _cards([play.card])
    if not cards:
        return Other()
    return CardPlayed(
        Play(play.seat, cards[0], _cards(play.captured), _cards(play.reclaimed), play.este_link),
        _awards(told.awards),
        tuple(told.scores),
        tuple(told.pile_counts),
        told.turn if told.HasField("turn") else None,
    )


def _hand_ended(told: event_pb2.HandEnded) -> HandEnded:
    return HandEnded(
        hand_number=told.hand_number,
        leftovers=_cards(told.leftovers),
        leftovers_side=told.leftovers_side,
        pile_counts=tuple(told.pile_counts),
        awards=_awards(told.awards),
        scores=tuple(told.scores),
    )


_HAPPENINGS: Final[Mapping[str, Callable[[Any], Happening]]] = {
    "seat_joined": _joined,
    "cards_dealt": _dealt,
    "declaration_answered": lambda told: DeclarationAnswered(told.seat),
    "declarations_revealed": _revealed,
    "card_played": _played,
    "hand_ended": _hand_ended,
    "cancel_agreed": lambda told: CancelAgreed(told.seat),
    "match_ended": lambda told: ended(told.result),
}


def _waiting_picture(match: match_pb2.Match) -> Picture:
    view = view_pb2.View(
        match_id=match.id,
        settings=match.settings,
        seats=match.seats,
        scores=match.scores,
        phase=view_pb2.View.PHASE_WAITING,
    )
    if match.HasField("result"):
        view.result.CopyFrom(match.result)
        view.phase = view_pb2.View.PHASE_OVER
    return view_picture(view)


def _names(seats: Iterable[match_pb2.Seat], you: int | None) -> tuple[str, ...]:
    return text.labels([seat.name or seat.identity for seat in seats], you)


def _cards(numbers: Iterable[int]) -> tuple[Card, ...]:
    """Return the cards; a number that is none of the forty is left out."""
    return tuple(CARDS[number] for number in numbers if 1 <= number <= 40)


def _awards(awards: Iterable[event_pb2.Award]) -> tuple[Award, ...]:
    return tuple(
        Award(
            0,
            award.side,
            name_of(event_pb2.AwardReason, award.reason, "AWARD_REASON_"),
            award.points,
        )
        for award in awards
    )


def _per(counts: Sequence[int], many: int) -> tuple[int, ...]:
    """Return a count for each seat or side, also where a server left them out."""
    return tuple(counts) + (0,) * (many - len(counts))
