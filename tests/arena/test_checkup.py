"""A checkup finds what makes a bot unfit, says where, and shows nothing in one that is fit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from tests.bots.plugins import importable, install, install_built_in

from ronda_arena.checkup import Checkup, Findings
from ronda_arena.clock import Clock
from ronda_arena.discovery import discover
from ronda_arena.local import games
from ronda_arena.seating import InProcess, Isolated
from ronda_arena.worker.nursery import Nursery
from ronda_bots.registry import Registry
from ronda_core.record import Record
from ronda_core.rules import PRESETS

SOURCE = """
import os
import random
import time


class Fit:
    version = "1"

    def __init__(self, seat, rng):
        self.seat, self.rng = seat, rng

    def play(self, view):
        return self.rng.choice(view.hand)

    def declare(self, view):
        return view.may_declare

    def observe(self, event):
        pass


class Own(Fit):
    def play(self, view):
        return view.hand[os.urandom(1)[0] % len(view.hand)]


class Module(Fit):
    def play(self, view):
        return random.choice(view.hand)


class Order(Fit):
    def play(self, view):
        return {str(card): card for card in view.hand}[next(iter({str(c) for c in view.hand}))]


class Four(Fit):
    def play(self, view):
        if view.players == 4 and len(view.plays) > 9:
            return view.unseen[0]
        return view.hand[0]


class Boast(Fit):
    def declare(self, view):
        return True


class Last(Fit):
    def observe(self, event):
        if type(event).__name__ == "MatchEnded":
            print("so it ends")
            raise KeyError(event)


class Mute(Fit):
    def __init__(self, seat, rng):
        raise LookupError


class Hoard(Fit):
    kept = []

    def play(self, view):
        self.kept.append(bytearray(1 << 18))
        return view.hand[0]


class Late(Fit):
    def play(self, view):
        time.sleep(0.1)  # more than it has
        return view.hand[0]
"""
NAMES = ("fit", "own", "module", "order", "four", "boast", "last", "hoard", "late", "mute")
NOW = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    site = tmp_path_factory.mktemp("site")
    points = {name: f"checked_bots:{name.capitalize()}" for name in NAMES}
    install(site, "checked-bots", points, modules={"checked_bots": SOURCE})
    install_built_in(site)
    with importable(site) as path:
        yield discover(path)


@pytest.fixture(scope="module")
def seatings() -> Iterator[list[Isolated]]:
    with Nursery() as one, Nursery(hash_seed=1) as other:
        yield [Isolated(one), Isolated(other)]


def checked(
    name: str,
    registry: Registry,
    seatings: list[Isolated],
    hands: int = 3,
    clock: Clock | None = None,
    seconds: float = 0.0,
) -> Findings:
    rivals = [registry.find("random"), registry.find("greedy")]
    bot = registry.find(name)
    return Checkup(bot, rivals, seatings, called=name, clock=clock, now=lambda: NOW).run(
        hands, seconds
    )


def again(findings: Findings, registry: Registry) -> Record:
    """Play the game of the first trouble as `ronda match` plays it."""
    game = findings.troubles[0].game
    bots = [registry.find(name) for name in game.bots]
    (record,) = games(bots, game.rules, 1, game.seed, now=lambda: NOW, secret=lambda: b"")
    return record


def test_a_fit_bot_plays_its_share_at_every_table(
    registry: Registry, seatings: list[Isolated]
) -> None:
    told: list[int] = []
    rivals = [registry.find("random"), registry.find("greedy")]
    checkup = Checkup(registry.find("fit"), rivals, seatings, now=lambda: NOW)
    findings = checkup.run(30, 0, told.append)
    assert findings.fit
    tables = [(one.preset, one.players) for one in findings.played]
    assert tables == [(p.name, players) for p in PRESETS.values() for players in p.players]
    for preset in PRESETS:
        assert findings.hands_of(preset) >= 30
    assert findings.repeated == sum(players for _, players in tables)
    watch = findings.watch
    assert watch.methods == ("play", "declare", "observe")
    assert len(watch.plays) > 30 * 4 * 9
    assert watch.declarations
    assert min(watch.plays) > 0
    assert watch.starts
    assert min(watch.memory) > 1 << 20
    assert all(before <= after for before, after in pairwise(told))
    assert told[-1] == sum(one.hands for one in findings.played)


@pytest.mark.parametrize(
    ("bot", "words"),
    [
        ("own", "decided otherwise the second time"),
        ("module", "with another hash seed"),
        ("order", "with another hash seed"),
    ],
)
def test_chance_from_elsewhere_is_found_with_the_place_where_it_shows(
    bot: str, words: str, registry: Registry, seatings: list[Isolated]
) -> None:
    findings = checked(bot, registry, seatings, hands=1)
    (trouble,) = findings.troubles
    assert words in trouble.problem
    assert trouble.hand >= 1
    assert 1 <= trouble.play <= 36
    assert trouble.game.bots[trouble.game.seat] == bot


def test_a_card_that_is_not_held_is_found_where_it_is_played(
    registry: Registry, seatings: list[Isolated]
) -> None:
    findings = checked("four", registry, seatings)
    (trouble,) = findings.troubles
    assert trouble.problem == "illegal: it played a card that it does not hold"
    assert trouble.game.rules.players == 4
    assert trouble.times > 1
    record = again(findings, registry)
    assert record.fault
    assert record.fault.seat == trouble.game.seat
    assert (len(record.hands), len(record.hands[-1].plays) + 1) == (trouble.hand, trouble.play)


def test_a_set_that_is_not_held_is_found_where_presets_declare(
    registry: Registry, seatings: list[Isolated]
) -> None:
    findings = checked("boast", registry, seatings)
    (trouble,) = findings.troubles
    assert trouble.problem == "illegal: it declared a set that it does not hold"
    assert trouble.game.rules.declares


def test_what_breaks_only_at_the_end_is_found_with_what_was_printed(
    registry: Registry, seatings: list[Isolated]
) -> None:
    (trouble,) = checked("last", registry, seatings, hands=1).troubles
    assert trouble.problem == "crash: KeyError when it was told an event"
    assert b"so it ends" in trouble.log
    assert b"Traceback" in trouble.log


def test_memory_that_grows_shows(registry: Registry, seatings: list[Isolated]) -> None:
    memory = checked("hoard", registry, seatings, hands=60).watch.memory
    assert memory[-1] - memory[0] > 10 << 20


def test_a_clock_is_held_to(registry: Registry, seatings: list[Isolated]) -> None:
    findings = checked("late", registry, seatings, hands=1, clock=Clock(0.02))
    (trouble,) = findings.troubles
    assert trouble.problem == "time: no answer within 0.02 s"


def test_a_bot_that_runs_out_of_its_bank_has_one_problem_whatever_was_left(
    registry: Registry, seatings: list[Isolated]
) -> None:
    findings = checked("late", registry, seatings, 2, Clock(0.04, 0.16), seconds=4.0)
    (trouble,) = findings.troubles
    assert trouble.problem == "time: no answer within 0.04 s and a bank of 0.16 s"
    assert trouble.times > 1
    assert trouble.decisions >= 1


def test_without_time_games_are_left_and_nobody_says_that_the_bot_is_fit(
    registry: Registry, seatings: list[Isolated]
) -> None:
    rivals = [registry.find("random"), registry.find("greedy")]
    checkup = Checkup(registry.find("greedy"), rivals, seatings, now=lambda: NOW)
    findings = checkup.run(1000, 1e-9)
    assert not findings.troubles
    assert not findings.seen
    assert not findings.fit
    assert findings.repeated == 0


class Clockwork:
    """A time that goes on by one second whenever somebody looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


