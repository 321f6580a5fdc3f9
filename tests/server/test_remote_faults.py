"""What remote bots do wrong, and what the world does to them: each harms one match at most."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from tests.server.conftest import Client, bearer, stop
from tests.server.remotes import Admin, Remote
from tests.server.tables import DECLARING, Table, held_up, refused, until

from ronda.v1 import bot_service_pb2 as pb
from ronda.v1 import match_pb2, view_pb2
from ronda.v1 import match_service_pb2 as matches_pb
from ronda_core.record import read
from ronda_server import connection as connections
from ronda_server.clock import wall_clock
from ronda_server.deadlines import CEILING_MICROS
from ronda_server.errors import Reason, StorageError

Fault = match_pb2.Fault
Rejected = pb.AnswerRejected
Ended = pb.ConnectionEnded

HALF_MINUTE = match_pb2.Clock(per_decision=Duration(seconds=30))
TENTH = match_pb2.Clock(per_decision=Duration(nanos=100_000_000))


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.micros = wall_clock()

    def __call__(self) -> int:
        return self.micros


@pytest.fixture
def clock() -> Hands:
    return Hands()


@pytest.fixture
async def slow(start: Any, clock: Hands, tmp_path: Path) -> Admin:
    """Return whoever runs a server whose clock the test moves."""
    return Admin(await start(now=clock, admin_listen="127.0.0.1:0"), tmp_path)


@pytest.fixture
def client(admin: Admin) -> Client:
    return admin.client


async def fault_of(bot: Remote) -> tuple[int, Any]:
    over = await bot.next("match_over")
    assert over.result.outcome == match_pb2.Result.OUTCOME_FORFEIT
    return over.result.fault.seat, over.result.fault.cause


async def detail_of(client: Client, match_id: str) -> str:
    got = await client.matches.GetRecord(matches_pb.GetRecordRequest(match_id=match_id))
    fault = read(got.record.decode()).fault
    assert fault
    return fault.detail


def not_held(view: view_pb2.View) -> int:
    return next(card for card in range(1, 41) if card not in view.hand)


ANSWERS: dict[str, tuple[Any, Any]] = {
    "a card not held": (lambda view: {"card": not_held(view)}, Fault.CAUSE_ILLEGAL),
    "the card 0": (lambda _: {"card": 0}, Fault.CAUSE_PROTOCOL),
    "the card 41": (lambda _: {"card": 41}, Fault.CAUSE_PROTOCOL),
    "the card -1": (lambda _: {"card": -1}, Fault.CAUSE_PROTOCOL),
    "no choice": (lambda _: {}, Fault.CAUSE_PROTOCOL),
    "a declaration": (lambda _: {"declare": True}, Fault.CAUSE_PROTOCOL),
    "a crash": (lambda _: {"crash": pb.Crash(kind="KeyError")}, Fault.CAUSE_CRASH),
}


@pytest.mark.parametrize("kind", ANSWERS)
async def test_an_answer_that_is_wrong_forfeits_by_its_cause_and_the_survivor_is_told(
    client: Client, key: str, kind: str
) -> None:
    choose, cause = ANSWERS[kind]
    bad = await Remote(client, key, name="bad").open()
    good = await Remote(client, key, name="good").open()
    created = await client.create("bad", "good")
    other = await client.create("good", "good", rules="arabic")
    game = await Table(client, created).game()
    if game.waits_for == (1,):
        decision = await good.next("decision")
        while decision.match_id != created.match.id:
            await good.decide(decision)
            decision = await good.next("decision")
        await good.decide(decision)
    decision = await bad.next("decision")
    await bad.answer(decision.decision_id, **choose(decision.view))
    assert await fault_of(bad) == (0, cause)
    ends = [one for one in await good.play_out(3) if one.match_id == created.match.id]
    assert [(one.result.fault.seat, one.result.fault.cause) for one in ends] == [(0, cause)]
    assert ends[0].result.winner == 1
    got = await Table(client, other).match()
    assert got.result.outcome == match_pb2.Result.OUTCOME_HAND  # no harm to any other match


@pytest.mark.parametrize("rules", DECLARING)
@pytest.mark.parametrize(
    ("choice", "cause"),
    [({"declare": True}, Fault.CAUSE_ILLEGAL), ({"card": 1}, Fault.CAUSE_PROTOCOL)],
)
async def test_a_false_declaration_is_illegal_and_a_card_in_its_place_no_answer(
    client: Client, key: str, rules: str, choice: dict[str, Any], cause: Any
) -> None:
    bot = await Remote(client, key).open()
    await client.create("far", "far", rules=rules)
    decision = await bot.next("decision")
    while "declare" in choice and decision.view.may_declare:
        await bot.decide(decision)
        decision = await bot.next("decision")
        if decision.view.phase == view_pb2.View.PHASE_PLAY:
            await bot.decide(decision)
            decision = await bot.next("decision")
    if decision.view.phase == view_pb2.View.PHASE_DECLARE:
        await bot.answer(decision.decision_id, **choice)
        assert await fault_of(bot) == (decision.seat, cause)


async def test_what_a_bot_says_of_its_crash_is_a_word_or_nothing(client: Client, key: str) -> None:
    bot = await Remote(client, key).open()
    for kind, told in (("KeyError", "KeyError"), ("7O \x1b[2J", "a fault"), ("x" * 41, "a fault")):
        created = await client.create("far", "far", rules="arabic")
        decision = await bot.next("decision")
        await bot.answer(decision.decision_id, crash=pb.Crash(kind=kind))
        await bot.play_out(2)
        detail = await detail_of(client, created.match.id)
        assert detail == f"{told} on the bot's own machine"


@pytest.mark.parametrize("clocked", [True, False])
async def test_a_late_answer_is_dropped_whatever_it_says_and_the_match_lost_by_time(
    slow: Admin, clock: Hands, clocked: bool
) -> None:
    client = slow.client
    bot = await Remote(client, await slow.new_key()).open()
    await client.create("far", "greedy", clock=HALF_MINUTE if clocked else None)
    decision = await bot.next("decision")
    limit = 30_000_000 if clocked else CEILING_MICROS
    assert decision.deadline.ToMicroseconds() == clock.micros + limit
    clock.micros += limit
    await bot.answer(decision.decision_id, card=not_held(decision.view))  # late, and illegal too
    rejected = await bot.next("answer_rejected")
    assert rejected == Rejected(decision_id=decision.decision_id, reason=Rejected.REASON_LATE)
    assert await fault_of(bot) == (0, Fault.CAUSE_TIME)
    await bot.decide(decision)
    assert (await bot.next("answer_rejected")).reason == Rejected.REASON_LATE


async def test_an_answer_in_the_last_moment_is_in_time_however_long_it_takes_to_store(
    slow: Admin, clock: Hands
) -> None:
    client = slow.client
    bot = await Remote(client, await slow.new_key()).open()
    await client.create("far", "far", rules="arabic", clock=HALF_MINUTE)
    decision = await bot.next("decision")
    clock.micros += 29_999_999
    async with held_up(client.server.host.log):
        await bot.decide(decision)
        await until(lambda: len(client.server.host.log.committer) > 0)
        clock.micros += 60_000_000
        client.server.host.late(await client.server.host.find(decision.match_id))
    following = await bot.next("decision")
    assert following.deadline.ToMicroseconds() == clock.micros + 30_000_000
    assert [one.result.outcome for one in await bot_rest(bot, following)] == [
        match_pb2.Result.OUTCOME_HAND
    ] * 2


async def test_what_one_seat_has_answered_in_time_gives_another_no_time(
    slow: Admin, clock: Hands
) -> None:
    client = slow.client
    bot = await Remote(client, await slow.new_key()).open()
    await client.create("far", "far", rules="cafe")
    quick, late = await bot.next("decision"), await bot.next("decision")
    async with held_up(client.server.host.log):
        await bot.decide(quick)
        await until(lambda: len(client.server.host.log.committer) > 0)
        clock.micros += CEILING_MICROS
        await bot.decide(late)
        assert (await bot.next("answer_rejected")).reason == Rejected.REASON_LATE
    assert await fault_of(bot) == (late.seat, Fault.CAUSE_TIME)
    live = await client.server.host.find(late.match_id)
    answered = [one.fact.data for one in live.audience.history if one.fact.kind == "answered"]
    assert answered == [{"seat": quick.seat, "declares": quick.view.may_declare}]


async def bot_rest(bot: Remote, decision: pb.Decision) -> list[pb.MatchOver]:
    await bot.decide(decision)
    return await bot.play_out(2)


async def test_the_clock_of_the_match_ends_it_though_nobody_says_anything(
    client: Client, key: str
) -> None:
    bot = await Remote(client, key).open()
    await client.create("far", "far", clock=TENTH)
    decision = await bot.next("decision")
    assert await fault_of(bot) == (decision.seat, Fault.CAUSE_TIME)


async def test_a_bot_that_does_not_say_whether_it_declares_loses_by_time(
    slow: Admin, clock: Hands
) -> None:
    client = slow.client
    bot = await Remote(client, await slow.new_key()).open()
    table = Table(client, await client.create("open", "far", rules="cafe"))
    table.tokens[0] = (await client.join(table.id)).seat_token
    decision = await bot.next("decision")
    assert decision.view.phase == view_pb2.View.PHASE_DECLARE
    clock.micros += CEILING_MICROS
    with refused(Reason.MATCH_OVER):
        await table.declare(0, False)
    assert await fault_of(bot) == (1, Fault.CAUSE_TIME)


@pytest.mark.parametrize("came", [True, False])
async def test_a_bot_that_is_away_too_long_loses_by_time_and_by_no_show_if_it_never_came(
    slow: Admin, clock: Hands, came: bool
) -> None:
    client = slow.client
    key = await slow.new_key()
    bot = await Remote(client, key).open()
    table = Table(client, await client.create("far", "open", rules="cafe"))
    if not came:
        bot.hang_up()
        await until(lambda: not client.server.host.remotes.ready)
    table.tokens[1] = (await client.join(table.id)).seat_token
    if came:
        await bot.next("decision")
        bot.hang_up()
        await until(lambda: not client.server.host.remotes.ready)
    clock.micros += CEILING_MICROS
    with refused(Reason.MATCH_OVER):
        await table.declare(1, False)
    result = (await table.match()).result
    expected = Fault.CAUSE_TIME if came else Fault.CAUSE_NO_SHOW
    assert (result.fault.seat, result.fault.cause) == (0, expected)
    back = await Remote(client, key).open()
    over = await back.next("match_over")  # told although it was away
    assert over.result == result
    assert back.of("match_started") == []


async def test_the_second_answer_to_a_decision_is_dropped(client: Client, key: str) -> None:
    bot = await Remote(client, key).open()
    await client.create("far", "far", rules="arabic")
    decision = await bot.next("decision")
    await bot.decide(decision)
    await bot.answer(decision.decision_id, card=not_held(decision.view))
    rejected = await bot.next("answer_rejected")
    assert rejected.decision_id == decision.decision_id
    assert rejected.reason == Rejected.REASON_ALREADY_ANSWERED
    [following] = bot.of("decision")[1:] or [await bot.next("decision")]
    assert await bot_rest(bot, following)


async def test_decisions_that_a_bot_does_not_have_are_unknown(client: Client, key: str) -> None:
    bot = await Remote(client, key).open()
    thief = await Remote(client, key, name="thief").open()
    created = await client.create("far", "greedy", rules="arabic")
    await client.create("thief", "greedy", rules="arabic")
    decision = await bot.next("decision")
    match_id, seat, opened = decision.decision_id.rsplit("-", 2)
    strange = [
        decision.decision_id,
        f"{match_id}-{seat}-{int(opened) + 1}",
        f"{match_id}-9-{opened}",
        f"{match_id}-{seat}-{opened}0000000000",
        f"{match_id}-{seat}-٣",
        "m-none-0-3",
        "",
        "x" * 2000,
        "-" * 100,
    ]
    for decision_id in strange:
        await thief.answer(decision_id, card=min(decision.view.hand))
        rejected = await thief.next("answer_rejected")
        assert rejected.reason == Rejected.REASON_UNKNOWN_DECISION
        assert rejected.decision_id == (decision_id if len(decision_id) <= 128 else "")
    game = (await client.server.host.find(created.match.id)).game
    assert game.waits_for == (0,)
    assert game.sequence == decision.view.sequence
    await bot.decide(decision)
    assert await bot.play_out()


async def test_an_answer_to_a_match_that_is_over_is_told_so(client: Client, key: str) -> None:
    bot = await Remote(client, key).open()
    table = Table(client, await client.create("far", "open"))
    table.tokens[1] = (await client.join(table.id)).seat_token
    await bot.next("match_started")
    await table.act("Resign", 1)
    over = await bot.next("match_over")
    assert (over.result.fault.seat, over.result.fault.cause) == (1, Fault.CAUSE_RESIGNED)
    await bot.answer(f"{table.id}-0-{over.sequence}", card=1)
    assert (await bot.next("answer_rejected")).reason == Rejected.REASON_MATCH_OVER


async def test_a_flood_of_answers_is_not_read_while_their_rejections_are_not(
    client: Client, key: str
) -> None:
    flood = await Remote(client, key, name="flood").open()
    quiet = await Remote(client, key, name="quiet").open()
    for _ in range(1000):
        await flood.answer("m-none-0-1", card=1)
    await client.create("quiet", "quiet", rules="arabic")
    assert len(await quiet.play_out(2)) == 2
    for _ in range(1000):
        assert (await flood.next("answer_rejected")).reason == Rejected.REASON_UNKNOWN_DECISION
    bot = client.server.host.remotes.find("flood")
    assert bot
    assert bot.connection
    assert len(bot.connection._notes) <= connections._NOTES
    flood.hang_up()


GARBAGE = [b"\xff", b"\x0a\xff", b"\x00" * 100, b"", b"\x12\x00\x12", b"\xba\x3e\x03new"]


@pytest.mark.parametrize("garbage", GARBAGE)
async def test_garbage_ends_its_own_stream_and_no_match(
    client: Client, key: str, garbage: bytes
) -> None:
    raw = client.channel.stream_stream(
        "/ronda.v1.BotService/Connect", response_deserializer=pb.ConnectResponse.FromString
    )(metadata=bearer(key))
    hello = pb.ConnectRequest(hello=pb.Hello(name="far", version="1.0.0"))
    await raw.write(hello.SerializeToString())
    assert (await raw.read()).WhichOneof("message") == "welcome"
    await raw.write(pb.ConnectRequest(ready=pb.Ready()).SerializeToString())
    await until(lambda: client.server.host.remotes.find("far") is not None)
    await client.create("far", "greedy", rules="arabic")
    await raw.read()
    empty = garbage in (b"", b"\xba\x3e\x03new")  # a message, but of no kind that is known
    with refused(Reason.REQUEST_INVALID, "message" if empty else "") as refusal:
        await raw.write(garbage)
        while await raw.read() is not grpc.aio.EOF:
            pass
    assert "arsing" not in str(refusal.error.debug_error_string())
    back = await Remote(client, key).open()
    assert await back.play_out()


async def test_a_message_that_is_too_large_ends_its_own_stream_and_no_match(
    client: Client, key: str
) -> None:
    bot = await Remote(client, key).open()
    await client.create("far", "greedy", rules="arabic")
    with refused(Reason.MESSAGE_TOO_LARGE):
        await bot.answer("x" * 20_000)
        await bot.next("ended")
    again = await Remote(client, key).open()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await again.answer("x" * 1_000_000)
        await again.next("ended")
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    back = await Remote(client, key).open()
    assert await back.play_out()


async def test_a_storage_that_is_away_keeps_an_answer_waiting_and_loses_nothing(
    client: Client, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = await Remote(client, key).open()
    await client.create("far", "far", rules="arabic")
    decision = await bot.next("decision")
    host = client.server.host
    submit, failed = host.log.submit, []

    def fail(work: Any) -> Any:
        if len(failed) < 2:
            failed.append(work)
            raise StorageError("away")
        return submit(work)

    async def at_once() -> None:
        return

    monkeypatch.setattr(host, "pause", at_once)
    monkeypatch.setattr(host.log, "submit", fail)
    assert len(await bot_rest(bot, decision)) == 2
    assert len(failed) == 2


async def test_a_bot_that_says_no_more_is_told_so_and_its_match_waits_for_it(
    client: Client, key: str
) -> None:
    bot = await Remote(client, key).open()
    await client.create("far", "greedy", rules="arabic")
    decision = await bot.next("decision")
    await bot.call.done_writing()
    assert await bot.ended() == Ended.REASON_BOT_LEFT
    back = await Remote(client, key).open()
    assert (await back.next("decision")).decision_id == decision.decision_id


async def test_a_quiet_stream_has_a_heartbeat(
    client: Client, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEARTBEAT_SECONDS", 0.05)
    bot = await Remote(client, key).open()
    assert bot.welcome.heartbeat.ToMilliseconds() == 50
    await bot.next("alive")
    await bot.next("alive")


async def test_a_server_that_leaves_says_so_and_the_match_goes_on_with_the_next(
    start: Any, admin: Admin, client: Client, key: str
) -> None:
    bot = await Remote(client, key).open()
    created = await client.create("far", "far", rules="pagat", length=1)
    await bot.decide(await bot.next("decision"))
    await bot.decide(await bot.next("decision"))
    decision = await bot.next("decision")
    known = {one.seat: one.event.sequence for one in bot.of("match_event")}
    client.stopped = True
    ended, _ = await asyncio.gather(bot.ended(), client.server.stop())
    assert ended == Ended.REASON_DRAINING
    after: Client = await start(admin_listen="127.0.0.1:0")
    places = [
        pb.MatchPlace(match_id=created.match.id, seat=seat, after_sequence=at)
        for seat, at in known.items()
    ]
    back = await Remote(after, key, places=places).open()
    again = await back.next("decision")
    assert again.decision_id == decision.decision_id
    assert again.view.SerializeToString() == decision.view.SerializeToString()
    await back.decide(again)
    assert len(await back.play_out(2)) == 2
    for seat in range(2):
        told = [
            one.event.sequence
            for one in (*bot.of("match_event"), *back.of("match_event"))
            if one.seat == seat
        ]
        assert told == list(range(1, len(told) + 1))  # each event once, over both streams


async def test_a_match_that_a_bot_never_comes_back_to_after_a_restart_ends_by_its_grace(
    start: Any, slow: Admin, clock: Hands
) -> None:
    client = slow.client
    bot = await Remote(client, await slow.new_key()).open()
    table = Table(client, await client.create("far", "open", rules="cafe", clock=HALF_MINUTE))
    table.tokens[1] = (await client.join(table.id)).seat_token
    await bot.decide(await bot.next("decision"))
    await table.declare(1, False)
    await stop(client)
    clock.micros += 600_000_000
    after: Client = await start(now=clock)
    again = table.again(after)
    game = await again.game()
    assert not game.over
    clock.micros += 10_000_000
    with refused(Reason.MATCH_OVER):
        await again.act("Resign", 1)
    result = (await again.match()).result
    assert (result.fault.seat, result.fault.cause) == (game.waits_for[0], Fault.CAUSE_TIME)


async def test_whatever_is_said_on_a_stream_the_server_meets_nothing_unknown(
    client: Client, key: str
) -> None:
    rng = random.Random(1)
    sound = pb.ConnectRequest(answer=pb.Answer(decision_id="m-a-0-3", card=1)).SerializeToString()
    hello = pb.ConnectRequest(hello=pb.Hello(name="far", version="1.0.0")).SerializeToString()
    codes = set()
    for _ in range(300):
        call = client.channel.stream_stream(
            "/ronda.v1.BotService/Connect", response_deserializer=pb.ConnectResponse.FromString
        )(metadata=bearer(key))
        words = [mangled(rng, rng.choice([hello, sound]), 0.3), mangled(rng, sound, 0.8)]
        try:
            for word in words:
                await call.write(word)
            await call.done_writing()
            while await call.read() is not grpc.aio.EOF:
                pass
            codes.add(await call.code())
        except grpc.aio.AioRpcError:
            codes.add(await call.code())
        except asyncio.InvalidStateError:  # it was over before all was said
            pass
    assert grpc.StatusCode.INVALID_ARGUMENT in codes
    assert grpc.StatusCode.OK in codes
    bot = await Remote(client, key).open()
    await client.create("far", "greedy", rules="arabic")
    assert await bot.play_out()


def mangled(rng: random.Random, word: bytes, share: float) -> bytes:
    """Return a message with some of its bytes changed, left out or doubled, or as it is."""
    if rng.random() > share:
        return word
    out = bytearray(word)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(out)) if out else 0
        match rng.randrange(4):
            case 0 if out:
                out[at] ^= 1 << rng.randrange(8)
            case 1 if out:
                del out[at : at + rng.randint(1, 5)]
            case 2:
                out[at:at] = rng.randbytes(rng.randint(1, 20))
            case _:
                out += out[at:]
    return bytes(out)
