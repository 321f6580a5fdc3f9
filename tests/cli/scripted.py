"""A server that says what a test wrote: one script for each stream, and refusals on request."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from tests.cli.games import Game

from ronda.v1 import event_pb2, match_pb2, view_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda.v1.match_service_pb2_grpc import MatchServiceServicer, add_MatchServiceServicer_to_server
from ronda_core import view as views

ID = "m-1"
DROP = "drop"
"""In a script: the connection breaks here."""
HANG = "hang"
"""In a script: nothing more comes until the stream is given up."""


class RefusedError(Exception):
    """An answer with a google.rpc.Status."""

    def __init__(
        self, code: grpc.StatusCode, reason: str = "", message: str = "said so", **metadata: str
    ) -> None:
        self.code = code
        details = []
        if reason:
            info = error_details_pb2.ErrorInfo(reason=reason, domain="ronda.v1", metadata=metadata)
            packed = any_pb2.Any()
            packed.Pack(info)
            details.append(packed)
        self.status = status_pb2.Status(code=code.value[0], message=message, details=details)

    async def send(self, context: grpc.aio.ServicerContext) -> None:
        trailing = (("grpc-status-details-bin", self.status.SerializeToString()),)
        await context.abort(self.code, self.status.message, trailing)


class Scripted(MatchServiceServicer):
    """Answers `WatchMatch` with the scripts in turn; the last of them again and again."""

    def __init__(self, *scripts: Sequence[Any]) -> None:
        self.scripts = deque(scripts)
        self.watched: list[tuple[int, str]] = []
        """After which number each stream asked to go on, and with which token."""
        self.calls: list[Any] = []
        self.refusals: deque[RefusedError | None] = deque()
        """For the next calls that are not streams."""
        self.match = pb.GetMatchResponse(match=match_message())

    async def WatchMatch(self, request: Any, context: Any) -> AsyncIterator[pb.WatchMatchResponse]:  # type: ignore[override] # it yields, where the stub awaits
        self.watched.append(
            (request.after_sequence, dict(context.invocation_metadata()).get("authorization", ""))
        )
        script = self.scripts.popleft() if len(self.scripts) > 1 else self.scripts[0]
        for item in script:
            if item == DROP:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
            elif item == HANG:
                await _forever()
            elif isinstance(item, RefusedError):
                await item.send(context)
            elif callable(item):
                await item()
            else:
                yield item

    async def _answer(self, request: Any, context: Any, answer: Any) -> Any:
        self.calls.append(request)
        if self.refusals and (refused := self.refusals.popleft()):
            await refused.send(context)
        return answer

    async def GetMatch(self, request: Any, context: Any) -> Any:
        return await self._answer(request, context, self.match)

    async def CreateMatch(self, request: Any, context: Any) -> Any:
        return await self._answer(
            request, context, pb.CreateMatchResponse(match=match_pb2.Match(id=ID))
        )

    async def JoinMatch(self, request: Any, context: Any) -> Any:
        return await self._answer(
            request, context, pb.JoinMatchResponse(seat=0, seat_token="seat-token")
        )

    async def PlayCard(self, request: Any, context: Any) -> Any:
        return await self._answer(request, context, pb.PlayCardResponse())

    async def Declare(self, request: Any, context: Any) -> Any:
        return await self._answer(request, context, pb.DeclareResponse())

    def made(self, kind: type) -> list[Any]:
        return [call for call in self.calls if isinstance(call, kind)]


async def _forever() -> None:
    await asyncio.Event().wait()


@contextlib.asynccontextmanager
async def serving(service: Scripted) -> AsyncIterator[str]:
    """Run a scripted server; give its address."""
    server = grpc.aio.server()
    add_MatchServiceServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


# Messages -------------------------------------------------------------------------------------


def settings_message(game: Game) -> match_pb2.Settings:
    settings = game.settings
    return match_pb2.Settings(
        rules=settings.preset.name,
        players=settings.players,
        target=settings.target,
        length=settings.length,
    )


def seats_message(names: Sequence[str]) -> list[match_pb2.Seat]:
    return [
        match_pb2.Seat(
            index=seat, kind=match_pb2.Seat.KIND_PERSON, identity=f"acct-{seat}", name=name
        )
        for seat, name in enumerate(names)
    ]


def match_message(names: Sequence[str] = ("Amine", "Zineb")) -> match_pb2.Match:
    return match_pb2.Match(
        id=ID,
        state=match_pb2.Match.STATE_RUNNING,
        settings=match_pb2.Settings(rules="cafe", players=len(names), target=41),
        seats=seats_message(names),
        scores=[0] * len(names),
    )


def view_message(game: Game, sequence: int, seat: int | None = None) -> view_pb2.View:
    """A view as the contract wants it, field by field."""
    seen = views.public(game.match, sequence)
    message = view_pb2.View(
        sequence=sequence,
        match_id=ID,
        settings=settings_message(game),
        seats=seats_message(game.names),
        hand_number=seen.hand_number,
        batch=seen.batch,
        dealer=seen.dealer,
        phase=view_pb2.View.Phase.Value(f"PHASE_{seen.phase.upper()}"),
        turn=seen.turn,
        hand_sizes=seen.hand_sizes,
        table=seen.table,
        plays=seen.plays,
        stock=seen.stock,
        pile_counts=seen.pile_counts,
        scores=seen.scores,
        first_table=seen.first_table,
        chain_rank=seen.chain_rank,
        chain_link=seen.chain_link,
        pack=seen.pack,
        last_capturer=seen.last_capturer,
        declared=[declaration_message(told) for told in seen.declared],
        answered_seats=seen.answered,
    )
    if game.match.result:
        message.result.CopyFrom(result_message(game))
        message.phase = view_pb2.View.PHASE_OVER
    if seat is not None:
        own = views.private(game.match, seat)
        message.seat = seat
        message.hand.extend(sorted(own.hand))
        message.may_declare = own.may_declare
    return message


def declaration_message(told: views.Declared) -> event_pb2.SetDeclaration:
    return event_pb2.SetDeclaration(
        batch=told.batch,
        seat=told.seat,
        kind=event_pb2.SetKind.Value(f"SET_KIND_{told.kind.upper()}"),
    )


def result_message(game: Game) -> match_pb2.Result:
    result = game.match.result
    assert result is not None
    message = match_pb2.Result(
        outcome=match_pb2.Result.Outcome.Value(f"OUTCOME_{result.outcome.value.upper()}"),
        winner=None if result.winner < 0 else result.winner,
        scores=result.scores,
    )
    if result.fault:
        message.fault.seat = result.fault.seat
        message.fault.cause = match_pb2.Fault.Cause.Value(
            f"CAUSE_{result.fault.cause.value.upper()}"
        )
    return message


def _awards(awards: Sequence[Any]) -> list[event_pb2.Award]:
    return [
        event_pb2.Award(
            side=award.side,
            reason=event_pb2.AwardReason.Value(f"AWARD_REASON_{award.reason.upper()}"),
            points=award.points,
        )
        for award in awards
    ]


def event_message(event: views.Event, sequence: int, game: Game) -> event_pb2.Event:
    """An event as the contract wants it, field by field."""
    message = event_pb2.Event(sequence=sequence)
    match event:
        case views.CardsDealt():
            message.cards_dealt.CopyFrom(
                event_pb2.CardsDealt(
                    hand_number=event.hand_number,
                    batch=event.batch,
                    dealer=event.dealer,
                    hand=sorted(event.hand),
                    hand_sizes=event.hand_sizes,
                    table=event.table,
                    stock=event.stock,
                    awards=_awards(event.awards),
                    scores=event.scores,
                    turn=event.turn,
                )
            )
        case views.DeclarationAnswered():
            message.declaration_answered.seat = event.seat
        case views.DeclarationsRevealed():
            message.declarations_revealed.CopyFrom(
                event_pb2.DeclarationsRevealed(
                    declarations=[declaration_message(told) for told in event.declared],
                    awards=_awards(event.awards),
                    scores=event.scores,
                    turn=event.turn,
                )
            )
        case views.CardPlayed():
            play = event.play
            message.card_played.CopyFrom(
                event_pb2.CardPlayed(
                    play=event_pb2.Play(
                        seat=play.seat,
                        card=int(play.card),
                        captured=play.captured,
                        reclaimed=play.reclaimed,
                        este_link=play.link,
                    ),
                    awards=_awards(event.awards),
                    scores=event.scores,
                    pile_counts=event.pile_counts,
                    turn=event.turn,
                )
            )
        case views.HandEnded():
            message.hand_ended.CopyFrom(
                event_pb2.HandEnded(
                    hand_number=event.hand_number,
                    leftovers=event.leftovers,
                    leftovers_side=event.leftovers_side,
                    pile_counts=event.pile_counts,
                    scores=event.scores,
                    awards=_awards(event.awards),
                )
            )
        case views.MatchEnded():
            message.match_ended.result.CopyFrom(result_message(game))
    return message


def said(**update: Any) -> pb.WatchMatchResponse:
    return pb.WatchMatchResponse(**update)


def unknown(sequence: int) -> pb.WatchMatchResponse:
    """An event of a kind that came after this version: field 99 of Event."""
    event = event_pb2.Event(sequence=sequence).SerializeToString() + b"\x9a\x06\x00"
    return pb.WatchMatchResponse.FromString(b"\x5a" + bytes([len(event)]) + event)


def ended(reason: str, sequence: int) -> pb.WatchMatchResponse:
    value = pb.StreamEnded.Reason.Value(f"REASON_{reason.upper()}")
    return said(ended=pb.StreamEnded(reason=value, sequence=sequence))


class Stream:
    """The stream of a game to one viewer: a view, then events, with a view after each step."""

    def __init__(self, game: Game, seat: int | None = None, stop: int = 10_000) -> None:
        self.first = said(view=view_message(game, 0, seat))
        self.pairs: list[list[pb.WatchMatchResponse]] = []
        self.stories: list[views.Event] = []
        while len(game.steps) < stop and not game.match.result:
            story = views.story(game.match, game.step(), seat)
            for event in story:
                number = len(self.pairs) + 1
                message = event_message(event, number, game)
                self.stories.append(event)
                self.pairs.append([said(event=message)])
            self.pairs[-1].append(said(view=view_message(game, number, seat)))

    def after(self, sequence: int, until: int | None = None) -> list[pb.WatchMatchResponse]:
        """What comes after the event of a number."""
        return [message for pair in self.pairs[sequence:until] for message in pair]

    @property
    def end(self) -> pb.WatchMatchResponse:
        return ended("match_over", len(self.pairs))


Script = Callable[[], Sequence[Any]]
