"""Many at once on one match: duplicates, late retries, callers who hang up, a match half made."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from ronda.v1 import match_service_pb2 as pb
from ronda.v1.match_service_pb2_grpc import MatchServiceStub
from ronda_arena.seating import InProcess
from ronda_bots.registry import Registry
from ronda_core.cards import TEXT
from ronda_core.hand import Phase
from ronda_server.app import Server
from ronda_server.config import Config
from ronda_server.identity import Keys
from ronda_server.live import Live

from .crashes import prepare
from .history import Answered, Ended, Entry, Opened, Refused, Sent, Told
from .inside import DATABASE, KEY, Inside, Probe, config, probing
from .judge import check
from .requests import bearer, offer, promised, random_id, reason_of
from .scenarios import brief, four_declare, opening
from .stored import read_database
from .table import RefusedError, Scenario, Simulated, Table, hand_of, life

_CLIENTS = 64


@dataclass
class Racer:
    """A client who holds every seat's token and knows no patience."""

    calls: MatchServiceStub
    chance: random.Random
    match: str
    tokens: list[str]
    journal: list[Entry]

    async def race(self, server: Server) -> None:
        """Send commands, right and wrong, until the match is over; send old ones again."""
        live = await server.host.find(self.match)
        sent: list[Sent] = []
        while not live.game.over:
            command = self._command(live)
            sent.append(command)
            again = [self.chance.choice(sent)] if self.chance.random() < 0.2 else []
            copies = [command] * self.chance.choice((1, 1, 1, 2, 3))
            batch = [*copies, *again]
            self.chance.shuffle(batch)
            await asyncio.gather(*(self._send(one) for one in batch))

    def _command(self, live: Live) -> Sent:
        game, chance = live.game, self.chance
        hand = hand_of(game)
        seat = chance.choice(game.waits_for or (0,))
        expected = game.opened
        wrong = chance.random()
        if wrong < 0.1:
            seat = chance.randrange(len(self.tokens))
        elif wrong < 0.2:
            expected = chance.randrange(1, game.opened + 1)
        if hand.phase is Phase.DECLARE and wrong < 0.9:
            declares = bool(hand.strengths[seat]) and chance.random() < 0.7
            request: Any = pb.DeclareRequest(
                match_id=self.match,
                declare=declares,
                expected_sequence=expected,
                request_id=random_id(chance),
            )
            return self._sent("Declare", request, seat, "answered", declares=declares)
        held = hand.hands[seat] if 0.2 < wrong < 0.9 else []
        card = chance.choice(held or range(1, 41))
        request = pb.PlayCardRequest(
            match_id=self.match,
            card=card,  # type: ignore[arg-type] # a card's number is the enum's
            expected_sequence=expected,
            request_id=random_id(chance),
        )
        return self._sent("PlayCard", request, seat, "played", card=TEXT[card])

    def _sent(self, method: str, request: Any, seat: int, kind: str, **data: Any) -> Sent:
        return Sent(
            request.request_id,
            kind,
            self.match,
            seat,
            {"seat": seat, **data},
            request.expected_sequence,
            method,
            request.SerializeToString(deterministic=True),
            self.tokens[seat],
        )

    async def _send(self, sent: Sent) -> None:
        request = getattr(pb, f"{sent.method}Request").FromString(sent.request)
        self.journal.append(sent)
        try:
            answer = await getattr(self.calls, sent.method)(request, metadata=bearer(sent.token))
        except grpc.aio.AioRpcError as problem:
            self.journal.append(Refused(sent.request_id, reason_of(problem)))
        else:
            told = Answered(sent.request_id, sent.match, answer.sequence, promised(answer))
            self.journal.append(told)


async def _follow(
    calls: MatchServiceStub, journal: list[Entry], match: str, seat: int | None, token: str
) -> None:
    """Write down what a stream tells, and resume it in the middle of everything."""
    name, last = f"{match}/{seat}", 1
    while True:
        journal.append(Opened(name, match, seat, last))
        stream = calls.WatchMatch(
            pb.WatchMatchRequest(match_id=match, after_sequence=last), metadata=bearer(token)
        )
        async for heard in stream:
            assert heard.WhichOneof("update") != "view"
            if heard.HasField("event"):
                last = heard.event.sequence
                data = heard.event.SerializeToString(deterministic=True)
                journal.append(Told(name, last, data))
                if last % 7 == 0:
                    stream.cancel()
                    break
            elif heard.HasField("ended"):
                journal.append(Ended(name, heard.ended.sequence))
                return


