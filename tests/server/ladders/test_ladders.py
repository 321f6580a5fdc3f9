"""Ladders of a server: what they tell is what their logs come to, at every moment."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import stop
from tests.server.ladders.callers import BOT, STATE, Caller, Log, Seen, ladder_file
from tests.server.scraping import scrape, total
from tests.server.tables import refused

from ronda.v1 import ladder_service_pb2 as pb
from ronda_arena.ladder.begin import kept
from ronda_arena.ladder.plan import made
from ronda_arena.ladder.run import Run
from ronda_arena.ladder.store import claim
from ronda_arena.tournament.executors.here import Here
from ronda_bots.registry import Registry
from ronda_core.rules import settings
from ronda_server.errors import Reason

TABLES = (("arabic", 2, 0, 2), ("cafe", 3, 1, 3), ("playtash", 4, 1, 2))
"""Preset, seats, hands, and games of a block."""


async def test_what_is_told_of_every_ladder_is_what_its_log_comes_to_to_the_last_bit(
    start: Any, tmp_path: Path
) -> None:
    files = [
        ladder_file(tmp_path, name=rules, dir=rules, rules=rules, players=players, hands=hands)
        for rules, players, hands, _ in TABLES
    ]
    client = await start(ladders=files)
    for rules, players, hands, games in TABLES:
        ann = Caller(client, rules)
        seen = await ann.until(lambda told: told.games >= 30)
        page = await ann.page()
        log = await asyncio.to_thread(Log, tmp_path / rules, page.ladder.sequence)
        assert list(page.ratings) == log.ratings()
        told = page.ladder
        assert (told.rules, told.players, told.length) == (rules, players, hands)
        assert (told.blocks, told.games) == (log.ladder.blocks, log.ladder.games)
        assert told.games == games * told.blocks
        assert told.state == STATE.STATE_RUNNING
        assert {one.bot for one in page.ratings} == set(seen.ratings)
        for bot in seen.ratings:
            one = await ann.one(bot)
            log = await asyncio.to_thread(Log, tmp_path / rules, one.ladder.sequence)
            assert one.rating in log.ratings()
            history = [_point(point) for point in one.history]
            assert history == log.points(bot)
            assert history[-1][1:3] == (one.rating.blocks, one.rating.games)
            for point in one.history:
                assert point.rating.low <= point.rating.value <= point.rating.high


async def test_a_stream_begins_with_the_standings_and_its_changes_lead_to_where_they_are(
    start: Any, tmp_path: Path
) -> None:
    client = await start(ladders=[ladder_file(tmp_path)])
    ann, seen = Caller(client), Seen()
    stream = ann.watch()
    await seen.until(stream, lambda told: told.games >= 40 and told.kinds.count("changes") > 2)
    assert seen.kinds[0] == "standings"
    assert "standings" not in seen.kinds[1:]
    log = await asyncio.to_thread(Log, tmp_path / "quick", seen.ladder.sequence)
    # A rank moves with those of others and an interval with what anchors show: they are told with
    # the next that changes in the bot.
    assert {bot: _own(one) for bot, one in seen.ratings.items()} == {
        one.bot: _own(one) for one in log.ratings()
    }
    for one in log.ratings():
        told = seen.ratings[one.bot]
        assert told.rating.value == one.rating.value
        assert told.at_least == pytest.approx(one.at_least, abs=0.6)
    # Who has seen that goes on from there; what is unknown begins anew.
    for after, first in ((seen.ladder.sequence, "changes"), (10**9, "standings"), (0, "standings")):
        again = Seen()
        resumed = ann.watch(after)
        await again.until(resumed, lambda told: told.kinds[-1] != "heartbeat")
        assert [kind for kind in again.kinds if kind != "heartbeat"] == [first]
        assert again.ladder.sequence > seen.ladder.sequence
        resumed.cancel()
    stream.cancel()


def _point(told: Any) -> tuple[int, int, int, float, float, float]:
    rating = told.rating
    seen = told.time.seconds, told.blocks, told.games
    return (*seen, rating.value, rating.low, rating.high)


def _own(one: Any) -> Any:
    """Return what a bot's own blocks change in how it stands."""
    told = BOT()
    told.CopyFrom(one)
    for field in ("rank", "rating", "at_least"):
        told.ClearField(field)
    return told


async def test_nothing_of_a_block_is_told_before_its_last_game_is_over(
    start: Any, tmp_path: Path
) -> None:
    file = ladder_file(tmp_path, rules="cafe", players=3, hands=1)
    ann, seen = Caller(await start(ladders=[file])), Seen()
    stream = ann.watch()
    whole: list[bool] = []

    def enough(told: Seen) -> bool:
        whole.extend(one.games == 3 * one.blocks for one in told.ratings.values())
        whole.append(told.ladder.games == 3 * told.ladder.blocks)
        return told.games >= 30

    await seen.until(stream, enough)
    assert all(whole)
    stream.cancel()


