"""The one door between the game's types and protobuf.

A message is built once for each class of viewers. A `View` is its public part, serialised once,
with the few bytes that belong to a seat appended: protobuf joins what is concatenated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from ronda.v1 import event_pb2, match_pb2, match_service_pb2, view_pb2
from ronda_core import hand as hands
from ronda_core import view as views
from ronda_core.match import Cause, Finished
from ronda_core.rules import Settings
from ronda_core.view import Private, PublicView
from ronda_server.game import (
    CancelAgreed,
    Game,
    Happened,
    MatchCreated,
    SeatJoined,
    SeatReady,
    SeatState,
    Told,
)

_M: Final = 1_000_000

_VISIBILITY: Final = {
    "public": match_pb2.VISIBILITY_PUBLIC,
    "unlisted": match_pb2.VISIBILITY_UNLISTED,
    "private": match_pb2.VISIBILITY_PRIVATE,
}
_STATES: Final = {
    "waiting": match_pb2.Match.STATE_WAITING,
    "running": match_pb2.Match.STATE_RUNNING,
    "finished": match_pb2.Match.STATE_FINISHED,
    "cancelled": match_pb2.Match.STATE_CANCELLED,
}
_SEAT_KINDS: Final = {
    "open": match_pb2.Seat.KIND_OPEN,
    "invited": match_pb2.Seat.KIND_INVITED,
    "person": match_pb2.Seat.KIND_PERSON,
    "bot": match_pb2.Seat.KIND_BOT,
}
_OUTCOMES: Final = {
    name.removeprefix("OUTCOME_").lower(): number
    for name, number in match_pb2.Result.Outcome.items()
}
_CAUSES: Final = {
    name.removeprefix("CAUSE_").lower(): number for name, number in match_pb2.Fault.Cause.items()
}
_REASONS: Final = {
    name.removeprefix("AWARD_REASON_").lower(): number
    for name, number in event_pb2.AwardReason.items()
}
_KINDS: Final = {"ronda": event_pb2.SET_KIND_RONDA, "tringa": event_pb2.SET_KIND_TRINGA}
_PHASES: Final = {
    "waiting": view_pb2.View.PHASE_WAITING,
    "declare": view_pb2.View.PHASE_DECLARE,
    "play": view_pb2.View.PHASE_PLAY,
    "over": view_pb2.View.PHASE_OVER,
}


def visibility_name(number: int) -> str | None:
    """Return the name of a visibility, public if unspecified, None if unknown."""
    if number == match_pb2.VISIBILITY_UNSPECIFIED:
        return "public"
    return next((name for name, known in _VISIBILITY.items() if known == number), None)


def state_name(number: int) -> str | None:
    """Return the name of a state, empty if unspecified, None if unknown."""
    if number == match_pb2.Match.STATE_UNSPECIFIED:
        return ""
    return next((name for name, known in _STATES.items() if known == number), None)


def card_number(number: int) -> int | None:
    """Return the number of a card, or None where it is that of none."""
    return number if 1 <= number <= 40 else None


def timestamp(micros: int) -> Timestamp:
    """Return a time in microseconds since 1970 as a message."""
    return Timestamp(seconds=micros // _M, nanos=micros % _M * 1000)


def settings_message(settings: Settings, per_decision: int, visibility: str) -> match_pb2.Settings:
    """Return what a match is played by."""
    clock = match_pb2.Clock()
    if per_decision:
        clock.per_decision.CopyFrom(
            Duration(seconds=per_decision // _M, nanos=per_decision % _M * 1000)
        )
    return match_pb2.Settings(
        rules=settings.preset.name,
        players=settings.players,
        target=settings.target,
        length=settings.length,
        clock=clock,
        visibility=_VISIBILITY[visibility],
    )


def match_message(game: Game, rematch_id: str = "") -> match_pb2.Match:
    """Return a match as GetMatch and the lists tell it."""
    message = match_pb2.Match(
        id=game.id,
        state=_STATES[game.state],
        settings=settings_of(game),
        seats=_seats(game.seats),
        sequence=game.sequence,
        create_time=timestamp(game.created),
        scores=_scores(game),
        commitment=game.commitment,
        rematch_id=rematch_id,
    )
    if game.result:
        message.result.CopyFrom(result_of(game.result))
        message.end_time.CopyFrom(timestamp(game.last_time))
    return message


def _scores(game: Game) -> Sequence[int]:
    if game.result:
        return game.result.scores
    return game.match.scores if game.match else [0] * game.settings.sides


def lobby_view(game: Game) -> bytes:
    """Return the part of a view that changes only while seats are taken."""
    return view_pb2.View(
        match_id=game.id, settings=settings_of(game), seats=_seats(game.seats)
    ).SerializeToString()


def public_view(seen: PublicView, game: Game) -> bytes:
    """Return the public part of a view but for the lobby's."""
    message = view_pb2.View(
        sequence=seen.sequence,
        hand_number=seen.hand_number,
        batch=seen.batch,
        dealer=seen.dealer,
        phase=_PHASES[seen.phase],
        turn=seen.turn,
        hand_sizes=seen.hand_sizes,
        table=_cards(seen.table),
        plays=_cards(seen.plays),
        stock=seen.stock,
        pile_counts=seen.pile_counts,
        scores=seen.scores,
        first_table=_cards(seen.first_table),
        chain_rank=seen.chain_rank,
        chain_link=seen.chain_link,
        pack=_cards(seen.pack),
        last_capturer=seen.last_capturer,
        answered_seats=seen.answered,
        cancel_agreed_seats=sorted(game.cancel_agreed),
    )
    if seen.last_play:
        message.last_play.CopyFrom(_play(seen.last_play))
    if seen.declared:
        message.declared.extend(_declarations(seen.declared))
    if game.deadline:
        message.deadline.CopyFrom(timestamp(game.deadline))
    if game.result:
        message.result.CopyFrom(result_of(game.result))
    return message.SerializeToString()