@contextlib.asynccontextmanager
async def _served(folder: Path, registry: Registry) -> AsyncIterator[tuple[Server, str]]:
    server = Server(
        Config(
            listen="127.0.0.1:0",
            health_listen="127.0.0.1:0",
            metrics_listen="127.0.0.1:0",
            database=str(folder / DATABASE),
            drain_seconds=1.0,
        ),
        registry,
        InProcess(),
    )
    await server.start()
    try:
        yield server, server.addresses["listen"]
    finally:
        await server.stop()


@pytest.mark.parametrize(("rules", "players"), [("arabic", 2), ("cafe", 3), ("pagat", 4)], ids=str)
async def test_sixty_four_clients_who_race_make_one_history(
    rules: str, players: int, registry: Registry, tmp_path: Path
) -> None:
    journal: list[Entry] = []
    chance = random.Random(f"{rules} {players}")
    async with contextlib.AsyncExitStack() as stack:
        server, address = await stack.enter_async_context(_served(tmp_path, registry))
        channels = [
            await stack.enter_async_context(
                grpc.aio.insecure_channel(address, (("grpc.use_local_subchannel_pool", 1),))
            )
            for _ in range(_CLIENTS)
        ]
        calls = [MatchServiceStub(channel) for channel in channels]
        match, tokens = await _seated(calls, journal, rules, players, chance)
        racers = [
            Racer(one, random.Random(chance.random()), match, tokens, journal) for one in calls
        ]
        async with asyncio.TaskGroup() as group:
            for seat in (None, *range(players)):
                token = "" if seat is None else tokens[seat]
                group.create_task(_follow(calls[0], journal, match, seat, token))
            for racer in racers:
                group.create_task(racer.race(server))
    keys = Keys((tmp_path / KEY).read_bytes())
    report = check(journal, read_database(tmp_path / DATABASE), keys)
    print(report)
    assert report.faults == []
    assert report.refused > report.acknowledged > 30
    assert report.retries > 100


async def _seated(
    calls: list[MatchServiceStub],
    journal: list[Entry],
    rules: str,
    players: int,
    chance: random.Random,
) -> tuple[str, list[str]]:
    """Make one match though all clients ask for it, and seat as many of them as there are seats."""
    length = 0 if rules == "arabic" else 1
    request = pb.CreateMatchRequest(
        rules=rules,
        length=length,
        seats=[offer("open")] * players,
        request_id=random_id(chance),
    )
    sent = Sent(request.request_id, "created", "", -1, {}, 0, "CreateMatch", b"", "")
    journal += [sent] * len(calls)
    made = await asyncio.gather(*(one.CreateMatch(request) for one in calls))
    match = made[0].match.id
    journal += [Answered(sent.request_id, match, 0, promised(answer)) for answer in made]

    async def join(one: MatchServiceStub, name: str) -> tuple[int, str] | None:
        request = pb.JoinMatchRequest(match_id=match, name=name, request_id=random_id(chance))
        data = {"name": name}
        journal.append(Sent(request.request_id, "joined", match, -1, data, 0, "JoinMatch", b"", ""))
        try:
            first, second = await asyncio.gather(one.JoinMatch(request), one.JoinMatch(request))
        except grpc.aio.AioRpcError as problem:
            journal.append(Refused(request.request_id, reason_of(problem)))
            return None
        journal.extend(
            Answered(request.request_id, match, joined.sequence, promised(joined))
            for joined in (first, second)
        )
        return first.seat, first.seat_token

    joined = await asyncio.gather(*(join(one, f"client {at}") for at, one in enumerate(calls)))
    seats = dict(seat for seat in joined if seat)
    assert sorted(seats) == list(range(players))
    return match, [seats[seat] for seat in range(players)]


