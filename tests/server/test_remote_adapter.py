"""An installed bot behind the adapter sees what it would see on the server itself."""

from __future__ import annotations

import pytest
from tests.server.conftest import Client
from tests.server.remotes import Admin, Remote, any_card
from tests.server.tables import TABLES

from ronda_cli.bot_client import Asked, SeatKey, Started, Told, heard
from ronda_cli.convert import EventReader
from ronda_core.rules import settings
from ronda_core.view import CardPlayed, HandEnded, view
from ronda_server.game import Happened


@pytest.fixture
def client(admin: Admin) -> Client:
    return admin.client


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_views_are_those_of_the_game_in_every_field(
    client: Client, key: str, rules: str, players: int
) -> None:
    bot = await Remote(client, key).open()
    length = 0 if rules == "arabic" else 3
    created = await client.create(*["far"] * players, rules=rules, length=length)
    live = await client.server.host.find(created.match.id)
    seen = over = 0
    while over < players:
        message = await bot.read()
        over += message.WhichOneof("message") == "match_over"
        item = heard(message)
        if not isinstance(item, Asked):
            continue
        game = live.game
        if item.view.sequence == game.sequence:  # else another seat has declared meanwhile
            assert game.match
            assert item.view == view(game.match, item.key.seat, game.sequence)
            assert repr(item.view) == repr(view(game.match, item.key.seat, game.sequence))
            assert item.view.hand == view(game.match, item.key.seat).hand  # in the same order
            seen += 1
        await bot.decide(message.decision, any_card(seen))
    assert seen >= 36


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_events_are_those_of_the_game_in_every_field(
    client: Client, key: str, rules: str, players: int
) -> None:
    bot = await Remote(client, key).open()
    length = 0 if rules == "arabic" else 3
    created = await client.create(*["far"] * players, rules=rules, length=length)
    await bot.play_out(players, any_card(5))
    live = await client.server.host.find(created.match.id)
    for seat in range(players):
        reader = EventReader()
        told = [
            item
            for item in map(heard, bot.told)
            if isinstance(item, Told) and item.key == SeatKey(created.match.id, seat)
        ]
        events = [reader.read(item.event) for item in told]
        expected = [_told(one, seat) for one in live.audience.history]
        assert events == expected
        assert any(isinstance(event, CardPlayed) and event.awards for event in events)
        assert any(isinstance(event, HandEnded) for event in events)


def _told(one: Happened, seat: int) -> object:
    """Return what a bot in a seat of this server is told."""
    return (
        None if one.fact.kind == "created" else (one.by_seat[seat] if one.by_seat else one.public)
    )


@pytest.mark.parametrize(("rules", "players"), TABLES)
async def test_a_bot_is_made_as_it_would_be_on_the_server(
    client: Client, key: str, rules: str, players: int
) -> None:
    bot = await Remote(client, key).open()
    created = await client.create(*["greedy"] * (players - 1), "far", rules=rules)
    await bot.next("match_started")
    started = heard(bot.told[-1])
    assert isinstance(started, Started)
    live = await client.server.host.find(created.match.id)
    by = settings(rules, players)
    info = started.info
    assert info.seat == players - 1
    assert info.side == by.side_of[players - 1]
    assert (info.players, info.rules, info.target, info.length) == (players, rules, by.target, 0)
    assert info.opponents == tuple(seat.identity for seat in live.game.seats)
    assert live.game.dealer
    assert started.seed == live.game.dealer.bot_seed(players - 1)