def test_a_game_is_left_where_its_time_is_over_and_every_table_has_its_share(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork = Clockwork()
    monkeypatch.setattr("ronda_arena.checkup.time", clockwork)
    rivals = [registry.find("random"), registry.find("greedy")]
    checkup = Checkup(registry.find("fit"), rivals, [InProcess()], now=lambda: NOW)
    findings = checkup.run(1000, 1500)
    assert 1500 < clockwork.now < 1510
    assert findings.fit
    assert all(one.hands for one in findings.played)
    assert len(findings.stops) >= len(findings.played)
    assert all(stop.hand >= 1 and stop.play >= 1 for stop in findings.stops)


def test_a_bot_in_this_process_can_be_checked_too(registry: Registry) -> None:
    rivals = [registry.find("random"), registry.find("greedy")]
    checkup = Checkup(registry.find("careful"), rivals, [InProcess()], now=lambda: NOW)
    findings = checkup.run(2, 0)
    assert findings.fit
    assert findings.watch.memory == []


def test_the_command_of_a_game_names_all_that_it_depends_on(
    registry: Registry, seatings: list[Isolated], tmp_path: Path
) -> None:
    game = checked("four", registry, seatings, hands=1).troubles[0].game
    words = game.command()
    assert words[:2] == ("ronda", "match")
    assert words[2 : 2 + game.rules.players] == game.bots
    assert words[words.index("--seed") + 1] == str(game.seed)
    assert words[words.index("--rules") + 1] == game.rules.preset.name


def test_a_slow_bot_is_repeated_for_a_third_of_the_time_only(registry: Registry) -> None:
    rivals = [registry.find("random"), registry.find("greedy")]
    checkup = Checkup(registry.find("greedy"), rivals, [InProcess()], now=lambda: NOW)
    assert checkup.run(1, 0.0001).repeated <= 1


def test_a_forfeit_before_the_first_deal_is_no_trouble_for_a_checkup(
    registry: Registry, seatings: list[Isolated]
) -> None:
    (trouble,) = checked("mute", registry, seatings, hands=2).troubles
    assert trouble.problem == "crash: LookupError when it was made"
    assert (trouble.hand, trouble.play) == (0, 0)
