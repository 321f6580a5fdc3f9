"""Who may play is said in a small file, and whoever fails too often is put aside."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.arena.home.wheels import NOW, ask, wheel

from ronda_arena.home.faults import (
    COUNTED,
    Faults,
    Limit,
    Played,
    Quarantine,
    Released,
    quarantined,
)
from ronda_arena.home.found import found
from ronda_arena.home.install import install, uninstall
from ronda_arena.home.shelf import HomeError
from ronda_arena.home.standing import enable, quarantine, standings
from ronda_bots.registry import BotNotFoundError, Registry, assemble
from ronda_core.match import Cause

SINCE = Quarantine("2026-01-02T00:00:00Z", "5 faults in 5 games: 5 crash")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for version in ("1.0", "2.0"):
        place = tmp_path / "home"
        install(place, [wheel(tmp_path, version=version)], ask, now=lambda: NOW)
    return tmp_path / "home"


def registry(home: Path) -> Registry:
    kept = found(home)
    return assemble(kept.bots, kept.broken, resting=kept.resting)


def test_a_disabled_bot_rests_and_its_predecessor_answers_to_the_name(home: Path) -> None:
    enable(home, "mine@2.0", enabled=False)
    known = registry(home)
    assert known.find("mine").identity == "mine@1.0"
    with pytest.raises(BotNotFoundError, match=r"mine@2.0 is disabled: .*bots enable mine@2.0"):
        known.find("mine@2.0")
    enable(home, "mine@2.0")
    assert registry(home).find("mine").identity == "mine@2.0"
    assert not registry(home).resting


def test_where_all_rest_the_name_says_so(home: Path) -> None:
    for version in ("1.0", "2.0"):
        enable(home, f"mine@{version}", enabled=False)
    with pytest.raises(BotNotFoundError, match=r"mine@1.0 is disabled"):
        registry(home).find("mine")


def test_quarantine_is_a_thing_of_its_own(home: Path) -> None:
    quarantine(home, "mine@2.0", SINCE)
    with pytest.raises(BotNotFoundError, match=r"quarantine since 2026-01-02.*5 crash.*--release"):
        registry(home).find("mine@2.0")
    enable(home, "mine@2.0", enabled=False)
    quarantine(home, "mine@2.0", None)
    assert [one.state for one in registry(home).resting] == ["disabled"]
    quarantine(home, "mine@2.0", SINCE)
    enable(home, "mine@2.0")
    assert [one.state for one in registry(home).resting] == ["quarantined"]
    quarantine(home, "mine@2.0", None)
    assert standings(home) == {}


def test_the_file_can_be_read_by_people_and_says_only_what_is_not_so_by_itself(home: Path) -> None:
    enable(home, "mine@1.0", enabled=False)
    quarantine(home, "mine@2.0", SINCE)
    assert json.loads((home / "state.json").read_text()) == {
        "bots": {
            "mine@1.0": {"enabled": False},
            "mine@2.0": {"quarantine": {"since": SINCE.since, "reason": SINCE.reason}},
        },
        "format": 1,
    }
    assert (home / "state.json").read_text().count("\n") > 5
    assert not [one for one in home.iterdir() if one.name.startswith(".writing")]


@pytest.mark.parametrize("text", ["", "{", '{"bots": 1}', '{"bots": {}, "format": 2}', "[]"])
def test_where_it_cannot_be_read_nobody_plays_and_everybody_is_told(home: Path, text: str) -> None:
    (home / "state.json").write_text(text)
    known = registry(home)
    assert known.bots == ()
    assert {one.problem.partition("state.json")[2][:4] for one in known.broken} <= {" can", " was"}
    assert len(known.broken) == 2
    with pytest.raises(HomeError, match=r"state.json"):
        enable(home, "mine@1.0")
    assert (home / "state.json").read_text() == text, "what nobody understands is not overwritten"


def test_what_goes_is_forgotten_and_comes_back_fresh(home: Path, tmp_path: Path) -> None:
    quarantine(home, "mine@2.0", SINCE)
    quarantine(home, "mine@1.0", SINCE)
    (place,) = {
        one.bot.origin.installation
        for one in found(home).resting
        if one.bot.origin and one.bot.version == "2.0"
    }
    uninstall(home, Path(place).name)
    assert set(standings(home)) == {"mine@1.0"}
    install(home, [wheel(tmp_path, version="2.0")], ask, now=lambda: NOW)
    assert registry(home).find("mine").identity == "mine@2.0"


def played(*causes: Cause | None, identity: str = "mine@1") -> list[Played]:
    return [Played(identity, cause, f"t{number}") for number, cause in enumerate(causes, 1)]


class TestFaults:
    @pytest.mark.parametrize("cause", COUNTED)
    def test_the_fifth_of_twenty_puts_a_bot_aside(self, cause: Cause) -> None:
        few = played(*[cause] * 4, *[None] * 15)
        assert quarantined(few) == {}
        found = quarantined([*few, Played("mine@1", cause, "now")])
        assert found == {"mine@1": Quarantine("now", f"5 faults in 20 games: 5 {cause.value}")}

    def test_what_is_longer_ago_does_not_count(self) -> None:
        log = played(*[Cause.TIME] * 4, *[None] * 17, Cause.TIME)
        assert quarantined(log) == {}

    def test_faults_of_all_causes_are_counted_together_and_told_apart(self) -> None:
        log = played(*COUNTED, Cause.CRASH)
        (told,) = quarantined(log).values()
        assert told.reason == "5 faults in 5 games: 2 crash, 1 no_show, 1 protocol, 1 time"

    @pytest.mark.parametrize("cause", [Cause.ILLEGAL, Cause.RESIGNED, None])
    def test_an_illegal_card_is_no_reason(self, cause: Cause | None) -> None:
        assert quarantined(played(*[cause] * 100)) == {}

    def test_each_bot_and_each_version_has_its_own_account(self) -> None:
        log = [
            Played(identity, Cause.CRASH, "t")
            for identity in ("mine@1", "mine@2", "rival@1")
            for _ in range(4)
        ]
        assert quarantined(log) == {}
        assert set(quarantined([*log, Played("mine@2", Cause.TIME, "t")])) == {"mine@2"}

    def test_a_release_begins_anew(self) -> None:
        log = [*played(*[Cause.CRASH] * 5), Released("mine@1")]
        assert quarantined(log) == {}
        assert quarantined([*log, *played(*[Cause.CRASH] * 4)]) == {}
        assert quarantined([*log, *played(*[Cause.CRASH] * 5)])["mine@1"].since == "t5"

    def test_games_that_had_begun_before_change_nothing(self) -> None:
        log = played(*[Cause.CRASH] * 9)
        assert quarantined(log)["mine@1"].since == "t5"

    def test_it_can_be_found_game_by_game_or_all_at_once(self) -> None:
        chance = random.Random(1)
        log: list[Played | Released] = []
        faults = Faults(Limit(3, 8))
        told: list[tuple[str, Quarantine]] = []
        for number in range(3000):
            identity = f"bot{chance.randrange(5)}@1"
            entry: Played | Released = Played(
                identity, chance.choice([None, None, *Cause]), str(number)
            )
            if chance.random() < 0.02:
                entry = Released(identity)
            log.append(entry)
            if put := faults.note(entry):
                told.append((identity, put))
            if number % 100 == 0:
                assert quarantined(log, Limit(3, 8)) == faults.quarantined
        assert len(told) > 20
        assert dict(told).items() >= faults.quarantined.items()
        assert plainly(log, 3, 8) == set(faults.quarantined)

    @pytest.mark.parametrize("limit", [Limit(0, 5), Limit(6, 5), Limit(-1, 5)])
    def test_a_limit_that_is_none_is_refused(self, limit: Limit) -> None:
        with pytest.raises(ValueError, match="no limit"):
            Faults(limit)


def plainly(log: Iterable[Played | Released], faults: int, games: int) -> set[str]:
    """The rule once more, the slow way: who is aside at the end."""
    aside: set[str] = set()
    causes: dict[str, list[Cause | None]] = {}
    for entry in log:
        if isinstance(entry, Released):
            aside.discard(entry.identity)
            causes[entry.identity] = []
        elif entry.identity not in aside:
            causes.setdefault(entry.identity, []).append(entry.cause)
            bad = [cause in COUNTED for cause in causes[entry.identity][-games:]]
            if bad[-1] and sum(bad) >= faults:
                aside.add(entry.identity)
    return aside
