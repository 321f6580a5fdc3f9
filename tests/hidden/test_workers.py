"""What a worker is sent is its seat's view and nothing else: twins are told the same, byte by byte.

The other end of the socket is played here, and so is every other seat, by script. All that reaches
a worker is heard: what it is started with, and each frame.
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from tests.hidden.deals import Deal, Rigged
from tests.hidden.obs import NUMBER, Playout, replay
from tests.hidden.plan import GROUPS
from tests.hidden.test_twins import some_playout
from tests.hidden.twins import Tally, twin

from ronda_arena import table
from ronda_arena.clock import Clock
from ronda_arena.isolation import Level
from ronda_arena.seat import Seat
from ronda_arena.table import play_match
from ronda_arena.trusted import TrustedSeat
from ronda_arena.worker.nursery import Cradle, Nursery, Remains
from ronda_arena.worker.seat import WorkerSeat
from ronda_arena.worker.wire import ASK, DECIDES, OBSERVES, SAY, Ask, Say
from ronda_arena.worker.worker import Worker
from ronda_bots.api import SeatInfo
from ronda_bots.registry import BotInfo, Origin
from ronda_core.rules import settings

TWINS = 60

each_group = pytest.mark.parametrize(
    ("rules", "players"), GROUPS, ids=[f"{rules}-{players}" for rules, players in GROUPS]
)


class Scripted:
    """Does what its seat did in a playout, and crashes where that ends."""

    version = "1"

    def __init__(self, script: deque[Any]) -> None:
        self._script = script

    def play(self, view: Any) -> Any:
        return self._script.popleft()

    def declare(self, view: Any) -> Any:
        return self._script.popleft()


class Ear:
    """A socket that keeps what it is sent, and answers by a script."""

    def __init__(self, script: deque[Any], heard: list[bytes]) -> None:
        self._script = script
        self._heard = heard
        self._reply = b""

    def sendall(self, data: bytes) -> None:
        _, kind, number = ASK.unpack_from(data)
        # The number of a question is drawn for it, whatever is dealt.
        self._heard.append(data.replace(number.to_bytes(4, "big"), bytes(4), 1))
        if kind == Ask.MAKE:
            self._reply = SAY.pack(Say.DONE, number, OBSERVES | DECIDES)
        elif kind in (Ask.PLAY, Ask.DECLARE) and self._script:
            said = Say.CARD if kind == Ask.PLAY else Say.ANSWER
            self._reply = SAY.pack(said, number, int(self._script.popleft()))
        elif kind == Ask.TELL:
            self._reply = SAY.pack(Say.DONE, number, 0)
        else:
            self._reply = SAY.pack(Say.CRASH, number, 1) + b"\x04"

    def recv(self, most: int) -> bytes:
        reply, self._reply = self._reply, b""
        return reply

    def setsockopt(self, *_: Any) -> None:
        """Time is nothing here."""

    def shutdown(self, how: int) -> None:
        """Nobody is there."""

    def close(self) -> None:
        """Nothing is open."""


class Listening(Nursery):
    """Starts no worker, and hears all that one would be told."""

    def __init__(self, script: deque[Any]) -> None:
        super().__init__()
        self.heard: list[bytes] = []
        self._script = script

    def spawn(self, cradle: Cradle) -> tuple[int, int, socket.socket]:
        self.heard.append(repr(cradle).encode())
        ear: Any = Ear(self._script, self.heard)
        return 1, 0, ear

    def bury(self, generation: int, pid: int, *, ending: bool = False) -> Remains:
        return Remains(None, 0.0, 0, b"", "")


def scripts(playout: Playout) -> list[deque[Any]]:
    """What each seat does, in its order."""
    kept: list[deque[Any]] = [deque() for _ in range(playout.setup.players)]
    for step in playout.steps:
        kept[step[1]].append(NUMBER[step[2]] if step[0] == "play" else step[2])
    return kept


def heard(playout: Playout, viewer: int) -> Sequence[bytes]:
    """Return all that the worker in seat `viewer` is told of a match."""
    setup = playout.setup
    script = scripts(playout)
    nursery = Listening(script[viewer])

    class Hall:
        def level(self, info: BotInfo) -> Level:
            return Level.SANDBOX if info.origin else Level.TRUSTED

        def sit(
            self, info: BotInfo, seat: SeatInfo, seed: int, level: Level, clock: Clock | None = None
        ) -> Seat:
            if level is Level.SANDBOX:
                return WorkerSeat(info, seat, seed, nursery, level, clock)
            return TrustedSeat(info, seat, seed)

    bots = []
    for seat in range(setup.players):
        made: Any = lambda _seat, _rng, own=script[seat]: Scripted(own)  # noqa: E731 -- one a seat
        origin = Origin("nowhere", "Bot") if seat == viewer else None
        bots.append(BotInfo(f"bot{seat}", "1", "tests", "1", "", made, origin))
    rigged = Rigged(Deal(playout.dealer, playout.decks, "twins"), setup.players, "twins")
    with (
        patch.object(table, "Dealer", lambda *_: rigged),
        patch.object(Worker, "_signal", lambda *_: None),
    ):
        play_match(
            "twins",
            settings(setup.rules, setup.players, target=setup.target),
            bots,
            bytes(32),
            now=lambda: "2026-01-01T00:00:00Z",
            seating=Hall(),
            clock=Clock(60.0),
        )
    return nursery.heard


@each_group
def test_no_byte_that_a_worker_is_sent_tells_a_match_from_its_twin(
    rules: str, players: int
) -> None:
    rng = random.Random(f"workers/{rules}/{players}")
    tally = Tally()
    told_apart = frames = 0
    while tally["twin"] < TWINS:
        playout = some_playout(rng, rules, players)
        viewer, other = rng.sample(range(players), 2)
        made = twin(playout, replay(playout), viewer, rng, tally)
        if made is None:
            continue
        first = heard(playout, viewer)
        assert heard(made, viewer) == first
        told_apart += heard(made, other) != heard(playout, other)
        frames += len(first)
    assert frames > 3 * TWINS  # it is started, made, asked and told
    assert told_apart > TWINS // 4  # others are told of what the twins differ in


def test_a_template_is_started_with_nothing_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "rnd_s_what_nobody_may_know"
    monkeypatch.setenv("RONDA_TOKEN_SECRET", secret)
    wraps = subprocess.Popen
    with Nursery() as nursery, patch.object(subprocess, "Popen", wraps=wraps) as popen:
        nursery.start()
        arguments, keywords = popen.call_args
        assert secret not in repr((arguments, keywords))
        assert "RONDA_TOKEN_SECRET" not in keywords["env"]
        assert keywords["cwd"] == "/"
        assert keywords["pass_fds"] == [int(arguments[0][4])]
        if Path("/proc").is_dir():
            line = Path(f"/proc/{nursery.pid}/cmdline").read_bytes()
            assert line.split(b"\0")[1:] == [os.fsencode(one) for one in arguments[0][1:]] + [b""]
