"""What goes between the arena and a worker: bounded frames, each matched by a number.

To the worker go frames of any length, since what is sent is ours. From it come replies with a
head of seven bytes and a body of at most `MOST_BODY`, checked before it is read: whatever a worker
says is a stranger's word. Nothing here can build an object of the receiver's that is more than a
number, a short text or a view: no pickle, no marshal.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final

import msgspec

from ronda_bots.api import SeatInfo
from ronda_core.cards import CARDS, Card
from ronda_core.events import Award
from ronda_core.view import (
    CardPlayed,
    CardsDealt,
    DeclarationAnswered,
    DeclarationsRevealed,
    Declared,
    Event,
    HandEnded,
    MatchEnded,
    Play,
    View,
)


class Ask(IntEnum):
    """What a worker is asked."""

    ABOUT = 1
    """Import a bot and say version and description."""
    MAKE = 2
    """Make the bot of a seat."""
    PLAY = 3
    DECLARE = 4
    TELL = 5
    """Take in the last events: the match is over."""
    CANARIES = 6
    """Try what must not work here, and say what did."""


class Say(IntEnum):
    """What a worker says."""

    DONE = 1
    """MAKE and TELL are done; for MAKE the value has the bits of `OBSERVES` and `DECIDES`."""
    CARD = 2
    """The value is the number of a card."""
    ANSWER = 3
    """The value is 1 to declare, 0 not to."""
    CRASH = 4
    """The bot raised something; the body is where and the name of its type."""
    NONSENSE = 5
    """The bot answered with something that is no answer."""
    TEXT = 6
    """The body is JSON."""


OBSERVES: Final = 1
DECIDES: Final = 2

ASK: Final = struct.Struct(">IBI")
"""Length of the body, kind, number of the question."""
SAY: Final = struct.Struct(">BIH")
"""Kind, number of the question, and a value or the length of the body."""
MOST_BODY: Final = 4096
WITH_BODY: Final = frozenset({Say.CRASH, Say.TEXT})

_LENGTH: Final = struct.Struct(">I")
_MOST_AT_ONCE: Final = 1 << 20

_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder().decode


def pack(value: object) -> bytes:
    """Return plain data (numbers, texts, bytes, lists, None) as bytes."""
    return _encode(value)


def unpack(data: bytes) -> Any:
    """Return the plain data that `pack` made bytes of."""
    return _decode(data)


def pack_order(value: object) -> bytes:
    """Return plain data as bytes that say how many they are: a stream keeps no borders."""
    body = _encode(value)
    return _LENGTH.pack(len(body)) + body


def read_order(sock: socket.socket, data: bytes) -> Any:
    """Return what `pack_order` packed, of which `data` has come; None where the rest never does."""
    while len(data) < _LENGTH.size or len(data) < _LENGTH.size + _LENGTH.unpack_from(data)[0]:
        more = sock.recv(_MOST_AT_ONCE)
        if not more:
            return None
        data += more
    return _decode(data[_LENGTH.size :])


def pack_seat(seat: SeatInfo) -> list[object]:
    """Return what a bot is made with, as plain data."""
    return [
        seat.seat,
        seat.side,
        seat.players,
        seat.rules,
        seat.target,
        seat.length,
        seat.opponents,
    ]


def unpack_seat(data: Sequence[Any]) -> SeatInfo:
    """Return what `pack_seat` packed."""
    seat, side, players, rules, target, length, opponents = data
    return SeatInfo(seat, side, players, rules, target, length, tuple(opponents))


def pack_decision(view: View, events: Sequence[Event]) -> bytes:
    """Return a question as bytes: the view, and the events that its bot was not told yet."""
    return _encode((_pack_view(view), [pack_event(event) for event in events]))


def unpack_decision(data: bytes, seat: SeatInfo) -> tuple[View, list[Event]]:
    """Return what `pack_decision` packed for the bot of `seat`."""
    view, events = _decode(data)
    return _unpack_view(view, seat), [unpack_event(event) for event in events]


def _pack_view(view: View) -> tuple[object, ...]:
    """Return what changes in a view from one decision to the next; the rest is the seat's."""
    last = view.last_play
    return (
        view.sequence,
        view.hand_number,
        view.batch,
        view.dealer,
        view.turn,
        view.phase,
        view.hand_sizes,
        bytes(view.table),
        bytes(view.first_table),
        bytes(view.plays),
        _pack_play(last) if last else None,
        view.stock,
        view.pile_counts,
        view.scores,
        view.chain_rank,
        view.chain_link,
        bytes(view.pack),
        view.last_capturer,
        view.declared,
        view.answered,
        view.clock,
        bytes(view.hand),
        view.may_declare,
    )


