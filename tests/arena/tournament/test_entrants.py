"""Who sits where: every participant in every seat, partners opposite each other."""

from __future__ import annotations

from collections import Counter

import pytest

from ronda_arena.tournament.entrants import (
    Entrant,
    members,
    readings,
    rotations,
    seats,
    side,
    sides,
)

ONE = (Entrant(("a@1",)), Entrant(("b@1",)))
TABLES = [
    pytest.param(2, ONE, 2, id="two seats"),
    pytest.param(3, (*ONE, Entrant(("c@1",))), 3, id="three seats"),
    pytest.param(4, ONE, 2, id="teams of one bot"),
    pytest.param(4, (Entrant(("a@1", "c@1")), Entrant(("b@1",))), 4, id="a mixed team"),
    pytest.param(4, (Entrant(("a@1", "c@1")), Entrant(("b@1", "d@1"))), 4, id="mixed teams"),
    pytest.param(4, (Entrant(("a@1", "c@1")), Entrant(("a@1", "d@1"))), 4, id="a bot in both"),
]


@pytest.mark.parametrize(("players", "entrants", "games"), TABLES)
def test_participant_i_sits_in_seat_i_plus_r(
    players: int, entrants: tuple[Entrant, ...], games: int
) -> None:
    assert rotations(entrants, players) == games
    count = len(entrants)
    for rotation in range(games):
        seated = seats(entrants, rotation, players)
        for participant in range(players):
            members = entrants[participant % count].members
            expected = members[(participant // count) % len(members)]
            assert seated[(participant + rotation) % players] == expected


@pytest.mark.parametrize(("players", "entrants", "games"), TABLES)
def test_every_bot_of_a_block_sits_in_every_seat_equally_often_as_its_like(
    players: int, entrants: tuple[Entrant, ...], games: int
) -> None:
    by_seat = [Counter[str]() for _ in range(players)]
    for rotation in range(games):
        for seat, bot in enumerate(seats(entrants, rotation, players)):
            by_seat[seat][bot] += 1
    assert all(counts == by_seat[0] for counts in by_seat)


@pytest.mark.parametrize(("players", "entrants", "games"), TABLES)
def test_an_entrant_has_the_side_that_its_bots_sit_on(
    players: int, entrants: tuple[Entrant, ...], games: int
) -> None:
    count = sides(players)
    assert count == len(entrants)
    for rotation in range(games):
        seated = seats(entrants, rotation, players)
        for at, entrant in enumerate(entrants):
            mine = side(at, rotation, count)
            of_side = [bot for seat, bot in enumerate(seated) if seat % count == mine]
            assert set(of_side) == set(entrant.members)


def test_a_team_is_called_by_both_of_its_bots() -> None:
    assert Entrant(("a@1", "b@2")).name == "a@1+b@2"
    assert Entrant(("a@1",)).name == "a@1"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a", [("a",)]),
        ("a@1", [("a@1",)]),
        ("a+b", [("a", "b")]),
        ("a+b@1", [("a", "b@1")]),
        ("a@1.0+x", [("a@1.0+x",), ("a@1.0", "x")]),
        ("a@1.0+x+b", [("a@1.0+x+b",), ("a@1.0+x", "b")]),
        ("a@1+b@2", [("a@1", "b@2")]),
        ("a@1.0+x+b@2+y", [("a@1.0+x", "b@2+y")]),
        ("a@1.0+x+a@1.0+x", [("a@1.0+x", "a@1.0+x")]),
        ("a+b+c", []),
        ("", []),
        ("+", []),
        ("a@", []),
    ],
)
def test_a_plus_parts_a_team_or_stands_in_a_version(text: str, read: list[tuple[str, ...]]) -> None:
    assert readings(text) == read


@pytest.mark.parametrize(
    "bots", [("a@1",), ("a@1.0+x",), ("a@1", "b@2"), ("a@1+b", "b@2+a"), ("a@1+b+c", "a@1+b+d")]
)
def test_the_name_of_an_entrant_tells_its_bots(bots: tuple[str, ...]) -> None:
    assert members(Entrant(bots).name) == bots
