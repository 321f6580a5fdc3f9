"""The door of a remote bot: the one module that speaks `BotService.Connect`.

What comes in leaves as views and events, as `ronda_bots` has them; what a bot decides goes out.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import grpc

from ronda.v1 import bot_service_pb2 as pb
from ronda.v1 import event_pb2, match_pb2, view_pb2
from ronda.v1.bot_service_pb2_grpc import BotServiceStub
from ronda_bots.api import Event, SeatInfo, View
from ronda_cli import refusal
from ronda_cli.channel import Target, channel
from ronda_cli.updates import RefusedError
from ronda_core.cards import CARDS, Card, by_rank
from ronda_core.hand import Award
from ronda_core.rules import RulesError, settings
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
    why = _name(pb.AnswerRejected.Reason, said.reason, "REASON_")
    return Dropped(said.decision_id, why)


def _over(said: pb.MatchOver) -> Over:
    return Over(SeatKey(said.match_id, said.seat), _ended(said.result))


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
    "ended": lambda said: StreamEnded(_name(pb.ConnectionEnded.Reason, said.reason, "REASON_")),
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
        phase=_name(view_pb2.View.Phase, view.phase, "PHASE_"),
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
                return _ended(event.match_ended.result)
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
                _name(event_pb2.AwardReason, award.reason, "AWARD_REASON_"),
                award.points,
            )
            for award in awards
        )


def _ended(result: match_pb2.Result) -> MatchEnded:
    fault = result.fault if result.HasField("fault") else None
    return MatchEnded(
        _name(match_pb2.Result.Outcome, result.outcome, "OUTCOME_"),
        result.winner if result.HasField("winner") else None,
        tuple(result.scores),
        fault.seat if fault else None,
        _name(match_pb2.Fault.Cause, fault.cause, "CAUSE_") if fault else None,
    )


def _play(play: event_pb2.Play) -> Play:
    captured, reclaimed = _cards(play.captured), _cards(play.reclaimed)
    return Play(play.seat, CARDS[play.card], captured, reclaimed, play.este_link)


def _declared(declared: Iterable[event_pb2.SetDeclaration]) -> tuple[Declared, ...]:
    return tuple(
        Declared(one.batch, one.seat, _name(event_pb2.SetKind, one.kind, "SET_KIND_"))
        for one in declared
    )


def _cards(numbers: Sequence[int]) -> tuple[Card, ...]:
    return tuple(CARDS[number] for number in numbers)


def _name(enum: Any, number: int, prefix: str) -> str:
    """Return the name of an enum's value in lower case; of a later version's, its number."""
    names: Mapping[int, str] = {value: name for name, value in enum.items()}
    return names.get(number, f"{prefix}{number}").removeprefix(prefix).lower()
