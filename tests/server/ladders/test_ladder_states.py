"""A ladder that is not ready, that halts, that loses its driver, or whose bots come and go."""

from __future__ import annotations

import asyncio
import operator
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.arena.home.wheels import NOW, wheel
from tests.server.ladders.callers import BOT, STATE, Caller, Log, Seen, ladder_file
from tests.server.tables import refused

from ronda_arena.discovery import asking, discover
from ronda_arena.home.faults import Quarantine
from ronda_arena.home.install import install
from ronda_arena.home.standing import enable, quarantine
from ronda_arena.ladder.store import claim
from ronda_arena.worker.nursery import Nursery
from ronda_bots.registry import Registry
from ronda_server import claiming
from ronda_server.errors import ConfigError, Reason
from ronda_server.ladders import hosted
from ronda_server.ladders.opening import orders


async def test_before_the_log_is_read_it_says_so_and_a_stream_waits_for_it(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosted, "live", operator.is_)  # which takes two, and says nothing
    monkeypatch.setattr(hosted, "_AT_ONCE", 0)
    ann = Caller(await start(ladders=[ladder_file(tmp_path)]))
    seen = Seen()
    stream = ann.watch()
    await seen.until(stream, lambda _: True)
    assert (seen.ladder.sequence, dict(seen.ratings)) == (0, {})
    for ask in (ann.page, lambda: ann.one("greedy")):
        with refused(Reason.LADDER_NOT_READY) as why:
            await ask()
        assert why.retry_seconds
    # Drivers that end at once halt it, with a reason that everybody can read.
    await seen.until(stream, lambda told: told.ladder.state == STATE.STATE_HALTED)
    assert seen.ladder.problem == STATE.PROBLEM_WORKERS
    stream.cancel()


async def test_where_too_few_are_there_it_halts_until_somebody_comes(
    start: Any, tmp_path: Path
) -> None:
    file = ladder_file(tmp_path, anchors=[], bots=["greedy"])
    ann = Caller(await start(ladders=[file]))
    seen = await ann.until(lambda told: told.ladder.state == STATE.STATE_HALTED)
    assert seen.ladder.problem == STATE.PROBLEM_BOTS
    assert list(seen.ratings) == ["greedy@1.0.0"]
    assert [one.bot for one in (await ann.page()).ratings] == ["greedy@1.0.0"]


@pytest.mark.thorough
async def test_a_driver_that_is_killed_is_followed_by_another_and_no_block_counts_twice(
    start: Any, tmp_path: Path
) -> None:
    ann, seen = Caller(await start(ladders=[ladder_file(tmp_path)])), Seen()
    stream = ann.watch()
    await seen.until(stream, lambda told: told.games >= 10)
    [one] = ann.client.server.ladders._every
    killed, games = one.drive, seen.games
    assert killed
    os.kill(killed.pid, signal.SIGKILL)
    # The same stream goes on, with what has changed alone.
    await seen.until(stream, lambda told: told.games > games + 40)
    assert one.drive is not killed
    assert seen.kinds.count("standings") == 1
    page = await ann.page()
    log = await asyncio.to_thread(Log, tmp_path / "quick", page.ladder.sequence)
    assert list(page.ratings) == log.ratings()
    assert page.ladder.lost_blocks == log.ladder.void
    stream.cancel()


