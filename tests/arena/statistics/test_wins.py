"""Bradley and Terry's model against published numbers, and against a direct search."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pytest
from scipy import optimize
from tests.arena.statistics.simulated import World, duel, entrants

from ronda_arena.statistics import design, wins
from ronda_arena.statistics.evidence import Evidence
from ronda_arena.statistics.ratings import Strengths
from ronda_arena.tournament.entrants import Entrant, side
from ronda_arena.tournament.results import Block, Game, shares

WON, LOST, DRAWN = (1, 0), (0, 1), (1, 1)

# A. Agresti, Categorical Data Analysis: the American League, eastern division, of 1987. Rows beat
# columns; the logarithms of odds are the published fit, Baltimore being 0.
TEAMS = "Milwaukee Detroit Toronto NewYork Boston Cleveland Baltimore"
WINS = """
    - 7 9 7 7 9 11
    6 - 7 5 11 9 9
    4 6 - 7 7 8 12
    6 8 6 - 6 7 10
    6 2 6 7 - 7 12
    4 4 5 6 6 - 6
    2 4 1 3 1 7 -
"""
PUBLISHED = [1.581, 1.436, 1.294, 1.248, 1.108, 0.684, 0.0]


def elo_of(*results: tuple[int, int]) -> float:
    evidence = Evidence(entrants("a b"), 2, 1)
    for number, result in enumerate(results):
        evidence.add(duel(result, result, number=number))
    first, second = (one.elo.value for one in Strengths(evidence).ratings())
    assert first is not None
    assert second is not None
    return first - second


# FIDE's and everybody's table of the logistic curve: share of the points, difference.
@pytest.mark.parametrize(
    ("won", "of", "elo"), [(1, 2, 0), (10, 11, 400), (16, 25, 100), (3, 4, 191)]
)
def test_a_share_of_the_wins_is_the_elo_of_the_logistic_curve(won: int, of: int, elo: int) -> None:
    results = [WON] * won + [LOST] * (of - won)
    assert elo_of(*results * 20) == pytest.approx(elo, abs=1.0)


def test_a_draw_is_half_a_win() -> None:
    assert elo_of(*[DRAWN] * 20 + [WON] * 10) == pytest.approx(
        elo_of(*[WON] * 20 + [LOST] * 10), abs=1e-6
    )


def test_the_baseball_season_comes_out_as_published() -> None:
    names = entrants(TEAMS)
    evidence = Evidence(names, 2, 1)
    rows = [line.split() for line in WINS.strip().splitlines()]
    for first, second in permutations(range(7), 2):
        # From both places alike: the published model knows of none.
        for _ in range(int(rows[first][second])):
            evidence.add(duel(WON, WON, pairing=(first, second)))
    kinds = evidence.kinds()
    fit = wins.fit(design.of_entrants(evidence, kinds), kinds.shares)
    told = fit.values[:7] - fit.values[6]
    assert told == pytest.approx(PUBLISHED, abs=0.005)


@pytest.mark.parametrize(
    "world",
    [
        World("a b", skills=(9, 0), places=(3, 0)),
        World("a b c", paired=False, skills=(4, 0, 1), places=(2, 0)),
        World("a b c d", players=3, skills=(0, 1, 2, 5), places=(2, 0, 1), forfeits=0.1),
        World("a b c", players=3, paired=False, skills=(0, 3, 8)),
        World("a+b c a", players=4, skills=(3, 0, 1)),
    ],
    ids=lambda world: f"{world.players}: {world.names}",
)
def test_the_fit_is_the_best_that_a_search_finds(world: World) -> None:
    played = list(world.blocks(np.random.default_rng(4), 6))
    evidence = Evidence(world.entrants, world.players, 1)
    for block in played:
        evidence.add(block)
    count, names = evidence.sides, len(world.entrants)

    def loss(values: np.ndarray) -> float:
        total = (values @ values) * (wins.ELO / wins.PRIOR_WIDTH) ** 2 / 2
        for block in played:
            for game in block.games:
                at = range(count)
                places = [(side(one, game.rotation, count) - game.dealer) % count for one in at]
                odds = [values[block.entrants[one]] + values[names + places[one]] for one in at]
                chances = np.array(odds) - np.log(np.sum(np.exp(odds)))
                total -= float(np.array(shares(game, count)) @ chances)
        return float(total)

    found = optimize.minimize(loss, np.zeros(names + count), method="BFGS", options={"gtol": 1e-6})
    kinds = evidence.kinds()
    fit = wins.fit(design.of_entrants(evidence, kinds), kinds.shares)
    assert fit.values == pytest.approx(found.x, abs=1e-4)


@pytest.mark.parametrize("blocks", [2, 10, 1000])
def test_who_wins_everything_is_strong_within_wide_bounds(blocks: int) -> None:
    evidence = Evidence(entrants("a b"), 2, 1)
    for number in range(blocks):
        evidence.add(duel(WON, WON, number=number))
    first, second = (one.elo for one in Strengths(evidence).ratings())
    assert first.value is not None
    assert first.low is not None
    assert first.high is not None
    # The difference is twice what each is above the mean of both. Of so many games, all won, the
    # odds of ten to one and less are refuted, and no strength is: rule of three.
    games = 2 * blocks
    refuted = max(0.0, 400 * np.log10(games / 3 - 1)) if games > 3 else 0.0
    assert 2 * first.low < refuted + 150
    assert first.high - first.low > 400
    assert first.value > 0
    assert second.value == pytest.approx(-first.value)
    assert 2 * first.value < 3000


def test_two_hundred_at_three_seats_are_fitted_in_a_few_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last digits of a likelihood are rounding: who waits for them waits for ever."""
    chance = random.Random(1)
    evidence = Evidence([Entrant((f"b{at}@1",)) for at in range(200)], 3, 1)
    for number in range(1500):
        table = tuple(sorted(chance.sample(range(200), 3)))
        games = []
        for rotation in range(3):
            scores = tuple(
                chance.randint(0, 9) + table[(seat - rotation) % 3] // 20 for seat in range(3)
            )
            winners = [seat for seat in range(3) if scores[seat] == max(scores)]
            winner = winners[0] if len(winners) == 1 else None
            games.append(Game(rotation, 0, 1, scores, winner))
        evidence.add(Block(number, table, tuple(games)))
    steps = []
    expect = wins._expect
    monkeypatch.setattr(wins, "_expect", lambda *of: (steps.append(1), expect(*of))[1])
    strengths = Strengths(evidence)
    elo = [rating.elo.value for rating in strengths.ratings()]
    assert len(steps) < 30
    assert all(value is not None for value in elo)