def _unpack_view(data: Sequence[Any], seat: SeatInfo) -> View:
    last = data[10]
    return View(
        data[0],
        seat.players,
        seat.rules,
        seat.target,
        seat.length,
        data[1],
        data[2],
        data[3],
        data[4],
        data[5],
        tuple(data[6]),
        _cards(data[7]),
        _cards(data[8]),
        _cards(data[9]),
        _unpack_play(last) if last else None,
        data[11],
        tuple(data[12]),
        tuple(data[13]),
        data[14],
        data[15],
        _cards(data[16]),
        data[17],
        tuple([Declared(*one) for one in data[18]]),
        tuple(data[19]),
        data[20],
        seat.seat,
        _cards(data[21]),
        data[22],
    )


def pack_event(event: Event) -> tuple[object, ...]:
    """Return an event as plain data."""
    if isinstance(event, CardPlayed):
        return (0, _pack_play(event.play), *event[1:])
    if isinstance(event, CardsDealt):
        rest = event[4:]
        return (1, *event[:3], bytes(event.hand), rest[0], bytes(event.table), *rest[2:])
    if isinstance(event, DeclarationAnswered):
        return (2, *event)
    if isinstance(event, DeclarationsRevealed):
        return (3, *event)
    if isinstance(event, HandEnded):
        return (4, event[0], bytes(event.leftovers), *event[2:])
    return (5, *event)


def unpack_event(data: Sequence[Any]) -> Event:
    """Return what `pack_event` packed."""
    kind, *rest = data
    if kind == 0:
        play, awards, scores, piles, turn = rest
        return CardPlayed(_unpack_play(play), _awards(awards), tuple(scores), tuple(piles), turn)
    if kind == 1:
        number, batch, dealer, hand, sizes, table, stock, awards, scores, turn = rest
        return CardsDealt(
            number,
            batch,
            dealer,
            _cards(hand),
            tuple(sizes),
            _cards(table),
            stock,
            _awards(awards),
            tuple(scores),
            turn,
        )
    if kind == 2:
        return DeclarationAnswered(*rest)
    if kind == 3:
        declared, awards, scores, turn = rest
        told = tuple([Declared(*one) for one in declared])
        return DeclarationsRevealed(told, _awards(awards), tuple(scores), turn)
    if kind == 4:
        number, leftovers, side, piles, awards, scores = rest
        return HandEnded(
            number, _cards(leftovers), side, tuple(piles), _awards(awards), tuple(scores)
        )
    outcome, winner, scores, fault_seat, fault_cause = rest
    return MatchEnded(outcome, winner, tuple(scores), fault_seat, fault_cause)


def _pack_play(play: Play) -> tuple[object, ...]:
    return play.seat, int(play.card), bytes(play.captured), bytes(play.reclaimed), play.link


def _unpack_play(data: Sequence[Any]) -> Play:
    seat, card, captured, reclaimed, link = data
    return Play(seat, CARDS[card], _cards(captured), _cards(reclaimed), link)


def _cards(numbers: bytes) -> tuple[Card, ...]:
    return tuple([CARDS[number] for number in numbers])


def _awards(data: Sequence[Sequence[Any]]) -> tuple[Award, ...]:
    return tuple([Award(*one) for one in data])
