"""Ladders on which remote bots play: they are rated like all others, and every game is proven."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import stop
from tests.server.ladders.callers import BOT, Caller, Log, Seen, ladder_file
from tests.server.ladders.kept import Kept
from tests.server.ladders.test_ladders import TABLES
from tests.server.remotes import Remote, any_card
from tests.server.tournaments.callers import caller
from tests.server.tournaments.players import Player, players
from tests.server.tournaments.test_remote_tournaments import hidden

from ronda.v1 import match_pb2, view_pb2
from ronda_arena.ladder.ratings import PRIOR_SIGMA
from ronda_arena.ladder.run import Run
from ronda_arena.ladder.store import claim
from ronda_server.errors import ConfigError
from ronda_server.ladders.opening import orders

FAR, NEAR = "far@1.0.0", "near@1.0.0"


def remote_file(folder: Path, **values: Any) -> Path:
    """Write what a ladder is on which remote bots can play."""
    return ladder_file(folder, **{"clock": "5"} | values)


def games_of(seen: Seen, *bots: str) -> int:
    """Return how many games each of some bots has at least."""
    return min(seen.ratings[bot].games if bot in seen.ratings else 0 for bot in bots)


def _met_all(seen: Seen, bot: str) -> bool:
    return bot in seen.ratings and seen.ratings[bot].opponents == 4


@pytest.mark.parametrize(
    ("rules", "seats", "hands", "games"), TABLES, ids=[table[0] for table in TABLES]
)
async def test_remote_bots_play_are_rated_and_every_game_is_proven(
    start: Any, tmp_path: Path, rules: str, seats: int, hands: int, games: int
) -> None:
    bots = ["greedy", "careful", "random"]
    table = {"rules": rules, "players": seats, "hands": hands}
    file = remote_file(tmp_path, anchors=[], bots=bots, **table)
    client = await start(ladders=[file])
    ann, bob = await caller(client, "ann"), await caller(client, "bob")
    ladder = Caller(client)
    async with players(client, ann.key, "far") as (far,), players(client, bob.key, "near"):
        seen = await ladder.until(lambda told: _met_all(told, FAR) and _met_all(told, NEAR))
        page = await ladder.page()
    log = await asyncio.to_thread(Log, tmp_path / "quick", page.ladder.sequence)
    assert list(page.ratings) == log.ratings()
    for bot, owner in ((FAR, "ann"), (NEAR, "bob")):
        told = seen.ratings[bot]
        assert (told.owner, told.remote, told.state) == (owner, True, BOT.STATE_ACTIVE)
        assert (told.code, list(told.alike), list(told.faults)) == ("", [], [])
        known = log.ladder.find(bot)
        assert known
        assert known.rating.sigma < PRIOR_SIGMA
    assert not seen.ratings["greedy@1.0.0"].remote
    met = {name for one in far.remote.of("match_started") for name in one.identities}
    await stop(client)
    kept = await asyncio.to_thread(Kept, tmp_path / "quick")
    kinds = Counter[int]()
    seated = set()
    for records in kept.blocks.values():
        bots = {name for one in records for name in one["seats"]}
        remote = bots & {FAR, NEAR}
        kinds[len(remote)] += 1
        decks = {one["hands"][0]["deck"] for one in records}
        assert len(decks) == (games if remote else 1)
        for one in records:
            assert {entry[0] for entry in one["fair"]["entries"]} == bots
            places = [name in remote for name in one["seats"]]
            assert [level == "remote" for level in one["isolation"]] == places
            assert one["clock"] == {"per_decision": 5.0}
        if FAR in remote:
            seated |= bots
    assert kinds[0]
    assert kinds[2]
    assert kinds[1] or seats == 3  # where the two are in a block at a time, and free together
    assert seated <= met  # it is told who sits there, as all bots are
    assert kept.moves(FAR)[0] == "joined"


async def test_bots_of_an_account_and_its_plugins_never_meet(start: Any, tmp_path: Path) -> None:
    file = remote_file(tmp_path, bots=["greedy", "careful"], **{"owners.careful": "ann"})
    client = await start(ladders=[file])
    ann = await caller(client, "ann")
    async with players(client, ann.key, "far", "near"):
        seen = await Caller(client).until(lambda told: games_of(told, FAR, NEAR) >= 16)
    own = {FAR, NEAR, "careful@1.0.0"}
    assert {seen.ratings[bot].owner for bot in own} == {"ann"}
    await stop(client)
    kept = await asyncio.to_thread(Kept, tmp_path / "quick")
    assert len(kept.blocks) > 16
    assert all(len(own & set(one["seats"])) <= 1 for one in kept.records)


async def test_a_new_version_starts_where_the_one_before_stands_and_both_play(
    start: Any, tmp_path: Path
) -> None:
    client = await start(ladders=[remote_file(tmp_path)])
    ann = await caller(client, "ann")
    ladder = Caller(client)
    newer = "far@2.0.0"
    async with players(client, ann.key, "far"):
        await ladder.until(lambda told: games_of(told, FAR) >= 8)
        async with players(client, ann.key, "far", version="2.0.0"):
            seen = await ladder.until(lambda told: games_of(told, newer) >= 8)
            games = seen.ratings[FAR].games
            seen = await ladder.until(lambda told: games_of(told, FAR) > games)
    assert seen.ratings[newer].predecessor == FAR
    assert seen.ratings[FAR].predecessor == ""
    await stop(client)
    kept = await asyncio.to_thread(Kept, tmp_path / "quick")
    assert not any({FAR, newer} <= set(one["seats"]) for one in kept.records)


async def test_a_short_reconnect_is_no_absence(start: Any, tmp_path: Path) -> None:
    client = await start(ladders=[remote_file(tmp_path)])
    ann = await caller(client, "ann")
    ladder = Caller(client)
    async with players(client, ann.key, "far") as (far,):
        for answers in (30, 60, 90):
            await far.answered(answers)
            await far.leave()
            await far.come()
        seen = await ladder.until(lambda told: games_of(told, FAR) >= 16)
    assert not seen.ratings[FAR].faults
    await stop(client)
    kept = await asyncio.to_thread(Kept, tmp_path / "quick")
    assert kept.moves(FAR) == ["joined"]


async def test_a_bot_that_stays_away_loses_what_it_was_in_and_is_inactive_until_it_is_back(
    start: Any, tmp_path: Path
) -> None:
    client = await start(ladders=[remote_file(tmp_path, clock="0.5")], bot_absence=0.2)
    ann = await caller(client, "ann")
    ladder = Caller(client)
    async with players(client, ann.key, "far") as (far,):
        await far.answered(40)
        await far.leave()
        seen = await ladder.until(
            lambda told: (
                FAR in told.ratings
                and told.ratings[FAR].state == BOT.STATE_INACTIVE
                and told.ratings[FAR].faults != []
            )
        )
        games = seen.ladder.games
        # The others play on.
        seen = await ladder.until(lambda told: told.games > games + 40)
        lost = seen.ratings[FAR]
        assert {one.cause for one in lost.faults} <= {
            match_pb2.Fault.CAUSE_TIME,
            match_pb2.Fault.CAUSE_NO_SHOW,
        }
        # All that it was in at once, which is no quarantine.
        assert sum(one.games for one in lost.faults) <= 4
        await far.come()
        seen = await ladder.until(lambda told: games_of(told, FAR) > lost.games + 4)
        assert seen.ratings[FAR].state == BOT.STATE_ACTIVE
    await stop(client)
    kept = await asyncio.to_thread(Kept, tmp_path / "quick")
    assert kept.moves(FAR)[:3] == ["joined", "left", "joined"]


async def test_a_bot_that_lets_its_games_lie_loses_them(start: Any, tmp_path: Path) -> None:
    client = await start(ladders=[remote_file(tmp_path, clock="0.3")])
    ann = await caller(client, "ann")
    silent = Player(client, ann.key, any_card(1), name="far")
    await silent.come(silent=True)
    seen = await Caller(client).until(lambda told: games_of(told, FAR) >= 4)
    told = seen.ratings[FAR]
    assert [(one.cause, one.games) for one in told.faults] == [
        (match_pb2.Fault.CAUSE_TIME, told.games)
    ]
    assert told.lost == told.games
    await silent.leave()


async def test_a_bot_that_breaks_is_in_quarantine_until_it_is_released(
    start: Any, tmp_path: Path
) -> None:
    client = await start(ladders=[remote_file(tmp_path)])
    ann = await caller(client, "ann")
    ladder = Caller(client)
    broken = Player(client, ann.key, _nothing, name="far")
    await broken.come()
    seen = await ladder.until(
        lambda told: FAR in told.ratings and told.ratings[FAR].state == BOT.STATE_QUARANTINED
    )
    told = seen.ratings[FAR]
    assert [one.cause for one in told.faults] == [match_pb2.Fault.CAUSE_PROTOCOL]
    assert "is in quarantine on the ladder" in told.note
    games = (await ladder.one(FAR)).rating.games
    seen = await ladder.until(lambda told: told.games > seen.games + 40)
    assert (await ladder.one(FAR)).rating.games <= games + 4  # those that were under way
    await broken.leave()
    await stop(client)

    def release() -> None:
        with claim(tmp_path / "quick") as held:
            store = held.find()
            assert store
            Run(store, lambda: client.server.host.registry).release(FAR)

    await asyncio.to_thread(release)
    client = await start(ladders=[remote_file(tmp_path)])
    ladder = Caller(client)
    async with players(client, ann.key, "far"):
        seen = await ladder.until(lambda told: games_of(told, FAR) > games + 6)
    assert seen.ratings[FAR].state == BOT.STATE_ACTIVE


def _nothing(_view: view_pb2.View) -> dict[str, Any]:
    return {}


async def test_nothing_of_a_block_is_told_before_its_last_game_is_over(
    start: Any, tmp_path: Path
) -> None:
    file = remote_file(tmp_path, anchors=[], bots=["greedy"], clock="60")
    client = await start(ladders=[file])
    ann = await caller(client, "ann")
    ladder = Caller(client)
    remote = await Remote(client, ann.key).open()
    waiting: dict[str, Any] = {}
    while len(waiting) < 4:  # two blocks, with two games each
        decision = await remote.next("decision")
        waiting[decision.match_id] = decision
    by_block: dict[str, list[str]] = {}
    for match_id in sorted(waiting):
        await hidden(client, match_id)
        by_block.setdefault(match_id.rpartition("-")[0], []).append(match_id)
    assert sorted(map(len, by_block.values())) == [2, 2]
    over: set[str] = set()

    async def play_to_the_end(match_id: str) -> None:
        while match_id not in over:
            if match_id in waiting:
                await remote.decide(waiting.pop(match_id))
            message = await remote.read()
            if message.WhichOneof("message") == "decision":
                waiting[message.decision.match_id] = message.decision
            elif message.WhichOneof("message") == "match_over":
                over.add(message.match_over.match_id)

    firsts = [games[0] for games in by_block.values()]
    for match_id in firsts:
        await play_to_the_end(match_id)
    for match_id in [*firsts, *waiting]:
        await hidden(client, match_id)
    page = await ladder.page()
    assert (page.ladder.games, page.ladder.blocks) == (0, 0)
    assert {one.games for one in page.ratings} == {0}
    last = next(iter(by_block.values()))[1]
    await play_to_the_end(last)
    seen = await ladder.until(lambda told: told.games > 0)
    assert (seen.ladder.games, seen.ladder.blocks) == (2, 1)
    for match_id in over:
        await hidden(client, match_id)
    remote.hang_up()


async def test_where_the_clock_holds_no_remote_bot_to_its_time_none_plays_and_it_is_said(
    start: Any, tmp_path: Path
) -> None:
    client = await start(ladders=[ladder_file(tmp_path, clock="5+10")])
    ann = await caller(client, "ann")
    async with players(client, ann.key, "far"):
        seen = await Caller(client).until(lambda told: told.games > 20)
    assert FAR not in seen.ratings
    no_clock = {"isolation": "trusted"}
    for number, values in enumerate((no_clock, {"clock": "5+10"}, {"clock": "0.05"})):
        file = ladder_file(
            tmp_path, name=f"l{number}", dir=f"l{number}", remote=True, anchors=[], **values
        )
        with pytest.raises(ConfigError, match="remote bots cannot play") as told:
            await asyncio.to_thread(orders, [file], str, None)
        assert 'clock = "10"' in str(told.value)


@pytest.mark.parametrize(
    ("values", "clock"),
    [({}, "10"), ({"remote": False}, "0.5+10"), ({"isolation": "trusted"}, None)],
)
async def test_a_new_ladder_has_a_clock_on_which_remote_bots_play_unless_it_takes_none(
    tmp_path: Path, values: dict[str, Any], clock: str | None
) -> None:
    file = ladder_file(tmp_path, anchors=[], bots=[], **values)
    (made,) = await asyncio.to_thread(orders, [file], str, None)
    assert made.plan.clock == clock
    ladder_file(tmp_path, anchors=[], bots=[], remote=False)
    (again,) = await asyncio.to_thread(orders, [file], str, None)
    assert again.plan == made.plan  # what it does not say it does not ask for


async def test_only_bots_that_play_what_the_ladder_plays_are_on_it(
    start: Any, tmp_path: Path
) -> None:
    both = remote_file(tmp_path, name="two", dir="two", rules="playtash", players=4, hands=1)
    client = await start(ladders=[remote_file(tmp_path), both])
    ann = await caller(client, "ann")
    elsewhere = [{"rules": "playtash", "players": [4]}]
    async with (
        players(client, ann.key, "far", plays=elsewhere),
        players(client, ann.key, "near", max_seats=1),
    ):
        seen = await Caller(client, "two").until(lambda told: games_of(told, FAR) >= 4)
        assert NEAR not in seen.ratings  # it has no room for both seats of a side
        seen = await Caller(client, "quick").until(lambda told: games_of(told, NEAR) >= 4)
        assert FAR not in seen.ratings
