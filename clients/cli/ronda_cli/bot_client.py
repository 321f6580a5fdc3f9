"""The door of a remote bot: the one module that speaks `BotService.Connect`.

What comes in leaves as views, as `ronda_bots` has them, and as events that `convert` reads; what a
bot decides goes out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, Final, NamedTuple

import grpc

from ronda.v1 import bot_service_pb2 as pb
from ronda.v1 import event_pb2
from ronda.v1.bot_service_pb2_grpc import BotServiceStub
from ronda_bots.api import SeatInfo, View
from ronda_cli import refusal
from ronda_cli.channel import Target, channel
from ronda_cli.convert import bot_view, ended, name_of
from ronda_cli.updates import RefusedError
from ronda_core.rules import RulesError, settings
from ronda_core.view import MatchEnded

Choice = Mapping[str, Any]
"""One of `card` (its number), `declare` (a bool) and `crash` (a word), or nothing at all."""


_HELLO_BYTES: Final = 16_000
"""At most, of a Hello: the server reads 16 KiB."""


class Welcomed(NamedTuple):
    """The server has taken the bot."""

    identity: str
    max_seats: int
    heartbeat: float
    """Seconds."""


class SeatKey(NamedTuple):
    """One seat in one match."""

    match_id: str
    seat: int


class Started(NamedTuple):
    """The bot plays in a match."""

    key: SeatKey
    info: SeatInfo
    seed: int
    sequence: int

    def __repr__(self) -> str:
        return f"Started({self.key})"


class Asked(NamedTuple):
    """The bot is to decide."""

    key: SeatKey
    decision_id: str
    view: View
    allowed: float | None = None
    """Seconds from its sending until it is late, the bank included; None where no clock runs."""


class Told(NamedTuple):
    """Something happened; None where it is nothing that bots are told."""

    key: SeatKey
    sequence: int
    event: event_pb2.Event

    def __repr__(self) -> str:
        return f"Told({self.sequence})"


class Dropped(NamedTuple):
    """An answer was dropped: unknown_decision, late, already_answered, match_over or else."""

    decision_id: str
    why: str


class Over(NamedTuple):
    """A match is over."""

    key: SeatKey
    end: MatchEnded


class Alive(NamedTuple):
    """Nothing has happened, or nothing that this version knows."""


class CaughtUp(NamedTuple):
    """Every match of the bot has been told on this stream."""


class StreamEnded(NamedTuple):
    """The stream is over: taken_over, draining, key_revoked, bot_left or else."""

    why: str


Heard = Welcomed | Started | Asked | Told | Dropped | Over | Alive | CaughtUp | StreamEnded


class Offer(NamedTuple):
    """The bot that is offered."""

    name: str
    version: str
    description: str
    max_seats: int


class BotStream:
    """One stream to a server."""

    def __init__(self, where: Target, key: str) -> None:
        self._channel = channel(where)
        self._stub = BotServiceStub(self._channel)
        self._metadata = (("authorization", f"Bearer {key}"),)
        self._said: asyncio.Queue[pb.ConnectRequest] = asyncio.Queue()

    async def close(self) -> None:
        """Hang up."""
        await self._channel.close()

    async def connect(
        self, offer: Offer, places: Mapping[SeatKey, int]
    ) -> AsyncGenerator[Heard, None]:
        """Say Hello, and Ready once the server has taken the bot; yield what the server says.

        `places` says up to which event the bot knows its matches.
        """
        self._said.put_nowait(pb.ConnectRequest(hello=hello_of(offer, places)))
        call = self._stub.Connect(self._words(), metadata=self._metadata)
        try:
            async for message in call:
                item = heard(message)
                if isinstance(item, Welcomed):  # not before: a refusal would be lost in the writing
                    self._said.put_nowait(pb.ConnectRequest(ready=pb.Ready()))
                yield item  # whatever it is: the server is alive
        except grpc.aio.AioRpcError as error:
            raise RefusedError(refusal.read(error)) from None
        finally:
            call.cancel()

    def answer(self, decision_id: str, choice: Choice) -> None:
        """Answer a decision."""
        given = dict(choice)
        if "crash" in given:
            given["crash"] = pb.Crash(kind=given["crash"])
        answer = pb.Answer(decision_id=decision_id, **given)
        self._said.put_nowait(pb.ConnectRequest(answer=answer))

    async def _words(self) -> AsyncIterator[pb.ConnectRequest]:
        while True:
            yield await self._said.get()


def hello_of(offer: Offer, places: Mapping[SeatKey, int]) -> pb.Hello:
    """Return a Hello no longer than a server reads: with as many places as fit, the last of them.

    Of a match without a place events are told from the first; whoever plays it skips them.
    """
    hello = pb.Hello(
        **offer._asdict(),
        places=[
            pb.MatchPlace(match_id=key.match_id, seat=key.seat, after_sequence=after)
            for key, after in places.items()
        ],
    )
    while hello.places and hello.ByteSize() > _HELLO_BYTES:
        del hello.places[: -(-len(hello.places) // 8)]
    return hello


def heard(message: pb.ConnectResponse) -> Heard:
    """Return what a message says; of a kind that came after this version, no more than `Alive`."""
    kind = message.WhichOneof("message")
    if kind == "decision":
        return _asked(message.decision, message.sent_time.ToMicroseconds())
    read = _KINDS.get(kind) if kind else None
    return read(getattr(message, kind)) if kind and read else Alive()


def _welcome(said: pb.Welcome) -> Welcomed:
    return Welcomed(said.identity, said.max_seats, said.heartbeat.ToMicroseconds() / 1e6)


def _told(said: pb.MatchEvent) -> Told:
    return Told(SeatKey(said.match_id, said.seat), said.event.sequence, said.event)


def _dropped(said: pb.AnswerRejected) -> Dropped:
    why = name_of(pb.AnswerRejected.Reason, said.reason, "REASON_")
    return Dropped(said.decision_id, why)


def _over(said: pb.MatchOver) -> Over:
    return Over(SeatKey(said.match_id, said.seat), ended(said.result))


def _started(told: pb.MatchStarted) -> Started | Alive:
    by = told.settings
    try:
        played = settings(by.rules, by.players, by.target or None, by.length)
    except RulesError:  # rules of a later version: nobody here can play them
        return Alive()
    info = SeatInfo(
        seat=told.seat,
        side=played.side_of[told.seat],
        players=by.players,
        rules=by.rules,
        target=by.target,
        length=by.length,
        opponents=tuple(told.identities),
    )
    seed = int.from_bytes(told.chance, "big")
    return Started(SeatKey(told.match_id, told.seat), info, seed, told.sequence)


_KINDS: Final[Mapping[str, Callable[[Any], Heard]]] = {
    "welcome": _welcome,
    "match_started": _started,
    "match_event": _told,
    "answer_rejected": _dropped,
    "match_over": _over,
    "alive": lambda _: Alive(),
    "caught_up": lambda _: CaughtUp(),
    "ended": lambda said: StreamEnded(name_of(pb.ConnectionEnded.Reason, said.reason, "REASON_")),
}


def _asked(told: pb.Decision, sent: int) -> Asked:
    clock = allowed = None
    if due := told.deadline.ToMicroseconds():
        allowed = max(0.0, (due - sent) / 1e6)
    if told.view.settings.clock.HasField("per_decision"):
        clock = allowed or 0.0
    if allowed is not None:
        allowed += told.remaining_bank.ToMicroseconds() / 1e6
    key = SeatKey(told.match_id, told.seat)
    return Asked(key, told.decision_id, bot_view(told.view, clock), allowed)