def private_view(own: Private) -> bytes:
    """Return what a seat's view adds: bytes to append to the public part."""
    return view_pb2.View(
        seat=own.seat, hand=_cards(tuple(sorted(own.hand))), may_declare=own.may_declare
    ).SerializeToString()


def view_frame(sent: bytes, *parts: bytes) -> bytes:
    """Return a WatchMatchResponse that holds the view made of `parts`."""
    return sent + delimited(match_service_pb2.WatchMatchResponse.VIEW_FIELD_NUMBER, *parts)


def event_frame(sent: bytes, event: bytes) -> bytes:
    """Return a WatchMatchResponse that holds `event`."""
    return sent + delimited(match_service_pb2.WatchMatchResponse.EVENT_FIELD_NUMBER, event)


def sent_time(micros: int) -> bytes:
    """Return the time of sending: what every frame begins with."""
    return match_service_pb2.WatchMatchResponse(sent_time=timestamp(micros)).SerializeToString()


def heartbeat_frame(sent: bytes, sequence: int) -> bytes:
    """Return a WatchMatchResponse that only says that the stream lives."""
    beat = match_service_pb2.Heartbeat(sequence=sequence)
    return sent + match_service_pb2.WatchMatchResponse(heartbeat=beat).SerializeToString()


def ended_frame(
    sent: bytes, reason: match_service_pb2.StreamEnded.Reason.ValueType, sequence: int
) -> bytes:
    """Return the last WatchMatchResponse of a stream."""
    ended = match_service_pb2.StreamEnded(reason=reason, sequence=sequence)
    return sent + match_service_pb2.WatchMatchResponse(ended=ended).SerializeToString()


def event_bytes(happened: Happened, game: Game, seat: int | None) -> bytes:
    """Return an event of `game` as `seat`, or a spectator, is told it."""
    told = happened.public
    if happened.by_seat is not None and seat is not None:
        told = happened.by_seat[seat]
    fact = happened.fact
    message = event_pb2.Event(sequence=fact.sequence, event_time=timestamp(fact.time))
    _tell(message, told, game)
    return message.SerializeToString()