async def test_a_server_that_leaves_says_so_and_where_to_go_on(start: Any, tmp_path: Path) -> None:
    client = await start(ladders=[ladder_file(tmp_path)])
    ann, seen = Caller(client), Seen()
    stream = ann.watch()
    await seen.until(stream, lambda told: told.games > 0)
    leaving = asyncio.create_task(stop(client))
    while (message := await stream.read()).WhichOneof("update") != "ended":
        seen.take(message)
    await leaving
    assert message.ended.reason == pb.LadderStreamEnded.REASON_DRAINING
    assert message.ended.sequence == seen.ladder.sequence
    again = Caller(await start(ladders=[ladder_file(tmp_path)]))
    after = await again.until(lambda told: told.games > seen.games)
    for bot, one in seen.ratings.items():
        assert after.ratings[bot].games >= one.games


def _local(folder: Path, registry: Registry, games: int) -> int:
    """Play a ladder in this process, as `ronda ladder run` does; return its games."""
    table = settings("arabic", 2)

    def plan(_begun: object) -> Any:
        identity = registry.find("random").identity
        return made("quick", table, anchors=[f"{identity}=18"])

    with claim(folder) as held:
        run = Run(
            kept(held, plan, ("rules", "anchors")), lambda: registry, wanted=("greedy", "careful")
        )
        run.play(Here, run.ladder.games + games)
        return run.ladder.games


@pytest.mark.thorough
async def test_a_ladder_goes_on_from_the_command_line_to_the_server_and_back(
    start: Any, tmp_path: Path, registry: Registry
) -> None:
    folder = tmp_path / "quick"
    games = await asyncio.to_thread(_local, folder, registry, 20)
    client = await start(ladders=[ladder_file(tmp_path)])
    seen = await Caller(client).until(lambda told: told.games > games)
    await stop(client)
    assert await asyncio.to_thread(_local, folder, registry, 10) >= seen.games + 10


async def test_ratings_are_told_by_pages_by_prefix_and_by_state(start: Any, tmp_path: Path) -> None:
    bots = ["greedy", "careful", "counter", "sampler"]
    file = ladder_file(tmp_path, bots=bots, workers=2)
    ann = Caller(await start(ladders=[file]))
    await ann.until(lambda told: len(told.ratings) == 5)
    names, token = [], ""
    while True:
        page = await ann.page(page_size=2, page_token=token)
        assert len(page.ratings) <= 2
        names += [one.bot for one in page.ratings]
        token = page.next_page_token
        if not token:
            break
    assert {f"{name}@1.0.0" for name in (*bots, "random")} >= set(names)
    assert len(names) >= 3
    assert {one.bot for one in (await ann.page(bot_prefix="c")).ratings} == {
        "careful@1.0.0",
        "counter@1.0.0",
    }
    anchors = (await ann.page(states=[BOT.STATE_ANCHOR])).ratings
    assert [(one.bot, one.rating.value) for one in anchors] == [("random@1.0.0", 18.0)]
    assert not (await ann.page(states=[BOT.STATE_QUARANTINED, BOT.STATE_INACTIVE])).ratings
    for asked, reason, field in (
        ({"page_size": -1}, Reason.BAD_PAGE_SIZE, "page_size"),
        ({"page_token": "x"}, Reason.BAD_PAGE_TOKEN, "page_token"),
        ({"states": [99]}, Reason.REQUEST_INVALID, "states"),
        ({"states": [0]}, Reason.REQUEST_INVALID, "states"),
        ({"states": [1] * 9}, Reason.REQUEST_INVALID, "states"),
        ({"bot_prefix": "x" * 129}, Reason.REQUEST_INVALID, "bot_prefix"),
    ):
        with refused(reason, field):
            await ann.page(**asked)
    other = await ann.client.matches.ListMatches(_matches())
    with refused(Reason.BAD_PAGE_TOKEN, "page_token"):
        await ann.page(page_token=other.next_page_token or "e30=")


def _matches() -> Any:
    from ronda.v1 import match_service_pb2  # noqa: PLC0415 -- of another service

    return match_service_pb2.ListMatchesRequest()


async def test_a_ladder_is_named_or_the_first_and_what_is_not_there_is_not_found(
    start: Any, tmp_path: Path
) -> None:
    files = [ladder_file(tmp_path, name=name, dir=name) for name in ("one", "two")]
    client = await start(ladders=files)
    first, second, none = Caller(client), Caller(client, "two"), Caller(client, "three")
    assert (await first.until(lambda told: told.games > 0)).ladder.name == "one"
    assert (await second.until(lambda told: told.games > 0)).ladder.name == "two"
    for ask in (none.page, lambda: none.one("greedy"), lambda: none.watch().read()):
        with refused(Reason.LADDER_NOT_FOUND, "ladder"):
            await ask()
    for name in ("nobody", "greedy@9", "", "counter"):
        with refused(Reason.RATING_NOT_FOUND):
            await first.one(name)
    assert (await first.one("greedy")).rating.bot == "greedy@1.0.0"
    await stop(client)
    empty = Caller(await start())
    with refused(Reason.LADDER_NOT_FOUND, "ladder"):
        await empty.page()


async def test_games_bots_and_ladders_are_counted(start: Any, tmp_path: Path) -> None:
    ann = Caller(await start(ladders=[ladder_file(tmp_path)]))
    await ann.until(lambda told: told.games >= 10)
    samples = await scrape(ann.client)
    assert total(samples, "ronda_ladder_games_total") >= 10
    assert total(samples, "ronda_ladders", state="running") == 1
    assert total(samples, "ronda_ladders") == 1
    assert total(samples, "ronda_ladder_bots", state="anchor") == 1
    assert total(samples, "ronda_ladder_bots", state="active") == 2
