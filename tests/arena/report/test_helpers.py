"""Bots that break games off for another one: seen, and worth as little as can be."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations

import pytest
from tests.arena.tournament.plans import plan

from ronda_arena.report.summary import Summary, Timing, gather
from ronda_arena.tournament.entrants import side
from ronda_arena.tournament.results import Blame, Block, Game
from ronda_arena.tournament.spec import Plan, SpecError
from ronda_core.match import Cause

BOTS = ("helper", "friend", "third", "fourth")
TARGET = 41
OWNERS = {"helper": "ann", "friend": "ann"}

When = Callable[[int, int], bool]
"""Of the points of the friend and of the third: whether the helper breaks the game off."""


def never(_friend: int, _third: int) -> bool:
    return False


def ahead(friend: int, third: int) -> bool:
    return friend > third


def losing(friend: int, third: int) -> bool:
    return max(friend, third) >= TARGET - 5 and friend < third


def game(rng: random.Random, entrants: tuple[int, ...], rotation: int, when: When) -> Game:
    """Play a race of three equals, of which the helper ends some when that suits its friend."""
    points, guilty = [0, 0, 0], None
    while guilty is None and not (max(points) >= TARGET and points.count(max(points)) == 1):
        for at in range(3):
            points[at] += rng.randrange(4)
        if max(points) < TARGET and {0, 1} <= set(entrants):
            helper, friend = entrants.index(0), entrants.index(1)
            if when(points[friend], points[3 - helper - friend]):
                guilty = helper
    by_side = [0, 0, 0]
    for at in range(3):
        by_side[side(at, rotation, 3)] = points[at]
    fault = None if guilty is None else side(guilty, rotation, 3)
    among = [at for at in range(3) if at != fault]
    best = max(by_side[at] for at in among)
    leading = [at for at in among if by_side[at] == best]
    return Game(
        rotation,
        0,
        4,
        tuple(by_side),
        leading[0] if len(leading) == 1 else None,
        None if fault is None else Blame(fault, Cause.CRASH),
    )


def told(when: When, own: Plan, rounds: int = 60) -> Summary:
    rng = random.Random(1)
    tables = [one for _ in range(rounds) for one in combinations(range(4), 3)]
    blocks = (
        Block(at, one, tuple(game(rng, one, turn, when) for turn in range(3)), walkover=TARGET)
        for at, one in enumerate(tables)
    )
    timing = Timing(0.0, 0, 0, ())
    return gather(
        own, blocks, verdict=None, state="finished", planned=None, placings=(), timing=timing
    )


def elo_ahead(summary: Summary) -> float:
    """Return by how much the friend is ahead of those whom nobody helps."""
    elo = {row.entrant: row.elo.value for row in summary.ratings}
    friend, third, fourth = (elo[f"{name}@1"] for name in BOTS[1:])
    assert friend is not None
    assert third is not None
    assert fourth is not None
    return friend - (third + fourth) / 2


def three(**asked: object) -> Plan:
    return plan(BOTS, rules="cafe", players=3, **asked)


@pytest.mark.parametrize(("when", "most"), [(never, 30), (ahead, 30), (losing, 130)])
def test_a_helper_crowns_nobody_in_wins(when: When, most: float) -> None:
    assert abs(elo_ahead(told(when, three()))) < most


def test_of_three_neither_has_beaten_the_other_where_the_third_broke_it_off() -> None:
    summary = told(ahead, three(), rounds=5)
    broken = sum(row.faults for row in summary.ratings)
    drawn = {row.entrant: row.drawn for row in summary.ratings}
    assert drawn["friend@1"] == broken > 0
    between = [row for row in summary.pairs if "helper@1" not in (row.first, row.second)]
    assert sum(row.drawn for row in between) >= broken
    assert sum(row.lost for row in summary.pairs if row.first == "helper@1") >= 2 * broken
    words = "Of three the one who breaks off a game has lost it; the two others have half a win"
    assert any(one.startswith(words) for one in summary.sentences)


def test_whose_faults_helped_a_bot_of_the_same_owner_is_told() -> None:
    summary = told(ahead, three(owners=OWNERS), rounds=5)
    (row,) = summary.helped
    broken = sum(one.faults for one in summary.ratings)
    assert (row.bot, row.helped, row.owner, row.games) == ("helper@1", "friend@1", "ann", broken)
    told_so = f"helper@1 broke off {broken} games in which friend@1 was ahead, and both are of ann"
    assert any(one.startswith(told_so) for one in summary.sentences)
    for owners in ({}, {"helper": "ann", "friend": "bob"}, {"helper": "ann"}):
        assert told(ahead, three(owners=owners), rounds=5).helped == ()
    assert told(never, three(owners=OWNERS), rounds=5).helped == ()


def test_which_bots_are_of_one_owner_is_told_whether_they_help_each_other_or_not() -> None:
    said = (
        "friend@1 and helper@1 are of one owner, ann: nothing keeps them from playing for each"
        " other where they meet."
    )
    assert said in told(never, three(owners=OWNERS), rounds=5).sentences
    for owners in ({}, {"helper": "ann", "friend": "bob"}, {"helper": "ann"}):
        sentences = told(never, three(owners=owners), rounds=5).sentences
        assert not any("of one owner" in one for one in sentences)


@pytest.mark.parametrize("players", [2, 4])
def test_a_bot_that_gives_its_games_to_another_of_its_owner_is_told_of(players: int) -> None:
    bots = ("helper", "friend") if players == 2 else ("helper+third", "friend+fourth")
    own = plan(bots, players=players, owners=OWNERS)
    count = own.games_of((0, 1))
    games = tuple(  # whoever sits in the seat of the helper ends it
        Game(turn, 0, 1, (9, 3), side(1, turn, 2), Blame(turn % players, Cause.TIME))
        for turn in range(count)
    )
    timing = Timing(0.0, 0, 0, ())
    summary = gather(
        own,
        [Block(0, (0, 1), games)],
        verdict=None,
        state="finished",
        planned=1,
        placings=(),
        timing=timing,
    )
    (row,) = summary.helped
    assert (row.bot, row.helped, row.games) == ("helper@1", "friend@1", count)


def test_owners_are_of_a_name_or_of_one_version_and_of_bots_that_play() -> None:
    own = plan(["a@1", "a@2", "b@1"], owners={"a": "ann", "a@2": "bob"})
    assert own.owners == (("a@1", "ann"), ("a@2", "bob"))
    assert plan(["a@1", "b@1"]).owners == ()
    with pytest.raises(SpecError, match="owners: nobody is none of the bots") as raised:
        plan(["a@1", "b@1"], owners={"nobody": "ann"})
    assert raised.value.field == "owners"
