"""Every bot of the zoo ends its own match with the right cause, or plays on and achieves nothing.

What is expected stands in golden.txt. At `process` much is out of reach of what it promises; in a
sandbox every attack is held, as root and as a user without rights.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.zoo import entrance
from tests.zoo.keeper import HONEST_BOTS, Keeper, Zoo
from tests.zoo.show import COLUMNS, column, fits, golden
from tests.zoo.user import as_user

from ronda_arena.discovery import discover
from ronda_arena.isolation import Level, Limits
from ronda_arena.worker.nursery import Nursery
from ronda_core.verify import verify

pytestmark = pytest.mark.outside  # it needs Landlock and libseccomp: more than Python

TABLE = golden()
ATTACKS = [name for name, row in TABLE.items() if any("," in told for told in row.values())]


def test_the_table_names_every_bot_of_the_zoo_and_nobody_else() -> None:
    assert list(TABLE) == sorted(set(entrance.inhabitants()) - {*HONEST_BOTS})
    assert len(TABLE) >= 40


def test_every_bot_says_what_it_tries() -> None:
    assert [name for name, told in entrance.tries().items() if not told.endswith(".")] == []


def test_no_attack_is_expected_to_come_off_in_a_sandbox() -> None:
    told = {name: row["sandbox"] for name, row in TABLE.items() if "leak" in row["sandbox"]}
    assert told == {}
    assert {row["sandbox"] for row in TABLE.values()} <= {
        "plays on",
        "plays on, held",
        *("crash", "crash, held", "time", "illegal", "no_show", "protocol", "protocol, held"),
    }


def meets(name: str, host: Keeper, expected: str) -> None:
    """Play a match of a bot, and hold everything that came of it against the table."""
    try:
        outcome = host.play(name)
        assert fits(expected, str(outcome)), outcome
        assert outcome.survivors == ()
        if host.level is Level.SANDBOX:
            assert host.zoo.seen() == host.zoo.before
        if outcome.ended != "lost":
            assert host.record is not None
            assert verify(host.record).proven
            if host.record.fault:
                assert host.record.seats[host.record.fault.seat] == f"{name}@1.0.0"
    finally:
        host.zoo.tidy()


@pytest.mark.parametrize("name", TABLE)
def test_in_a_process_a_bot_ends_nothing_but_its_own_match(name: str, process: Keeper) -> None:
    meets(name, process, TABLE[name][column(Level.PROCESS)])


@pytest.mark.parametrize("name", TABLE)
def test_in_a_sandbox_a_bot_achieves_nothing(name: str, sandbox: Keeper) -> None:
    meets(name, sandbox, TABLE[name][column(Level.SANDBOX)])


def test_an_honest_bot_may_use_what_python_has(process: Keeper, sandbox: Keeper) -> None:
    for host in (process, sandbox):
        outcome = host.play("diligent")
        assert outcome.ended == "plays on"
        assert "[zoo] worked" in outcome.told


@pytest.mark.parametrize(("level", "of"), [("process", COLUMNS[1]), ("sandbox", COLUMNS[2])])
def test_a_user_without_rights_holds_them_as_well(level: str, of: str) -> None:
    told = as_user("-m", "tests.zoo.show", "--json", "--level", level, *ATTACKS)
    seen = json.loads(told)[level]
    assert list(seen) == ATTACKS
    wrong = {name: one for name, one in seen.items() if not fits(TABLE[name][of], one[0])}
    assert wrong == {}


def test_what_cannot_be_a_bot_is_named_and_never_imported_here(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with Nursery(Limits(start_seconds=2.0)) as nursery:
        registry = discover([str(zoo.site)], nursery)
    told = {broken.name: broken.problem for broken in registry.broken}
    assert told == {
        "bad-version": "ronda_zoo.broken:BadVersion has a version of other than 1 to 64 letters,"
        " digits and . + - _",
        "no-class": "ronda_zoo.broken:no_class is no class",
        "no-such-class": told["no-such-class"],
        "no-such-module": told["no-such-module"],
        "raises-on-import": "ronda_zoo.raises_on_import:Bot cannot be imported: ImportError:"
        " nobody imports this",
        "exits-on-import": "ronda_zoo.exits_on_import:Bot cannot be imported: it ended with exit"
        " status 0",
        "sleeps-on-import": "ronda_zoo.sleeps_on_import:SleepsOnImport cannot be imported: no"
        " answer within 2 s",
    }
    assert "AttributeError" in told["no-such-class"]
    assert "ModuleNotFoundError" in told["no-such-module"]
    assert {bot.name for bot in registry.bots} == {*zoo.bots} - {*told}
