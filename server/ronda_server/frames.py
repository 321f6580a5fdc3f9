"""What remote bots say and are told, between the game's types and protobuf."""

from __future__ import annotations

import re
from typing import Final

from google.protobuf.duration_pb2 import Duration

from ronda.v1 import bot_service_pb2 as pb
from ronda_core.claims import is_name
from ronda_server import convert
from ronda_server.errors import Reason, ServiceError
from ronda_server.game import Game
from ronda_server.remote_bot import About, Ending, Place, RemoteBot

_Response = pb.ConnectResponse
_M: Final = 1_000_000
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_VERSION: Final = re.compile(r"[A-Za-z0-9.+_-]{1,64}", re.ASCII)
_KIND: Final = re.compile(r"[A-Za-z0-9_]{1,40}", re.ASCII)
_LONGEST_ID: Final = 128
_HEEDED: Final = 512
"""Places of a Hello, the last of them: more than a bot has seats."""
_BANK: Final = Duration()


def about(hello: pb.Hello) -> About:
    """Return what a bot says of itself, or refuse it."""
    checks = {
        "hello.name": _NAME.fullmatch(hello.name),
        "hello.version": _VERSION.fullmatch(hello.version),
        "hello.description": len(hello.description) <= 200
        and (not hello.description or is_name(hello.description)),
        "hello.plays": len(hello.plays) <= 16
        and all(len(one.rules) <= 64 and len(one.players) <= 3 for one in hello.plays),
    }
    for field, sound in checks.items():
        if not sound:
            raise ServiceError(Reason.REQUEST_INVALID, field=field)
    return About(
        hello.name,
        hello.version,
        hello.description,
        hello.max_seats,
        tuple((one.rules, frozenset(one.players)) for one in hello.plays),
        not hello.without_events,
    )


def places(hello: pb.Hello) -> list[tuple[str, int, int]]:
    """Return how far a bot has followed its matches: match, seat, number of the last event."""
    return [(one.match_id, one.seat, one.after_sequence) for one in hello.places[-_HEEDED:]]


def choice(answer: pb.Answer) -> tuple[str, object] | None:
    """Return what was chosen, as it stands there."""
    kind = answer.WhichOneof("choice")
    if kind == "card":
        return kind, int(answer.card)
    if kind == "declare":
        return kind, answer.declare
    if kind == "crash":
        told = answer.crash.kind
        return kind, told if _KIND.fullmatch(told) else ""
    return None


def sent_time(micros: int) -> bytes:
    """Return the time of sending: what every frame begins with."""
    return _Response(sent_time=convert.timestamp(micros)).SerializeToString()


def welcome(bot: RemoteBot, heartbeat: float) -> bytes:
    """Return the answer to a Hello."""
    message = pb.Welcome(
        identity=bot.identity,
        account=bot.account,
        max_seats=bot.max_seats,
        heartbeat=_duration(round(heartbeat * _M)),
    )
    return _Response(welcome=message).SerializeToString()


def started(game: Game, seat: int) -> bytes:
    """Return that a match has begun."""
    assert game.dealer
    message = pb.MatchStarted(
        match_id=game.id,
        seat=seat,
        settings=convert.settings_of(game),
        identities=[one.identity for one in game.seats],
        chance=game.dealer.bot_seed(seat).to_bytes(32, "big"),
        sequence=game.sequence,
    )
    return _Response(match_started=message).SerializeToString()


def event(match_id: str, seat: int, told: bytes) -> bytes:
    """Return an event, which is serialised already."""
    head = pb.MatchEvent(match_id=match_id, seat=seat).SerializeToString()
    body = convert.delimited(pb.MatchEvent.EVENT_FIELD_NUMBER, told)
    return convert.delimited(_Response.MATCH_EVENT_FIELD_NUMBER, head, body)


def decision(place: Place, view: list[bytes], round_trip: int) -> bytes:
    """Return the decision of a seat that is open; the parts of its view are serialised already."""
    head = pb.Decision(
        decision_id=place.decision_id,
        match_id=place.live.game.id,
        seat=place.seat,
        remaining_bank=_BANK,
        deadline=convert.timestamp(place.due),
        last_round_trip=_duration(round_trip) if round_trip else None,
    )
    return convert.delimited(
        _Response.DECISION_FIELD_NUMBER,
        head.SerializeToString(),
        convert.delimited(pb.Decision.VIEW_FIELD_NUMBER, *view),
    )


def rejected(decision_id: str, why: pb.AnswerRejected.Reason.ValueType) -> bytes:
    """Return that an answer was dropped."""
    told = decision_id if len(decision_id) <= _LONGEST_ID else ""
    message = pb.AnswerRejected(decision_id=told, reason=why)
    return _Response(answer_rejected=message).SerializeToString()


def over(ending: Ending) -> bytes:
    """Return that a match is over."""
    message = pb.MatchOver(
        match_id=ending.match_id,
        seat=ending.seat,
        result=convert.result_of(ending.result),
        sequence=ending.sequence,
    )
    return _Response(match_over=message).SerializeToString()


def caught_up() -> bytes:
    """Return that all matches have been told."""
    return _CAUGHT_UP


_CAUGHT_UP: Final = _Response(caught_up=pb.CaughtUp()).SerializeToString()


def alive() -> bytes:
    """Return that nothing has happened."""
    return _ALIVE


_ALIVE: Final = _Response(alive=pb.ConnectionAlive()).SerializeToString()


def ended(reason: pb.ConnectionEnded.Reason.ValueType) -> bytes:
    """Return that the stream is over."""
    return _Response(ended=pb.ConnectionEnded(reason=reason)).SerializeToString()


def _duration(micros: int) -> Duration:
    return Duration(seconds=micros // _M, nanos=micros % _M * 1000)
