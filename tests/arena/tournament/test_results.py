"""What a block is worth to each of its entrants, and what a forfeit costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.arena.tournament.plans import plan

from ronda_arena.tournament.entrants import side
from ronda_arena.tournament.results import (
    Blame,
    Block,
    Game,
    ahead,
    guilty_entrant,
    margins,
    position,
    shares,
)
from ronda_core.match import Cause

points = st.integers(0, 60)


def game(rotation: int, *scores: int, fault: int | None = None, dealer: int = 0) -> Game:
    best = max(scores)
    among = [at for at, score in enumerate(scores) if score == best]
    winner = among[0] if len(among) == 1 else None
    blame = None if fault is None else Blame(fault, Cause.CRASH)
    return Game(rotation, dealer, 5, scores, winner, blame)


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    count = draw(st.sampled_from([2, 3]))
    games = []
    for rotation in range(draw(st.sampled_from([2, 4])) if count == 2 else 3):
        scores = tuple(draw(points) for _ in range(count))
        fault = draw(st.none() | st.integers(0, count - 1))
        games.append(game(rotation, *scores, fault=fault))
    walkover = draw(st.sampled_from([0.0, 41.0]))
    return Block(0, tuple(range(count)), tuple(games), draw(st.booleans()), walkover)


def test_rotations_take_back_what_the_seat_gave() -> None:
    block = Block(0, (0, 1), (game(0, 41, 30), game(1, 41, 30)))
    assert margins(block) == ((11, -11), (-11, 11))


def test_three_sides_are_ahead_of_the_mean_of_the_others() -> None:
    assert ahead((10, 4, 0)) == (8, -1, -7)


@given(blocks())
def test_what_one_is_ahead_the_others_are_behind(block: Block) -> None:
    for margin in margins(block):
        assert sum(margin) == pytest.approx(0)


@given(blocks())
def test_nobody_gains_by_a_forfeit(block: Block) -> None:
    count = len(block.entrants)
    told = margins(block)
    for at, one in enumerate(block.games):
        plain = ahead(one.scores)
        if one.fault is None:
            assert told[at] == tuple(plain[side(e, one.rotation, count)] for e in range(count))
            continue
        guilty = guilty_entrant(one, count)
        worst = [plain[side(guilty, one.rotation, count)]]
        faultless = [i for i, other in enumerate(block.games) if other.fault is None]
        worst += [told[i][guilty] for i in faultless]
        if not faultless or not block.paired:
            worst.append(-block.walkover)
        assert told[at][guilty] == min(worst)
        for entrant in range(count):
            if entrant != guilty:
                assert told[at][entrant] >= plain[side(entrant, one.rotation, count)] - 1e-9


ENDS = [(40, 44), (26, 41), (43, 26), (27, 41), (32, 55), (44, 35), (15, 47), (31, 49), (32, 44)]
ENDS += [(22, 44), (36, 56), (34, 49), (41, 30), (43, 40), (25, 46), (21, 45), (42, 40), (19, 44)]
"""Games of `playtash` that `random` has played against `greedy`."""


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("plays_on", [lambda lead, usual: lead <= usual, lambda *_: False])
def test_who_knows_one_game_gains_nothing_by_leaving_another_that_has_its_own_deals(
    turned: bool, plays_on: Callable[[float, float], bool]
) -> None:
    ends = [end[::-1] for end in ENDS] if turned else ENDS
    usual = fmean(mine - others for mine, others in ends)
    left = Game(1, 1, 0, (0, 0), 0, Blame(1, Cause.TIME))

    def lead(block: Block) -> float:
        return fmean(one[0] for one in margins(block))

    honest, leaving = [], []
    for (mine, theirs), (again, against) in product(ends, ends):
        first, second = game(0, mine, theirs), game(1, against, again)
        whole = Block(0, (0, 1), (first, second), paired=False, walkover=41.0)
        broken = replace(whole, games=(first, left))
        honest.append(lead(whole))
        leaving.append(lead(whole if plays_on(mine - theirs, usual) else broken))
    assert fmean(leaving) < fmean(honest)


@given(blocks())
def test_a_win_is_shared_out_whole_and_the_guilty_have_no_part_of_it(block: Block) -> None:
    for one in block.games:
        count = len(block.entrants)
        drawn = replace(one, winner=None)
        for told in (shares(one, count), shares(drawn, count)):
            assert sum(told) == pytest.approx(1)
        if one.fault is not None:
            guilty = guilty_entrant(one, count)
            told = shares(one, count)
            assert told[guilty] == 0
            assert {told[at] for at in range(count) if at != guilty} == {1 / (count - 1)}


@pytest.mark.parametrize(
    ("asked", "points"),
    [
        ({"rules": "playtash"}, 41),
        ({"rules": "cafe", "target": 21}, 21),
        ({"rules": "cafe", "hands": 3}, 60),
        ({"rules": "cafe", "players": 3, "hands": 1}, 27),
        ({"rules": "arabic"}, 40),
    ],
)
def test_who_never_plays_is_behind_as_if_the_others_had_it_all(
    asked: dict[str, Any], points: float
) -> None:
    made = plan(3, **asked)
    assert made.walkover == points
    count = 3 if made.players == 3 else 2
    never = tuple(game(at, *[0] * count, fault=at % count) for at in range(count))
    told = margins(Block(0, tuple(range(count)), never, walkover=made.walkover))
    guilty = [guilty_entrant(one, count) for one in never]
    assert [margin[at] for margin, at in zip(told, guilty, strict=True)] == [-points] * count


def test_a_place_is_told_from_the_first_dealer() -> None:
    one = game(1, 3, 2, 1, dealer=2)
    assert [position(entrant, one, 3) for entrant in range(3)] == [2, 0, 1]
    four = game(1, 3, 2, dealer=3)  # seats 1 and 3 are side 1, which deals
    assert [position(entrant, four, 2) for entrant in range(2)] == [0, 1]