class HangsUp(Table):
    """Clients who hang up at the `nth` step of every call, and call again."""

    nth = 0
    hung = 0

    def call(self, method: str, request: Any, token: str) -> asyncio.Task[Any]:
        begin: Callable[[], asyncio.Task[Any]] = lambda: super(HangsUp, self).call(  # noqa: E731 # super() wants it here
            method, request, token
        )
        return asyncio.get_running_loop().create_task(self._twice(begin))

    async def _twice(self, begin: Callable[[], asyncio.Task[Any]]) -> Any:
        probe, self.probe = self.probe, _Cancel(self.nth)
        task = begin()
        self.probe = probe
        try:
            return await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
        HangsUp.hung += 1
        return await begin()


class _Cancel(Probe):
    """Cancels the task that takes its `nth` step."""

    def __init__(self, nth: int) -> None:
        super().__init__()
        self._left = nth

    def step(self, name: str) -> None:
        self._left -= 1
        task = asyncio.current_task()
        if not self._left and task:
            task.cancel()


@pytest.mark.parametrize("scenario", [brief, four_declare, opening])
def test_a_caller_who_hangs_up_at_any_await_finds_the_command_done_or_not_begun(
    scenario: Scenario, registry: Registry, tmp_path: Path
) -> None:
    HangsUp.hung = 0
    most = 12
    for nth in range(1, most):
        HangsUp.nth = nth
        before = HangsUp.hung
        folder = tmp_path / str(nth)
        folder.mkdir()
        prepare(folder, registry)
        journal: list[Entry] = []
        asyncio.run(life(folder, registry, journal, scenario, Probe(), HangsUp))
        keys = Keys((folder / KEY).read_bytes())
        report = check(journal, read_database(folder / DATABASE), keys)
        assert report.faults == []
        if HangsUp.hung == before:
            break
    assert nth < most - 1, "a call has more steps than were tried"
    assert HangsUp.hung > 10