BAD = {
    "no such file": (None, "cannot be read"),
    "no TOML": ("dir", "no TOML"),
    "no folder": ('name = "x"', "dir"),
    "an unknown key": ('dir = "x"\nseed = 3', "seed"),
    "a name that is none": ('dir = "x"\nname = "a b"', "name"),
    "no such preset": ('dir = "x"\nrules = "chess"', "rules"),
    "a preset for other players": ('dir = "x"\nplayers = 3', "players"),
    "a clock that is none": ('dir = "x"\nclock = "soon"', "clock"),
    "an anchor that is not there": ('dir = "x"\nanchors = ["nobody=3"]', "nobody"),
    "no workers": ('dir = "x"\nworkers = 0', "workers"),
    "a bot that is not there": ('dir = "x"\nbots = ["gredy"]', "bots: .*did you mean greedy"),
    "a folder that is none": ('dir = "\\u0000"', "dir: no folder's name"),
    "it never looks": ('dir = "x"\nlook_every = inf', "look_every"),
    "it looks too rarely": ('dir = "x"\nlook_every = 1e300', "look_every"),
    "it looks at no time": ('dir = "x"\nlook_every = nan', "look_every"),
    "one folder twice": ('dir = "x/../quick"\nrules = "cafe"', "are about one folder"),
    "one that is played": ('dir = "taken"', "another process runs the ladder in"),
    "two of one name": ('dir = "other"\nname = "quick"', "two ladders are called quick"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_played_keeps_the_server_from_starting_and_is_told(
    name: str, tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claiming, "_LEAVE_SECONDS", 0.0)
    content, problem = BAD[name]
    bad = tmp_path / "bad.toml"
    if content is not None:
        bad.write_text(content)
    good = ladder_file(tmp_path)
    with claim(tmp_path / "taken"), pytest.raises(ConfigError, match=problem) as told:
        orders([good, bad], lambda name: registry.find(name).identity, None)
    assert str(bad) in str(told.value) or "quick" in str(told.value)


def test_another_ladder_than_that_of_the_folder_is_refused(
    tmp_path: Path, registry: Registry
) -> None:
    def identity(name: str) -> str:
        return registry.find(name).identity

    (begun,) = orders([ladder_file(tmp_path)], identity, None)
    with pytest.raises(ConfigError, match="another ladder was begun in"):
        orders([ladder_file(tmp_path, rules="cafe")], identity, None)
    assert orders([ladder_file(tmp_path)], identity, None) == (begun,)


def test_a_bot_that_is_put_aside_may_be_asked_for(tmp_path: Path, registry: Registry) -> None:
    asked = [ladder_file(tmp_path, bots=["mine", "greedy"])]
    (one,) = orders(asked, lambda name: registry.find(name).identity, None, resting=["mine"])
    assert one.wanted == ("mine", "greedy")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return where bots are kept: nothing yet."""
    return tmp_path / "bots"


def _install(home: Path, version: str, folder: Path) -> None:
    """Install a version of a bot, as the command does."""
    file = wheel(folder, "mine", version)
    with Nursery() as nursery:
        install(home, [file], asking(nursery), now=lambda: NOW)


async def test_bots_and_versions_that_are_installed_put_aside_and_released_are_seen_meanwhile(
    start: Any, tmp_path: Path, home: Path
) -> None:
    await asyncio.to_thread(_install, home, "1.0", tmp_path)
    file = ladder_file(tmp_path, bots=["greedy", "mine"])
    here = await asyncio.to_thread(discover, home=home)
    ann, seen = Caller(await start(here, ladders=[file], bots_dir=home)), Seen()
    stream = ann.watch()
    mine = "mine@1.0"
    await seen.until(stream, lambda told: mine in told.ratings and told.ratings[mine].games > 0)
    await asyncio.to_thread(_install, home, "2.0", tmp_path)
    await seen.until(stream, lambda told: "mine@2.0" in told.ratings)
    assert seen.ratings["mine@2.0"].predecessor == mine
    assert (await ann.one("mine")).rating.bot == "mine@2.0"

    put = Quarantine(NOW, "it is slow")
    await asyncio.to_thread(quarantine, home, mine, put)
    await seen.until(stream, lambda told: told.ratings[mine].state == BOT.STATE_QUARANTINED)
    assert "it is slow" in seen.ratings[mine].note
    assert f"ronda bots quarantine --release {mine}" in seen.ratings[mine].note
    await asyncio.to_thread(quarantine, home, mine, None)
    await asyncio.to_thread(enable, home, "mine@2.0", enabled=False)
    await seen.until(
        stream,
        lambda told: (
            told.ratings[mine].state == BOT.STATE_ACTIVE
            and told.ratings["mine@2.0"].state == BOT.STATE_INACTIVE
        ),
    )
    assert seen.ratings[mine].note == ""
    assert "ronda bots enable mine@2.0" in seen.ratings["mine@2.0"].note
    page = await ann.page()
    log = await asyncio.to_thread(Log, tmp_path / "quick", page.ladder.sequence)
    assert list(page.ratings) == log.ratings()
    stream.cancel()
