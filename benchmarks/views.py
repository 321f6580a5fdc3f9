"""The views of all seats after a play, built and serialised, against the same from constants."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

from benchmarks.rows import Row, at_most, show
from ronda.v1 import event_pb2, match_pb2, view_pb2
from ronda_core import fair
from ronda_core import match as matches
from ronda_core.hand import Phase
from ronda_core.rules import settings
from ronda_core.view import private, public
from ronda_server import convert
from ronda_server.game import BOT, Game, SeatState

_ROUNDS = 7


def _position() -> Game:
    """Return a match of four in its second batch, with plays, captures and declared sets."""
    rng = random.Random(7)
    game_settings = settings("cafe", 4)
    match = matches.Match(game_settings, 0)
    entries = [fair.Entry(f"careful@1.0.{seat}") for seat in range(4)]
    dealer = fair.Dealer(bytes(32), "bench", entries, 4)
    matches.deal(match, dealer.deck(1))
    hand = match.hand
    assert hand
    while len(hand.plays) < 20:
        if hand.phase is Phase.DECLARE:
            for seat in range(4):
                matches.declare(match, seat, bool(hand.strengths[seat]))
        else:
            matches.play(match, hand.turn, rng.choice(hand.hands[hand.turn]))
    seats = [SeatState(BOT, entry.identity, ready=True) for entry in entries]
    return Game(
        id="m-benchbenchbench",
        settings=game_settings,
        per_decision=0,
        visibility="public",
        commitment="0" * 64,
        master=bytes(32),
        owner=b"",
        created=0,
        seats=seats,
        sequence=60,
        match=match,
    )


def _ours(game: Game) -> Callable[[], list[bytes]]:
    """Return what the server does after every play: the lobby's part is made once a match."""
    lobby = convert.lobby_view(game)

    def build() -> list[bytes]:
        match = game.match
        assert match
        shared = convert.public_view(public(match, game.sequence), game)
        return [
            lobby + shared + convert.private_view(private(match, seat))
            for seat in range(game.settings.players)
        ]

    return build


def _constants(messages: list[view_pb2.View]) -> Callable[[], list[bytes]]:
    """Return a function that builds the same messages, written out as literals."""
    built = ", ".join(f"{_source(message)}.SerializeToString()" for message in messages)
    names = {
        kind.__name__: kind for module in _MODULES for kind in vars(module).values() if _is(kind)
    }
    made: Callable[[], list[bytes]] = eval(f"lambda: [{built}]", names)
    return made


_MODULES = (view_pb2, event_pb2, match_pb2)


def _is(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Message)


def _source(message: Any) -> str:
    """Return the expression that makes `message`."""
    fields = []
    for descriptor, value in message.ListFields():
        if descriptor.message_type is None:
            text = repr(list(value) if descriptor.is_repeated else value)
        elif descriptor.is_repeated:
            text = "[" + ", ".join(map(_source, value)) + "]"
        else:
            text = _source(value)
        fields.append(f"{descriptor.name}={text}")
    return f"{type(message).__name__}({', '.join(fields)})"


def _seconds(build: Callable[[], list[bytes]], times: int = 2000) -> float:
    began = time.perf_counter()
    for _ in range(times):
        build()
    return (time.perf_counter() - began) / times


def rows() -> list[Row]:
    """Measure, alternating."""
    game = _position()
    ours = _ours(game)
    messages = [view_pb2.View.FromString(data) for data in ours()]
    reference = _constants(messages)
    assert [view_pb2.View.FromString(data) for data in reference()] == messages
    ratios, times = [], []
    for _ in range(_ROUNDS):
        base = _seconds(reference)
        mine = _seconds(ours)
        ratios.append(mine / base)
        times.append((mine, base))
    mine, base = sorted(times)[_ROUNDS // 2]
    detail = f"{mine * 1e6:.0f} us for four seats, constants {base * 1e6:.0f} us"
    return [at_most("views of all seats after a play", ratios, "x constants", 1.2, 0.6, detail)]


if __name__ == "__main__":
    show(rows())
