"""`ronda bots serve` in this process: whatever its bot does, its other matches go on."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

import pytest
from tests.server.conftest import Client
from tests.server.made_bots import TENTH, Base, Gate, bot, sleeper
from tests.server.remotes import Admin, Remote
from tests.server.tables import TABLES, Table, until

from ronda.v1 import match_pb2
from ronda.v1 import match_service_pb2 as matches_pb
from ronda_arena.table import play_match
from ronda_bots.api import BotClass, Card, Event, SeatInfo, View
from ronda_bots.registry import Registry
from ronda_cli.channel import Target
from ronda_cli.output import Failure
from ronda_cli.serving import Served
from ronda_core.record import read
from ronda_core.view import MatchEnded

Fault = match_pb2.Fault


class Running(NamedTuple):
    """A bot that is offered, and what it says of itself."""

    served: Served
    task: asyncio.Future[None]
    said: list[str]


Serve = Callable[..., Awaitable[Running]]


@pytest.fixture
def client(admin: Admin) -> Client:
    return admin.client


@pytest.fixture
async def serve(client: Client, key: str) -> AsyncIterator[Serve]:
    """Return a function that offers a bot class as `far`."""
    tasks: list[asyncio.Future[None]] = []

    async def begin(bot_class: BotClass, **changes: Any) -> Running:
        said: list[str] = []
        served = Served(bot("mine", bot_class), "far", 16, said.append, **changes)
        address = client.server.addresses["listen"]
        task = asyncio.ensure_future(served.serve(Target(address, False, address), key))
        tasks.append(task)
        await until(lambda: client.server.host.remotes.find("far") is not None)
        return Running(served, task, said)

    yield begin
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def result_of(client: Client, created: matches_pb.CreateMatchResponse) -> match_pb2.Result:
    live = await client.server.host.find(created.match.id)
    await until(lambda: live.game.over)
    return (await Table(client, created).match()).result


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_an_installed_bot_plays_from_elsewhere_what_it_would_play_here(
    client: Client, serve: Serve, registry: Registry, rules: str, players: int
) -> None:
    await serve(registry.find("careful").bot_class)
    length = {} if rules == "arabic" else {"length": 2}
    created = await client.create(*["far"] * players, rules=rules, **length)
    result = await result_of(client, created)
    assert not result.HasField("fault")
    got = await client.matches.GetRecord(matches_pb.GetRecordRequest(match_id=created.match.id))
    far = read(got.record.decode())
    game = (await client.server.host.find(created.match.id)).game
    same = bot("far", registry.find("careful").bot_class)
    here = play_match(
        game.id, game.settings, [same] * players, game.master, now=lambda: "2026-01-01T00:00:00Z"
    )
    assert [hand.plays for hand in far.hands] == [hand.plays for hand in here.hands]
    assert far.score == here.score


async def test_a_match_in_which_the_bot_thinks_long_holds_up_no_other(
    client: Client,
    serve: Serve,
    gate: Gate,
) -> None:
    class Picky(sleeper(gate)):  # type: ignore[misc] # a class made by a function
        def play(self, view: View) -> Card:
            return super().play(view) if self.seat.seat == 1 else view.hand[0]

    await serve(Picky)
    slow = await client.create("greedy", "far", rules="arabic")
    await until(lambda: gate.waiting == 1)
    quick = await client.create("far", "greedy", rules="arabic")
    assert not (await result_of(client, quick)).HasField("fault")
    assert not (await client.server.host.find(slow.match.id)).game.over
    gate.open()
    assert not (await result_of(client, slow)).HasField("fault")


class CrashesMade(Base):
    def __init__(self, seat: SeatInfo, rng: Any) -> None:
        raise KeyError("7O 12E")


class CrashesPlaying(Base):
    def play(self, view: View) -> Card:
        raise ValueError("7O 12E")


class CrashesObserving(Base):
    def observe(self, event: Event) -> None:
        raise OSError("7O 12E")


class Exits(Base):
    def play(self, view: View) -> Card:
        sys.exit(3)


class PlaysNothing(Base):
    def play(self, view: View) -> Card:
        return None  # type: ignore[return-value] # what a bot may do


class PlaysAnothers(Base):
    def play(self, view: View) -> Card:
        return view.unseen[0]


class Lies(Base):
    def declare(self, view: View) -> bool:
        return True


class DeclaresNothing(Base):
    def declare(self, view: View) -> bool:
        return None  # type: ignore[return-value] # what a bot may do


BROKEN: dict[BotClass, tuple[str, str]] = {
    CrashesMade: ("crash", "KeyError on the bot's own machine"),
    CrashesPlaying: ("crash", "ValueError on the bot's own machine"),
    CrashesObserving: ("crash", "OSError on the bot's own machine"),
    Exits: ("crash", "SystemExit on the bot's own machine"),
    PlaysNothing: ("protocol", "it answered with something but a card"),
    PlaysAnothers: ("illegal", "it played a card that it does not hold"),
    Lies: ("illegal", "it declared a set that it does not hold"),
    DeclaresNothing: ("protocol", "it did not say whether it declares"),
}


HOW = {
    "crash": "crashed",
    "illegal": "broke its contract (illegal)",
    "protocol": "broke its contract (protocol)",
}
_HERE = f" at {__file__}:"
_TRACEBACK = "Traceback (most recent call last)"
TOLD: dict[BotClass, tuple[str, ...]] = {
    CrashesMade: (_TRACEBACK, 'raise KeyError("7O 12E")', f"seat 0: KeyError{_HERE}"),
    CrashesPlaying: (_TRACEBACK, "ValueError: 7O 12E", f"seat 0: ValueError{_HERE}"),
    CrashesObserving: (_TRACEBACK, "OSError: 7O 12E", f"seat 0: OSError{_HERE}"),
    Exits: (_TRACEBACK, "sys.exit(3)", f"seat 0: SystemExit{_HERE}"),
    PlaysNothing: ("  it answered None (NoneType)",),
    PlaysAnothers: ("  it answered ", " (Card)"),
    Lies: ("  it answered True (bool)",),
    DeclaresNothing: ("  it answered None (NoneType)",),
}
"""What the author is told beside it."""


@pytest.mark.parametrize("bot_class", BROKEN, ids=lambda one: one.__name__)
async def test_a_bot_that_breaks_forfeits_its_match_by_the_cause_that_it_would_have_here(
    client: Client, serve: Serve, bot_class: BotClass
) -> None:
    running = await serve(bot_class, matches=1)
    created = await client.create("far", "greedy", rules="cafe", length=3)
    result = await result_of(client, created)
    got = await client.matches.GetRecord(matches_pb.GetRecordRequest(match_id=created.match.id))
    fault = read(got.record.decode()).fault
    assert fault
    assert (fault.seat, fault.cause, fault.detail) == (0, *BROKEN[bot_class])
    assert result.fault.seat == 0
    async with asyncio.timeout(10):
        await running.task  # the process that runs the bot is none the worse
    said = "\n".join(running.said)  # on the author's own terminal, and nowhere else
    how = HOW[BROKEN[bot_class][0]]
    for words in (*TOLD[bot_class], f"mine {how} in {created.match.id}, seat 0: "):
        assert words in said
    assert "/ronda_arena/" not in said
    assert "/ronda_cli/" not in said


async def test_a_bot_that_is_late_is_told_by_how_much_when_its_time_is_up_and_when_it_answers(
    client: Client,
    serve: Serve,
    gate: Gate,
) -> None:
    running = await serve(sleeper(gate))
    created = await client.create("far", "greedy", rules="arabic", clock=TENTH)
    late = re.compile(
        rf"{created.match.id}, seat 0: (no answer|answered) after \d+\.\d s, "
        r"the clock allows \d+\.\d s"
    )

    def told() -> list[str]:
        return [found[1] for line in running.said if (found := late.fullmatch(line))]

    assert (await result_of(client, created)).fault.cause == Fault.CAUSE_TIME
    await until(lambda: told() == ["no answer"])
    gate.open()
    await until(lambda: told() == ["no answer", "answered"])


async def test_a_bot_observes_every_event_of_its_match_once_over_broken_streams(
    client: Client, serve: Serve, key: str
) -> None:
    told: list[Event] = []

    class Listens(Base):
        def observe(self, event: Event) -> None:
            told.append(event)

    running = await serve(Listens, matches=1)
    table = Table(client, await client.create("far", "open", rules="arabic"))
    table.tokens[1] = (await client.join(table.id)).seat_token
    live = await client.server.host.find(table.id)
    breaks = 0
    while not live.game.over:
        await until(lambda: live.game.over or live.game.waits_for == (1,))
        if live.game.over:
            break
        if breaks < 3:
            breaks += 1
            bot_now = client.server.host.remotes.find("far@1.0.0")
            if bot_now and bot_now.connection:
                bot_now.connection.fail(ConnectionError("planted"))
                client.faults += 1
        await table.step()
    async with asyncio.timeout(20):
        await running.task
    await until(lambda: bool(told) and isinstance(told[-1], MatchEnded))
    public = [one.by_seat[0] if one.by_seat else one.public for one in live.audience.history[1:]]
    assert told == [event for event in public if type(event).__name__ != "SeatJoined"]
    assert breaks == 3


async def test_it_leaves_for_good_when_another_takes_over_or_the_key_is_revoked(
    admin: Admin, client: Client, serve: Serve, key: str
) -> None:
    running = await serve(Base)
    other = await Remote(client, key).open()
    with pytest.raises(Failure, match="taken over") as taken:
        await running.task
    assert taken.value.code == 4
    other.hang_up()
    await until(lambda: client.server.host.remotes.find("far") is None)
    running = await serve(Base)
    await admin.call("RevokeKey", key_id=key.split("_")[2])
    with pytest.raises(Failure, match="revoked"):
        await running.task
    address = client.server.addresses["listen"]
    late = Served(bot("mine", Base), "far", 16, lambda _: None)
    with pytest.raises(Failure, match="--key-file") as refused:
        await late.serve(Target(address, False, address), key)
    assert refused.value.code == 4


async def test_a_thread_that_never_comes_back_keeps_nobody(
    client: Client,
    serve: Serve,
    gate: Gate,
) -> None:
    running = await serve(sleeper(gate))
    await client.create("far", "greedy", rules="arabic")
    await until(lambda: gate.waiting == 1)
    running.task.cancel()
    with contextlib.suppress(asyncio.CancelledError):  # as it was told
        await running.task
    [player] = running.served.players.values()
    assert player.thread.daemon
    assert player.thread.is_alive()
    player.leave()
    gate.open()
    await until(lambda: not player.thread.is_alive())


async def test_a_name_of_another_account_is_refused_at_once_and_every_time(
    admin: Admin, client: Client, serve: Serve
) -> None:
    await serve(Base)
    theirs = await admin.new_key("bob")
    address = client.server.addresses["listen"]
    said: list[str] = []
    for _ in range(10):
        second = Served(bot("mine", Base), "far", 16, said.append)
        with pytest.raises(Failure, match="has this name"):
            await second.serve(Target(address, False, address), theirs)
    assert said == []