def _tell(message: event_pb2.Event, told: Told, game: Game) -> None:
    match told:
        case views.CardPlayed():
            message.card_played.CopyFrom(
                event_pb2.CardPlayed(
                    play=_play(told.play),
                    awards=_awards(told.awards),
                    scores=told.scores,
                    pile_counts=told.pile_counts,
                    turn=told.turn,
                )
            )
        case views.CardsDealt():
            message.cards_dealt.CopyFrom(
                event_pb2.CardsDealt(
                    hand_number=told.hand_number,
                    batch=told.batch,
                    dealer=told.dealer,
                    hand=_cards(tuple(sorted(told.hand))),
                    hand_sizes=told.hand_sizes,
                    table=_cards(told.table),
                    stock=told.stock,
                    awards=_awards(told.awards),
                    scores=told.scores,
                    turn=told.turn,
                )
            )
        case views.DeclarationAnswered():
            message.declaration_answered.seat = told.seat
        case views.DeclarationsRevealed():
            message.declarations_revealed.CopyFrom(
                event_pb2.DeclarationsRevealed(
                    declarations=_declarations(told.declared),
                    awards=_awards(told.awards),
                    scores=told.scores,
                    turn=told.turn,
                )
            )
        case views.HandEnded():
            message.hand_ended.CopyFrom(
                event_pb2.HandEnded(
                    hand_number=told.hand_number,
                    leftovers=_cards(told.leftovers),
                    leftovers_side=told.leftovers_side if told.leftovers else None,
                    pile_counts=told.pile_counts,
                    awards=_awards(told.awards),
                    scores=told.scores,
                )
            )
        case views.MatchEnded():
            message.match_ended.result.CopyFrom(_end(told))
        case _:
            _tell_lobby(message, told, game)


def _tell_lobby(message: event_pb2.Event, told: Told, game: Game) -> None:
    match told:
        case MatchCreated():
            message.match_created.CopyFrom(
                event_pb2.MatchCreated(
                    settings=settings_of(game),
                    seats=_seats(told.seats),
                    commitment=game.commitment,
                )
            )
        case SeatJoined():
            message.seat_joined.CopyFrom(
                event_pb2.SeatJoined(
                    seat=told.seat,
                    identity=told.identity,
                    name=told.name,
                    client_commitment=told.client_commitment,
                )
            )
        case SeatReady():
            message.seat_ready.CopyFrom(event_pb2.SeatReady(seat=told.seat, entropy=told.entropy))
        case CancelAgreed():
            message.cancel_agreed.CopyFrom(event_pb2.CancelAgreed(seat=told.seat))


def settings_of(game: Game) -> match_pb2.Settings:
    """Return what a match is played by."""
    return settings_message(game.settings, game.per_decision, game.visibility)


def _seats(seats: Iterable[SeatState]) -> list[match_pb2.Seat]:
    return [
        match_pb2.Seat(
            index=index,
            kind=_SEAT_KINDS[seat.kind],
            identity=seat.identity,
            name=seat.name,
            ready=seat.ready,
        )
        for index, seat in enumerate(seats)
    ]


def result_of(result: Finished) -> match_pb2.Result:
    """Return how a match ended."""
    return _end(views.ended(result))


def cause_of(cause: Cause) -> match_pb2.Fault.Cause.ValueType:
    """Return the cause of a fault."""
    return match_pb2.Fault.Cause.Value(f"CAUSE_{cause.value.upper()}")


def _end(ended: views.MatchEnded) -> match_pb2.Result:
    message = match_pb2.Result(
        outcome=_enum(_OUTCOMES, ended.outcome), winner=ended.winner, scores=ended.scores
    )
    if ended.fault_seat is not None and ended.fault_cause is not None:
        cause = _enum(_CAUSES, ended.fault_cause)
        message.fault.CopyFrom(match_pb2.Fault(seat=ended.fault_seat, cause=cause))
    return message


def _play(play: views.Play) -> event_pb2.Play:
    return event_pb2.Play(
        seat=play.seat,
        card=_card(play.card),
        captured=_cards(play.captured),
        reclaimed=_cards(play.reclaimed),
        este_link=play.link,
    )


def _awards(awards: Iterable[hands.Award]) -> list[event_pb2.Award]:
    return [
        event_pb2.Award(side=side, reason=_enum(_REASONS, reason), points=points)
        for _, side, reason, points in awards
    ]


def _declarations(declared: Iterable[views.Declared]) -> list[event_pb2.SetDeclaration]:
    return [
        event_pb2.SetDeclaration(batch=batch, seat=seat, kind=_KINDS[kind])
        for batch, seat, kind in declared
    ]


def _enum(numbers: dict[str, Any], name: str) -> Any:
    return numbers[name]


def _card(card: int) -> Any:
    """Return a card's number as the wire has it: they are the same."""
    return card


def _cards(cards: tuple[int, ...]) -> Any:
    return cards


def delimited(field: int, *parts: bytes) -> bytes:
    """Return a length-delimited field that holds the concatenated `parts`."""
    size = sum(map(len, parts))
    return _varint(field << 3 | 2) + _varint(size) + b"".join(parts)


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
