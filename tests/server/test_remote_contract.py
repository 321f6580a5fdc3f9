"""What the contract of Connect promises to whoever writes a client of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.server.conftest import Client, bearer, stop
from tests.server.remotes import Admin, Remote
from tests.server.tables import Table, refused, until

from ronda.v1 import bot_service_pb2 as pb
from ronda_cli.bot_client import Offer, SeatKey, hello_of
from ronda_server.connection import Connection
from ronda_server.errors import Reason
from ronda_server.frames import places
from ronda_server.loading import Loading
from ronda_server.remote_bot import RemoteBot

Rejected = pb.AnswerRejected


@pytest.fixture
def client(admin: Admin) -> Client:
    return admin.client


async def over_and_not_taken(client: Client, bot: RemoteBot) -> Connection:
    """Let a stream speak for a bot, and break as it hands over the end of a match."""
    remotes = client.server.host.remotes
    connection = Connection(remotes, "key")
    remotes.connect(connection, bot.about, bot.account, ())
    frames = connection.frames(bot)
    async for frame in frames:
        if pb.ConnectResponse.FromString(frame).HasField("match_over"):
            break
    await frames.aclose()
    connection.close(bot)
    remotes.disconnect(bot, connection)
    return connection


async def test_a_hello_with_as_many_places_as_fit_is_read_and_the_last_512_count(
    client: Client, key: str
) -> None:
    bot = await Remote(client, key).open()
    created = await client.create("far", "greedy", rules="arabic")
    decision = await bot.next("decision")
    known = decision.view.sequence
    bot.hang_up()
    await until(lambda: not client.server.host.remotes.ready)
    here = pb.MatchPlace(match_id=created.match.id, seat=0, after_sequence=known)
    many = [*[pb.MatchPlace(match_id="m")] * 600, here]
    assert len(places(pb.Hello(places=many))) == 512
    back = await Remote(client, key, places=many).open()
    again = await back.next("decision")
    assert again.decision_id == decision.decision_id
    assert back.of("match_event") == []


async def test_the_adapter_names_the_last_places_that_fit_into_a_request(
    client: Client, key: str
) -> None:
    keys = [SeatKey(f"m-{number:062}", number % 4) for number in range(600)]
    offer = Offer("far", "1.0.0", "\N{ARABIC LETTER REH}" * 200, 16)
    hello = hello_of(offer, dict.fromkeys(keys, 10**6))
    assert pb.ConnectRequest(hello=hello).ByteSize() <= 16 * 1024
    named = [(one.match_id, one.seat) for one in hello.places]
    assert len(named) > 150
    assert named == keys[-len(named) :]
    whole = Remote(client, key)
    whole.hello = hello
    await whole.open()
    assert len(hello_of(offer, dict.fromkeys(keys[:100], 1)).places) == 100


async def test_a_stream_is_told_that_it_has_caught_up_after_the_matches_of_its_bot(
    client: Client, key: str
) -> None:
    bot = await Remote(client, key).open()
    await bot.next("caught_up")
    assert [one.WhichOneof("message") for one in bot.told] == ["welcome", "caught_up"]
    for _ in range(3):
        await client.create("far", "greedy", rules="arabic")
        await bot.next("decision")
    await client.create("far", "open")  # of a match that has not begun nothing is told
    bot.hang_up()
    await until(lambda: not client.server.host.remotes.ready)
    back = await Remote(client, key).open()
    await back.next("caught_up")
    assert len(back.of("match_started")) == 3
    for _ in range(3):
        await back.decide(await back.next("decision"))
    await back.play_out(3)
    assert len(back.of("caught_up")) == 1


async def test_after_a_restart_a_stream_has_caught_up_when_every_match_is_taken_up(
    start: Any, client: Client, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = await Remote(client, key).open()
    for _ in range(2):
        await client.create("far", "open")
    created = await client.create("far", "greedy", rules="arabic")
    decision = await bot.next("decision")
    await stop(client)
    may_load = asyncio.Event()
    load_all = Loading._load_all

    async def when_told(loading: Loading, match_ids: list[str]) -> None:
        await may_load.wait()
        await load_all(loading, match_ids)

    monkeypatch.setattr(Loading, "_load_all", when_told)
    after: Client = await start()
    back = await Remote(after, key).open()
    await back.answer("m-none-0-1", card=1)
    await back.next("answer_rejected")
    assert back.of("caught_up") == []
    may_load.set()
    await back.next("caught_up")
    assert [one.match_id for one in back.of("match_started")] == [created.match.id]
    [again] = back.of("decision") or [await back.next("decision")]
    assert again.decision_id == decision.decision_id


async def test_an_end_that_is_handed_over_as_the_stream_breaks_is_told_again(
    client: Client, key: str
) -> None:
    first = await Remote(client, key).open()
    table = Table(client, await client.create("far", "open"))
    table.tokens[1] = (await client.join(table.id)).seat_token
    await first.next("match_started")
    bot = client.server.host.remotes.find("far")
    assert bot
    first.hang_up()
    await until(lambda: bot.connection is None)
    await table.act("Resign", 1)
    await until(lambda: len(bot.endings) == 1)
    for _ in range(2):  # kept while the bot was away, and kept again
        await over_and_not_taken(client, bot)
        assert len(bot.endings) == 1
    back = await Remote(client, key).open()
    assert (await back.next("match_over")).match_id == table.id
    await back.next("caught_up")
    assert not bot.endings
    back.hang_up()
    await until(lambda: bot.connection is None)
    last = await Remote(client, key).open()
    await last.next("caught_up")
    assert last.of("match_over") == []


async def test_the_end_of_a_match_that_was_told_while_it_went_on_is_kept_as_well(
    client: Client, key: str
) -> None:
    first = await Remote(client, key).open()
    table = Table(client, await client.create("far", "open"))
    table.tokens[1] = (await client.join(table.id)).seat_token
    await first.next("match_started")
    bot = client.server.host.remotes.find("far")
    assert bot
    first.hang_up()
    await until(lambda: bot.connection is None)
    breaking = asyncio.ensure_future(over_and_not_taken(client, bot))
    await until(lambda: bot.connection is not None)
    await table.act("Resign", 1)
    await breaking
    back = await Remote(client, key).open()
    over = await back.next("match_over")
    assert (over.match_id, over.seat) == (table.id, 0)


async def test_an_end_goes_to_the_stream_that_took_over_from_the_one_that_did_not_take_it(
    client: Client, key: str
) -> None:
    first = await Remote(client, key).open()
    table = Table(client, await client.create("far", "open"))
    table.tokens[1] = (await client.join(table.id)).seat_token
    await first.next("match_started")
    bot = client.server.host.remotes.find("far")
    assert bot
    first.hang_up()
    await until(lambda: bot.connection is None)
    remotes = client.server.host.remotes
    old = Connection(remotes, "key")
    remotes.connect(old, bot.about, bot.account, ())
    told = old.frames(bot)
    await table.act("Resign", 1)
    while not pb.ConnectResponse.FromString(await anext(told)).HasField("match_over"):
        pass
    back = await Remote(client, key).open()
    await back.next("caught_up")
    await told.aclose()
    old.close(bot)
    remotes.disconnect(bot, old)
    assert (await back.next("match_over")).match_id == table.id


async def test_an_answer_said_again_on_a_new_stream_does_no_harm(client: Client, key: str) -> None:
    bot = await Remote(client, key).open()
    await client.create("far", "greedy", rules="arabic")
    decision = await bot.next("decision")
    bot.hang_up()
    await until(lambda: not client.server.host.remotes.ready)
    back = await Remote(client, key).open()
    again = await back.next("decision")
    assert again.decision_id == decision.decision_id
    for _ in range(3):
        await back.decide(again)
    for _ in range(2):
        rejected = await back.next("answer_rejected")
        assert rejected.decision_id == decision.decision_id
        assert rejected.reason == Rejected.REASON_ALREADY_ANSWERED
    [following] = back.of("decision")[1:] or [await back.next("decision")]
    await back.decide(following)
    [over] = await back.play_out()
    assert not over.result.HasField("fault")


async def test_an_account_has_so_many_names_and_no_more_and_goes_on_with_those(
    start: Any, admin: Admin, tmp_path: Any
) -> None:
    key, other = await admin.new_key(), await admin.new_key("bob")
    await stop(admin.client)
    client: Client = await start(max_bot_names=2)
    await Remote(client, key, name="one").open()
    await Remote(client, key, name="two").open()

    async def third(with_key: str) -> pb.ConnectResponse:
        call = client.bots.Connect(metadata=bearer(with_key))
        await call.write(pb.ConnectRequest(hello=pb.Hello(name="three", version="1")))
        message: pb.ConnectResponse = await call.read()
        return message

    with refused(Reason.TOO_MANY_NAMES, "hello.name") as refusal:
        await third(key)
    assert refusal.info.metadata["limit"] == "bot_names"
    assert refusal.retry_seconds == 0
    await Remote(client, key, name="two", version="2").open()  # a version is no name
    assert (await third(other)).welcome.account == "bob"
    with refused(Reason.BOT_NAME_TAKEN, "hello.name"):
        await third(key)
    await stop(client)
    again: Client = await start(max_bot_names=2)
    with refused(Reason.TOO_MANY_NAMES, "hello.name"):
        call = again.bots.Connect(metadata=bearer(key))
        await call.write(pb.ConnectRequest(hello=pb.Hello(name="four", version="1")))
        await call.read()
    await Remote(again, key, name="one").open()