class Meddler(Probe):
    """Does something at a statement, on the thread that runs it; nobody waits for anybody else."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = contextlib.nullcontext()  # type: ignore[assignment] # statements overlap here
        self.at: tuple[str, str] = ("", "")
        self.act: Callable[[], None] = lambda: None

    def before(self, statement: str) -> None:
        self._meddle("before", statement)

    def after(self, statement: str) -> None:
        self._meddle("after", statement)

    def _meddle(self, when: str, statement: str) -> None:
        if self.at[0] == when and self.at[1] in statement:
            self.at = ("", "")
            self.act()


async def test_a_match_that_is_looked_for_while_it_is_made_is_one_match(
    registry: Registry, tmp_path: Path
) -> None:
    """Ids are public ahead: anyone may ask for a match between its commit and its answer."""
    meddler = Meddler()
    async with _inside(tmp_path, registry, meddler) as table:
        host, loop = table.server.host, asyncio.get_running_loop()
        scope = (await host.log.unused_scopes())[0][0]
        found: list[Live] = []

        def look() -> None:
            found.append(asyncio.run_coroutine_threadsafe(host.find(scope), loop).result(60))

        meddler.at, meddler.act = ("after", "COMMIT"), look
        made = await table.create("early", "arabic", "open", "open")
        assert [made.match.id] == [scope] == [live.game.id for live in found]
        assert await host.find(scope) is found[0]
        tokens = {0: await table.join("nadia", scope, 0), 1: await table.join("omar", scope, 1)}
        await table.play_out(scope, tokens)
        await table.finish()


async def test_a_match_that_is_made_while_it_is_read_is_one_match(
    registry: Registry, tmp_path: Path
) -> None:
    meddler = Meddler()
    async with _inside(tmp_path, registry, meddler) as table:
        host, loop = table.server.host, asyncio.get_running_loop()
        scope = (await host.log.unused_scopes())[0][0]
        begun, made = threading.Event(), threading.Event()
        looking: list[Any] = []

        def look() -> None:
            looking.append(asyncio.run_coroutine_threadsafe(host.find(scope), loop))
            assert begun.wait(60)  # the reader has seen the rows, and is held up

        def hold_up() -> None:
            begun.set()
            assert made.wait(60)

        def then_hold_up() -> None:
            meddler.at, meddler.act = ("before", "FROM secret"), hold_up
            look()

        meddler.at, meddler.act = ("after", "COMMIT"), then_hold_up
        await table.create("late", "arabic", "open", "open")
        made.set()
        assert await asyncio.wrap_future(looking[0]) is await host.find(scope)
        tokens = {0: await table.join("nadia", scope, 0), 1: await table.join("omar", scope, 1)}
        await table.play_out(scope, tokens)
        await table.finish()


async def test_of_all_ends_that_race_one_comes_and_all_are_told_it(
    registry: Registry, tmp_path: Path
) -> None:
    """Resignations, agreements to cancel, a deadline and a play, all in the same moment."""
    async with _inside(tmp_path, registry, Probe()) as table:
        chance = random.Random(1)
        outcomes = set()
        for attempt in range(24):
            made = await table.create(f"race {attempt}", "cafe", "open", "open", **_a_minute())
            match = made.match.id
            tokens = {
                seat: await table.join(f"{attempt} at {seat}", match, seat) for seat in (0, 1)
            }
            await table.play_out(match, tokens, lambda game: game.sequence >= 9)
            live = await table.live(match)
            ends: list[Coroutine[Any, Any, Any]] = [
                table.cancel(f"cancel {attempt} 0", match, 0, tokens[0]),
                table.cancel(f"cancel {attempt} 1", match, 1, tokens[1]),
                table.play_out(match, tokens, lambda game: game.sequence >= 12),
                _time_is_up(table, live, attempt % 5),
            ]
            if attempt % 3 == 0:
                ends.append(table.resign(f"resign {attempt}", match, 0, tokens[0]))
            chance.shuffle(ends)
            await asyncio.gather(*ends, return_exceptions=True)
            if not live.game.over:
                with contextlib.suppress(RefusedError):  # the clock may be first even now
                    await table.resign(f"last {attempt}", match, 1, tokens[1])
            assert live.game.result
            outcomes.add(live.game.result.outcome)
        await table.finish()
    assert len(outcomes) > 1


def _a_minute() -> dict[str, Any]:
    request = pb.CreateMatchRequest()
    request.clock.per_decision.seconds = 60
    return {"clock": request.clock}


async def _time_is_up(table: Table, live: Live, events: int) -> None:
    """Let the time be up after a few more events, if they come."""
    until = live.game.sequence + events
    while not live.game.over and live.game.sequence < until:
        await table.news()
    if not live.game.over:
        table.pass_time_unseen(live.game.id, 61)


@contextlib.asynccontextmanager
async def _inside(folder: Path, registry: Registry, probe: Probe) -> AsyncIterator[Table]:
    """Return clients of a server in this process, and judge what they saw when they are done."""
    journal: list[Entry] = []
    with probing(probe):
        server = Inside(config(folder, Simulated(journal)), registry)
        await server.start()
        table = Table(server, journal, probe)
        try:
            async with asyncio.timeout(60):  # where nothing is told, nothing ever ends
                yield table
        finally:
            table.leave()
            await server.stop()
    keys = Keys((folder / KEY).read_bytes())
    report = check(journal, read_database(folder / DATABASE), keys)
    assert report.faults == []


async def test_a_command_sent_to_a_server_that_is_going_away_is_done_or_refused(
    registry: Registry, tmp_path: Path
) -> None:
    """What a server answers while it stops is in its log, and what it does not can be retried."""
    journal: list[Entry] = []
    server = Inside(config(tmp_path, Simulated(journal)), registry)
    await server.start()
    table = Table(server, journal, Probe())
    made = await table.create("stopping", "arabic", "open", "greedy")
    token = await table.join("paco", made.match.id, 0)
    playing = asyncio.ensure_future(table.play_out(made.match.id, {0: token}))
    while table.told(made.match.id) < 20:
        await table.news()
    await server.stop()
    table.leave()
    with contextlib.suppress(Exception, asyncio.CancelledError):  # it was left in the middle
        playing.cancel()
        await playing
    again = Inside(config(tmp_path, Simulated(journal)), registry)
    await again.start()
    table = Table(again, journal, Probe())
    await table.resume()
    await table.play_out(made.match.id, {0: token})
    await table.finish()
    await again.stop()
    keys = Keys((tmp_path / KEY).read_bytes())
    report = check(journal, read_database(tmp_path / DATABASE), keys)
    assert report.faults == []
