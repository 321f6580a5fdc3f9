"""Slow readers, on the audience itself: no network stands between."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ronda.v1 import match_service_pb2 as pb
from ronda_core.cards import TEXT
from ronda_server import fold, streams
from ronda_server import game as games
from ronda_server.facts import Fact
from ronda_server.game import Happened
from ronda_server.metrics import Metrics
from ronda_server.streams import Audience

# Slow readers, on the audience itself: no network stands between.


class Stage:
    """A match that runs without a server, and its audience."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.audience = Audience(lambda: 0, self.metrics)
        seats = [{"kind": games.OPEN}] * 2
        data = {
            "rules": "arabic",
            "target": 0,
            "length": 0,
            "per_decision": 0,
            "visibility": "public",
            "owner": "00",
            "seats": seats,
        }
        fact = Fact(1, 0, "created", data)
        self.game, happened = fold.create("m-1", fact, "0" * 64, b"m" * 32)
        self.tell(happened)
        for seat in range(2):
            joined = {"seat": seat, "identity": f"p{seat}", "name": "", "digest": "00"}
            self.tell(fold.apply(self.game, "joined", joined | {"commitment": ""}, 0))

    def tell(self, happened: list[Happened]) -> None:
        """Make something that happened known."""
        self.audience.add(games.copy(self.game), happened)

    def play(self, times: int = 1) -> None:
        """Play the lowest card, some times."""
        for _ in range(times):
            assert self.game.match
            hand = self.game.match.hand
            assert hand
            data = {"seat": hand.turn, "card": TEXT[min(hand.hands[hand.turn])]}
            self.tell(fold.apply(self.game, "played", data, 0))


async def read(stream: AsyncIterator[bytes], count: int = 1) -> list[pb.WatchMatchResponse]:
    """Return the next messages of a stream without a network."""
    return [pb.WatchMatchResponse.FromString(await anext(stream)) for _ in range(count)]


async def test_a_reader_that_is_a_little_behind_gets_every_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_BEHIND", 8)
    stage = Stage()
    stream = stage.audience.watch(None, 0, False)
    await read(stream)
    last = stage.audience.last
    stage.play(5)
    behind = stage.audience.last - last
    assert behind <= 8
    messages = await read(stream, behind)
    assert [m.event.sequence for m in messages] == list(range(last + 1, last + behind + 1))
    assert stage.metrics.resyncs._value.get() == 0


@pytest.mark.parametrize("seat", [None, 0, 1])
async def test_a_reader_that_is_far_behind_gets_one_view_for_what_it_missed(
    monkeypatch: pytest.MonkeyPatch, seat: int | None
) -> None:
    monkeypatch.setattr(streams, "_BEHIND", 8)
    stage = Stage()
    stream = stage.audience.watch(seat, 0, False)
    await read(stream)
    stage.play(12)
    [message] = await read(stream)
    assert message.view.sequence == stage.audience.last
    assert message.view.HasField("seat") == (seat is not None)
    assert stage.metrics.resyncs._value.get() == 1
    stage.play()
    [following] = await read(stream)
    assert following.event.sequence == message.view.sequence + 1


async def test_a_reader_that_resumes_from_far_back_gets_what_it_asked_for_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_BEHIND", 8)
    stage = Stage()
    stage.play(20)
    last = stage.audience.last
    stream = stage.audience.watch(None, 1, False)
    messages = await read(stream, last - 1)
    assert [m.event.sequence for m in messages] == list(range(2, last + 1))
    assert stage.metrics.resyncs._value.get() == 0


async def test_numbers_never_go_back_whatever_a_reader_misses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "_BEHIND", 4)
    stage = Stage()
    stream = stage.audience.watch(0, 0, True)
    at = (await read(stream))[0].view.sequence
    for burst in (1, 7, 2, 3, 9, 1, 1, 8):
        stage.play(burst)
        while at < stage.audience.last:
            [message] = await read(stream)
            kind = message.WhichOneof("update")
            number = getattr(message, kind or "").sequence
            assert number == at + 1 if kind == "event" else number == stage.audience.last
            at = number
        [message] = await read(stream) if kind == "event" else [message]
        assert message.view.sequence == at


async def test_nothing_grows_with_a_reader_that_never_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage()
    idle = [stage.audience.watch(None, 0, False) for _ in range(3)]
    for stream in idle:
        await read(stream)
    stage.play(30)
    assert not stage.audience._frames, "frames are made for those who read them"
