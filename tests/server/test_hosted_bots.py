"""Bots in seats: they play by themselves, go on after a restart, and hold up nobody else."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any, ClassVar

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from tests.server.conftest import Client, stop
from tests.server.made_bots import TENTH, Base, Gate, bot, ended, record_of, sleeper
from tests.server.tables import DECLARING, TABLES, Table, refused, seat_all, until

from ronda.v1 import match_pb2
from ronda_bots.api import Card, Event, SeatInfo, View
from ronda_bots.registry import BotInfo, Registry
from ronda_core import fair
from ronda_core.view import CardsDealt, MatchEnded
from ronda_server import bots
from ronda_server.errors import Reason

Fault = match_pb2.Fault

SECRET = "7O 12E rnd_s_secret"


@pytest.fixture
def with_bots(start: Any, registry: Registry) -> Callable[..., Any]:
    """Return a function that starts a server with more bots than are installed."""

    async def begin(*bots: BotInfo, **changes: Any) -> Client:
        client: Client = await start(Registry((*registry.bots, *bots), ()), **changes)
        return client

    return begin


async def until_waits(table: Table, seat: int) -> None:
    """Wait until a match waits for a seat and for nobody else, or is over."""
    stream = table.watch(table.owner or None, 1)
    async with asyncio.timeout(20):
        while (await stream.read()) is not grpc.aio.EOF:
            game = await table.game()
            if game.waits_for == (seat,):
                break
    stream.cancel()


async def person(table: Table, seat: int) -> None:
    """Take the decision of a person, if a bot has not ended the match meanwhile."""
    hand = await table.hand()
    try:
        if hand.phase == "declare":
            await table.declare(seat, False)
        else:
            await table.play(seat, min(hand.hands[seat]))
    except grpc.aio.AioRpcError:
        assert (await table.game()).over
        assert (await table.match()).result.fault.seat != seat


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_bots_alone_play_a_match_to_its_end_and_its_record_is_proven(
    client: Client, rules: str, players: int
) -> None:
    length = 0 if rules == "arabic" else 2
    names = ["greedy", "careful", "random", "greedy"][:players]
    created = await client.create(*names, rules=rules, length=length)
    assert created.match.state == match_pb2.Match.STATE_RUNNING
    table = Table(client, created)
    match = await ended(table)
    assert match.state == match_pb2.Match.STATE_FINISHED
    assert match.result.outcome != match_pb2.Result.OUTCOME_FORFEIT
    record = await record_of(table)
    assert record.isolation == ("trusted",) * players
    assert record.rated is False
    assert len(record.hands) == (length or 1)
    assert [name.split("@")[0] for name in record.seats] == names


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_person_plays_a_match_against_bots(
    client: Client, rules: str, players: int
) -> None:
    length = 0 if rules == "arabic" else 1
    table = Table(
        client, await client.create("open", *["greedy"] * (players - 1), rules=rules, length=length)
    )
    stream = table.watch(None)
    joined = await client.join(table.id)
    table.tokens[0] = joined.seat_token
    async with asyncio.timeout(20):
        while (message := await stream.read()) is not grpc.aio.EOF:
            game = await table.game()
            if 0 in game.waits_for and message.event.sequence == game.sequence:
                await person(table, 0)
    record = await record_of(table)
    assert record.isolation == ("person", *["trusted"] * (players - 1))
    assert record.fault is None


# Faults.


class CrashesWhenMade(Base):
    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        raise RuntimeError(SECRET)


class CrashesWhenAsked(Base):
    def play(self, view: View) -> Card:
        raise RuntimeError(f"{SECRET} {view.hand}")


class CrashesWhenTold(Base):
    def observe(self, event: Event) -> None:
        raise RuntimeError(SECRET)


class CrashesWhenAskedToDeclare(Base):
    def declare(self, view: View) -> bool:
        raise RuntimeError(SECRET)


class LeavesThePlace(Base):
    def play(self, view: View) -> Card:
        raise SystemExit(3)


class PlaysWhatItDoesNotHold(Base):
    def play(self, view: View) -> Card:
        return view.unseen[0]


class PlaysNoCard(Base):
    def play(self, view: View) -> Card:
        return 41  # type: ignore[return-value] # what it must not


class SaysSomethingElse(Base):
    def play(self, view: View) -> Card:
        return SECRET  # type: ignore[return-value] # what it must not


class DeclaresWhatItDoesNotHold(Base):
    def declare(self, view: View) -> bool:
        return not view.may_declare


class DeclaresPerhaps(Base):
    def declare(self, view: View) -> bool:
        return "perhaps"  # type: ignore[return-value] # what it must not


FAULTS: dict[type[Base], tuple[int, str]] = {
    CrashesWhenMade: (Fault.CAUSE_CRASH, "crash"),
    CrashesWhenAsked: (Fault.CAUSE_CRASH, "crash"),
    CrashesWhenTold: (Fault.CAUSE_CRASH, "crash"),
    CrashesWhenAskedToDeclare: (Fault.CAUSE_CRASH, "crash"),
    LeavesThePlace: (Fault.CAUSE_CRASH, "crash"),
    PlaysWhatItDoesNotHold: (Fault.CAUSE_ILLEGAL, "illegal"),
    PlaysNoCard: (Fault.CAUSE_PROTOCOL, "protocol"),
    SaysSomethingElse: (Fault.CAUSE_PROTOCOL, "protocol"),
    DeclaresWhatItDoesNotHold: (Fault.CAUSE_ILLEGAL, "illegal"),
    DeclaresPerhaps: (Fault.CAUSE_PROTOCOL, "protocol"),
}


@pytest.mark.parametrize("broken", FAULTS, ids=lambda one: one.__name__)
async def test_a_broken_bot_forfeits_with_the_right_cause_and_the_others_learn_of_it(
    with_bots: Any, broken: type[Base]
) -> None:
    cause, word = FAULTS[broken]
    client = await with_bots(bot("broken", broken), bot("sound", Base))
    table = Table(client, await client.create("sound", "broken", "open", rules="cafe"))
    joined = await client.join(table.id)
    table.tokens[2] = joined.seat_token
    stream = table.watch(2, 1)
    told = []
    async with asyncio.timeout(20):
        while (message := await stream.read()) is not grpc.aio.EOF:
            told.append(message)
            game = await table.game()
            if 2 in game.waits_for and message.event.sequence == game.sequence:
                await person(table, 2)
    result = told[-2].event.match_ended.result
    assert result.outcome == match_pb2.Result.OUTCOME_FORFEIT
    assert (result.fault.seat, result.fault.cause) == (1, cause)
    record = await record_of(table)
    assert record.fault
    assert record.fault.cause == word
    assert not any(part in record.fault.detail for part in SECRET.split())
    assert b"secret" not in b"".join(one.SerializeToString() for one in told)


@pytest.mark.parametrize("broken", FAULTS, ids=lambda one: one.__name__)
async def test_a_broken_bot_ends_its_own_match_and_no_other(
    with_bots: Any, broken: type[Base]
) -> None:
    client = await with_bots(bot("broken", broken))
    rules = "pagat"
    bad = [Table(client, await client.create("broken", "greedy", rules=rules)) for _ in range(3)]
    good = Table(client, await client.create("greedy", "random", rules=rules, length=1))
    assert (await ended(good)).result.outcome == match_pb2.Result.OUTCOME_LENGTH
    for table in bad:
        assert (await ended(table)).result.fault.seat == 0
    await record_of(good)


# Time.


async def test_bots_that_sleep_do_not_hold_up_other_matches(with_bots: Any, gate: Gate) -> None:
    client = await with_bots(bot("sleeper", sleeper(gate)))
    asleep = [
        Table(client, await client.create("sleeper", "sleeper", rules="arabic")) for _ in range(20)
    ]
    await until(lambda: gate.waiting == 20)
    awake = Table(client, await client.create("greedy", "random", rules="arabic"))
    assert (await ended(awake)).state == match_pb2.Match.STATE_FINISHED
    people = await seat_all(client, "arabic")
    await people.play_out()
    for table in asleep:
        assert not (await table.game()).over
    gate.open()
    for table in asleep:
        assert (await ended(table)).state == match_pb2.Match.STATE_FINISHED
        await record_of(table)


@pytest.mark.parametrize("clocked", [True, False])
async def test_a_bot_that_does_not_answer_in_time_forfeits_by_the_clock_of_the_host(
    with_bots: Any, gate: Gate, monkeypatch: pytest.MonkeyPatch, clocked: bool
) -> None:
    fields = {"clock": TENTH} if clocked else {}
    if not clocked:
        monkeypatch.setattr(bots, "CEILING_SECONDS", 0.05)
    client = await with_bots(bot("sleeper", sleeper(gate)))
    table = Table(client, await client.create("sleeper", "sleeper", rules="playtash", **fields))
    turn, _ = await table.turn()
    match = await ended(table)
    assert (match.result.fault.seat, match.result.fault.cause) == (turn, Fault.CAUSE_TIME)
    assert match.result.winner == 1 - turn
    before = await table.seen()
    gate.open()  # the answer that comes too late finds the match over
    live = await client.server.host.find(table.id)
    await until(lambda: live.driver is None)
    assert await table.seen() == before
    await record_of(table)


async def test_a_bot_with_a_clock_is_told_its_time(with_bots: Any) -> None:
    seen: list[float | None] = []

    class Reads(Base):
        def play(self, view: View) -> Card:
            seen.append(view.clock)
            return view.hand[0]

    client = await with_bots(bot("reads", Reads))
    clock = match_pb2.Clock(per_decision=Duration(seconds=60))
    await ended(Table(client, await client.create("reads", "reads", rules="arabic", clock=clock)))
    assert set(seen) == {60.0}
    seen.clear()
    await ended(Table(client, await client.create("reads", "reads", rules="arabic")))
    assert set(seen) == {None}


# Restarts.


class Diary(Base):
    """Writes down all that happens to it, and plays by chance."""

    diaries: ClassVar[list[list[str]]] = []

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        super().__init__(seat, rng)
        self.diary = [repr(seat)]
        Diary.diaries.append(self.diary)

    def write(self, *words: object) -> None:
        self.diary.append(" ".join(map(str, words)))

    def declare(self, view: View) -> bool:
        self.write("declare", view.sequence, view.hand, view.answered, view.may_declare)
        return view.may_declare and self.rng.random() < 0.5

    def play(self, view: View) -> Card:
        card = self.rng.choice(view.hand)
        self.write("play", view.sequence, view.hand, view.table, view.plays, card)
        return card

    def observe(self, event: Event) -> None:
        self.write("observe", *event)


async def test_a_bot_lives_its_match_again_after_a_restart(with_bots: Any, gate: Gate) -> None:
    Diary.diaries.clear()
    bots = bot("diary", Diary), bot("sleeper", sleeper(gate))
    before = await with_bots(*bots)
    table = Table(before, await before.create("diary", "sleeper", rules="arabic"))
    gate.let(5)
    await until(lambda: gate.waiting == 6)
    await stop(before)
    gate.open()
    again = table.again(await with_bots(*bots))
    assert (await ended(again)).result.outcome == match_pb2.Result.OUTCOME_HAND
    await record_of(again)
    check_diaries()


@pytest.mark.parametrize("rules", DECLARING)
async def test_a_bot_that_declares_lives_its_match_again_after_a_restart(
    with_bots: Any, rules: str
) -> None:
    Diary.diaries.clear()
    bots = bot("diary", Diary), bot("sound", Base)
    before = await with_bots(*bots)
    table = Table(before, await before.create("diary", "sound", "open", rules=rules, length=1))
    table.tokens[2] = (await before.join(table.id)).seat_token
    for _ in range(6):
        await until_waits(table, 2)
        await person(table, 2)
    await until_waits(table, 2)
    await stop(before)
    again = table.again(await with_bots(*bots))
    while not (await again.game()).over:
        await until_waits(again, 2)
        if not (await again.game()).over:
            await person(again, 2)
    await record_of(again)
    check_diaries()


def check_diaries() -> None:
    """Check that the second bot has lived all that the first has, and then the rest."""
    first, second = Diary.diaries
    assert len(first) > 5
    assert second[: len(first)] == first
    assert len(second) > len(first)


async def test_a_bot_that_was_thinking_when_the_server_stopped_moves_on_the_next_one(
    with_bots: Any, gate: Gate
) -> None:
    wait = bot("sleeper", sleeper(gate))
    before = await with_bots(wait)
    table = Table(before, await before.create("sleeper", "greedy", rules="arabic"))
    await until(lambda: gate.waiting == 1)
    await stop(before)
    after = await with_bots(wait)
    gate.open()
    again = table.again(after)
    assert (await ended(again)).result.outcome == match_pb2.Result.OUTCOME_HAND
    assert len((await record_of(again)).hands[0].plays) == 36


async def test_a_match_whose_bot_is_gone_waits_and_goes_on_when_it_is_back(
    start: Any, registry: Registry, gate: Gate
) -> None:
    wait = bot("sleeper", sleeper(gate))
    known = Registry((*registry.bots, wait), ())
    before = await start(known)
    table = Table(before, await before.create("sleeper", "greedy", rules="arabic"))
    await until(lambda: gate.waiting == 1)
    await stop(before)
    without = await start(registry)
    waiting = table.again(without)
    assert (await waiting.match()).state == match_pb2.Match.STATE_RUNNING
    await ended(Table(without, await without.create("greedy", "random", rules="arabic")))
    await stop(without)
    gate.open()
    back = await start(known)
    assert (await ended(table.again(back))).result.outcome == match_pb2.Result.OUTCOME_HAND


async def test_a_rematch_with_a_bot_that_is_gone_says_so(start: Any, registry: Registry) -> None:
    before = await start(Registry((*registry.bots, bot("sound", Base)), ()))
    table = Table(before, await before.create("open", "sound"))
    table.tokens[0] = (await before.join(table.id)).seat_token
    await table.act("Resign", 0)
    await stop(before)
    again = table.again(await start())
    with refused(Reason.BOT_NOT_FOUND):
        await again.act("Rematch", 0)


# What a bot is shown.


async def test_a_bot_is_told_how_the_match_ended_also_when_another_ended_it(
    with_bots: Any,
) -> None:
    ends: list[tuple[int, MatchEnded]] = []

    class Listens(Base):
        def observe(self, event: Event) -> None:
            if isinstance(event, MatchEnded):
                ends.append((self.seat.seat, event))

    client = await with_bots(bot("listens", Listens))
    table = Table(client, await client.create("listens", "open", "listens", rules="cafe"))
    table.tokens[1] = (await client.join(table.id)).seat_token
    await until_waits(table, 1)
    await table.act("Resign", 1)
    await until(lambda: len(ends) == 2)
    assert sorted(seat for seat, _ in ends) == [0, 2]
    assert {(end.fault_seat, end.fault_cause) for _, end in ends} == {(1, "resigned")}


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_bot_is_shown_its_own_cards_and_no_others(
    with_bots: Any, rules: str, players: int
) -> None:
    shown: dict[int, list[tuple[Card, ...]]] = {seat: [] for seat in range(players)}
    seats: list[SeatInfo] = []

    class Looks(Base):
        def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
            super().__init__(seat, rng)
            seats.append(seat)

        def play(self, view: View) -> Card:
            assert view.seat == self.seat.seat
            return view.hand[0]

        def observe(self, event: Event) -> None:
            if isinstance(event, CardsDealt):
                shown[self.seat.seat].append(event.hand)

    length = 0 if rules == "arabic" else 1
    client = await with_bots(bot("looks", Looks))
    table = Table(client, await client.create(*["looks"] * players, rules=rules, length=length))
    await ended(table)
    record = await record_of(table)
    [hand] = record.hands
    cards = [card for hands in shown.values() for one in hands for card in one]
    first = hand.deck[3 * players : 3 * players + 4]
    assert sorted(cards) == sorted(set(hand.deck) - set(first))
    assert [(one.seat, one.players, one.rules) for one in seats] == [
        (seat, players, rules) for seat in range(players)
    ]


async def test_a_bots_chance_comes_of_the_master_and_can_be_checked_afterwards(
    with_bots: Any,
) -> None:
    drawn: dict[int, float] = {}

    class Draws(Base):
        def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
            super().__init__(seat, rng)
            drawn[seat.seat] = rng.random()

    client = await with_bots(bot("draws", Draws))
    table = Table(client, await client.create("draws", "draws", "draws", rules="cafe", length=1))
    await ended(table)
    record = await record_of(table)
    assert record.fair
    assert record.fair.master
    dealer = fair.Dealer(record.fair.master, record.id, record.fair.entries, 3)
    assert drawn == {seat: random.Random(dealer.bot_seed(seat)).random() for seat in range(3)}


async def test_a_person_alone_among_bots_may_call_the_match_off(client: Client) -> None:
    table = Table(client, await client.create("greedy", "open", "greedy", rules="cafe"))
    table.tokens[1] = (await client.join(table.id)).seat_token
    await until_waits(table, 1)
    assert (await table.act("CancelMatch", 1)).cancelled


async def test_a_bot_that_takes_its_time_for_people_to_follow_plays_on(start: Any) -> None:
    client = await start(bot_delay=0.001)
    table = Table(client, await client.create("greedy", "random", rules="arabic"))
    assert (await ended(table)).result.outcome == match_pb2.Result.OUTCOME_HAND
