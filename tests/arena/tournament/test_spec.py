"""What a person may write for a tournament, and what is said where it is none."""

from __future__ import annotations

from typing import Any

import pytest
from tests.arena.tournament.plans import TABLES, plan

from ronda_arena.tournament import given
from ronda_arena.tournament.spec import Spec, SpecError, Stop, of

TWO = {"bots": ["a", "b"]}


def test_every_key_of_a_file_is_said_in_words() -> None:
    keys = {*Spec.__struct_fields__, *Stop.__struct_fields__}
    assert set(given.WANTED) == keys


@pytest.mark.parametrize("key", given.WANTED)
def test_a_value_that_is_none_is_told_with_its_key_and_what_it_takes(key: str) -> None:
    with pytest.raises(SpecError) as raised:
        of({**TWO, key: {"no": ["value"]}})
    told = str(raised.value)
    if key == "stop":
        assert told == "there is no stop.no: known are precision, sequential, sprt"
    else:
        assert told.startswith(f"{key}: {given.WANTED[key]} is expected")
        assert ("value" in told) == (key != "seed")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"blocks": "3"}, 'blocks: a whole number from 1 to 10000000 is expected, not "3"'),
        ({"format": "Round-Robin"}, "format: round-robin, gauntlet, swiss, knockout or list is"),
        ({"name": "../x y"}, 'name: at most 64 letters, digits, _ and - is expected, not "../x y"'),
        ({"blokcs": 3}, "there is no blokcs: did you mean blocks?"),
        ({"stop": {"precison": 1}}, "there is no stop.precison: did you mean precision?"),
        (
            {"stop": {"precision": "1"}},
            'precision: a number of points above 0 is expected, not "1"',
        ),
        ({"zzz": 3}, "there is no zzz: known are bots, format,"),
        ({"format": "list"}, "the format list needs a file that names who meets whom"),
        ({"clock": "soon"}, "clock: a clock is seconds a decision, such as 0.5"),
        ({"rounds": 3}, "rounds belong to the format swiss, and this is round-robin"),
        ({"challengers": 1}, "challengers belong to the format gauntlet, and this is round-robin"),
        ({"pairings": [["a", "b"]]}, "pairings belong to the format list"),
        ({"sequential": 0.05, "blocks": 5}, "of 0.05 can decide nothing before 6 blocks"),
        ({"sequential": 0.05, "precision": 1.0}, "a tournament has one stop rule"),
    ],
)
def test_what_is_refused_is_told_in_words(values: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError) as raised:
        plan(["a", "b"], **values)
    assert told in str(raised.value)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ({"clock": 0.5}, {"clock": "0.5"}),
        ({"clock": 2}, {"clock": "2"}),
        ({"precision": 0.5}, {"stop": {"precision": 0.5}}),
        ({"sequential": 0.05}, {"stop": {"sequential": 0.05}}),
        (
            {"format": "list", "pairings": [["c", "a"], ["a", "b"]]},
            {"format": "list", "pairings": [["c", "a"], ["a", "b"]], "bots": ["c", "a", "b"]},
        ),
    ],
)
def test_what_is_said_in_short_is_the_same(short: dict[str, Any], long: dict[str, Any]) -> None:
    bots = {} if short.get("format") == "list" else TWO
    assert of({**bots, **short}) == of({**bots, **long})


def test_a_sequential_test_of_as_many_blocks_as_it_needs_is_played() -> None:
    assert plan(2, sequential=0.05, blocks=6).stop == Stop(sequential=0.05)


def test_what_is_asked_for_shows_no_seed_where_it_is_printed() -> None:
    asked = of({**TWO, "seed": 987_654})
    assert asked.seed == 987_654
    for shown in (repr(asked), str(asked), f"{[asked]}", repr(plan(["a", "b"], seed=987_654))):
        assert "987" not in shown


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_a_version_with_a_plus_is_no_team_by_accident(rules: str, players: int) -> None:
    asked: dict[str, Any] = {"rules": rules, "players": players}
    if players < 4:
        found = plan(["a@1.0+x", "x@1", "b@1"], **asked)
        assert found.entrants[0].members == ("a@1.0+x",)
        return
    with pytest.raises(SpecError, match=r"a@1\.0\+x can be read in two ways"):
        plan(["a@1.0+x", "b@1"], **asked)
    found = plan(["a@1.0+x+a@1.0+x", "a@1.0+x+b@2", "a+b@1.0+x"], **asked)
    assert [entrant.members for entrant in found.entrants] == [
        ("a@1.0+x",),
        ("a@1.0+x", "b@2"),
        ("a@1", "b@1.0+x"),
    ]


def test_a_team_is_the_same_whichever_of_its_bots_is_named_first() -> None:
    pairings = [["b+a", "c"], ["c", "d"]]
    made = plan(["a+b", "c", "d"], format="list", pairings=pairings, players=4)
    assert made.pairings == ((0, 1), (1, 2))
    with pytest.raises(SpecError, match="a@1\\+b@1 is there twice, as b@1\\+a@1 too"):
        plan(["a+b", "c", "b+a"], players=4)
    with pytest.raises(SpecError, match="2 different entrants meet"):
        plan(["a+b", "c"], format="list", pairings=[["b+a", "a+b"]], players=4)
