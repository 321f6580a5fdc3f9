"""Twin deals at the tables of tournaments: a seat learns nothing there that it may not see.

Every seat is a remote bot's. What one of them is told must be the same, byte for byte and to the
microsecond, whatever the others hold; and a public caller is told nothing at all.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from tests.hidden import in_thread, simulated
from tests.hidden.deals import Deal, Dealers
from tests.hidden.obs import NUMBER, Playout, replay
from tests.hidden.service import STEP
from tests.hidden.spies import bundled
from tests.hidden.store import store
from tests.hidden.test_connect_twins import SERVICE, Far, Manner, Told, each_group, manner
from tests.hidden.test_twins import some_playout
from tests.hidden.twins import Tally, twin

from ronda.v1 import bot_service_pb2 as pb
from ronda.v1 import match_service_pb2 as matches_pb
from ronda_arena.table import Place
from ronda_arena.tournament.play import Dealt
from ronda_core.cards import CARDS
from ronda_core.fair import Entry
from ronda_core.rules import settings
from ronda_server import frames
from ronda_server.remote_bot import Place as Seat
from ronda_server.tables.room import Limits
from ronda_server.tables.tables import Tables
from ronda_server.tables.told import Wanted

TWINS = 8
ID = "t-twins-0-0"
PLACE = Place("t-twins", 0, 0, paired=False)


class Heard(list[Told]):
    """What a seat was told, and then what anybody else was."""

    public: list[bytes]


async def public(service: in_thread.InThread) -> list[bytes]:
    """Return what a caller without any right is told of a match, in its methods' order."""
    told = []
    for method in ("GetMatch", "GetRecord"):
        request: Any = getattr(matches_pb, f"{method}Request")(match_id=ID)
        answer = await service.unary(SERVICE + method, request, "")
        assert not answer.ok
        told.append(repr((answer.code, answer.trailing)).encode())
    listed = await service.unary(SERVICE + "ListMatches", matches_pb.ListMatchesRequest(), "")
    assert listed.ok
    assert not matches_pb.ListMatchesResponse.FromString(listed.body).matches
    return told


async def play(service: in_thread.InThread, playout: Playout, seat: int, how: Manner) -> Heard:
    """Play a match, and return all that the bot in `seat` was told."""
    setup = playout.setup
    _, key = await service.server.accounts.create("ann", "", b"request")
    names = [f"far{at}" for at in range(setup.players)]
    bots = [Far(service, key, how.with_events, name) for name in names]
    for bot in bots:
        bot.connect()
    await asyncio.sleep(STEP)  # simulated
    identities = tuple(f"{name}@1" for name in names)
    wanted = Wanted(
        ID,
        Dealt(PLACE, bytes(32), tuple(map(Entry, identities)), identities),
        frozenset(identities),
        settings(setup.rules, setup.players, setup.target or None),
        60_000_000,
        rated=True,
    )
    tables = Tables(service.server.host, Limits())
    playing = asyncio.create_task(tables.play(wanted))
    await asyncio.sleep(STEP)  # simulated
    told = await public(service)
    for number, (word, at, answer) in enumerate(playout.steps):
        if number == how.breaks_at:
            await bots[seat].leave()
            await asyncio.sleep(STEP)  # simulated
            bots[seat].connect()
            await asyncio.sleep(STEP)  # simulated
        choice: Any = {"card": NUMBER[answer]} if word == "play" else {"declare": answer}
        for _ in range(2 if how.repeats else 1):
            bots[at].say(answer=pb.Answer(decision_id=bots[at].asked, **choice))
        await asyncio.sleep(STEP)  # simulated
    told += await public(service)
    await asyncio.sleep(12)  # simulated: there is a sign of life
    for bot in bots:
        await bot.leave()
    playing.cancel()
    heard = Heard(bots[seat].told)
    heard.public = told
    return heard


def told(playout: Playout, seat: int, how: Manner) -> Heard:
    """Play a match at a table, and return what the bot in `seat` is told."""
    store()  # made on a loop of its own
    deal = Deal(playout.dealer, playout.decks, how.seed)

    async def run() -> Heard:
        with Dealers([PLACE.scope], [deal], how.seed).dealing():
            async with in_thread.serve(bundled()) as service:
                return await play(service, playout, seat, how)

    return simulated.run(run())


@each_group
def test_a_seat_at_a_table_cannot_tell_its_match_from_the_twin(rules: str, players: int) -> None:
    rng = random.Random(f"tables/{rules}/{players}")
    tally = Tally()
    kinds: set[str | None] = set()
    found = 0
    while found < TWINS:
        playout = some_playout(rng, rules, players)
        seat = rng.randrange(players)
        other = twin(playout, replay(playout), seat, rng, tally)
        if other is None:
            continue
        how = manner(rng, playout)
        base, same = told(playout, seat, how), told(other, seat, how)
        assert base == same
        assert base.public == same.public
        kinds |= {pb.ConnectResponse.FromString(frame).WhichOneof("message") for _, frame in base}
        found += 1
    assert kinds >= {"match_started", "decision", "caught_up", "alive"}


def test_a_card_of_another_in_a_decision_at_a_table_would_be_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = frames.decision

    def leaking(place: Seat, view: list[bytes], round_trip: int) -> bytes:
        match = place.live.game.match
        assert match
        assert match.hand
        secret = sum(CARDS[card] for card in match.hand.hands[1 - place.seat])
        return honest(place, view, round_trip + secret)

    monkeypatch.setattr(frames, "decision", leaking)
    rng = random.Random("tables/leak")
    differ = False
    while not differ:
        playout = some_playout(rng, "playtash", 2)
        other = twin(playout, replay(playout), 0, rng, Tally())
        if other is not None:
            how = manner(rng, playout)
            differ = told(playout, 0, how) != told(other, 0, how)
