"""Intervals hold the truth as often as they say, however much the games of a block are alike.

Every case plays 150 tournaments of known truth. The bounds are four binomial standard
errors around 95 %; on wins few blocks make intervals wider than they need be, never narrower.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.arena.statistics.simulated import World, duel, entrants

from ronda_arena.statistics import positions
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.statistics.evidence import Evidence
from ronda_arena.statistics.ratings import Strengths

TOURNAMENTS = 100

EQUALS = [
    pytest.param(World("a b"), 8, id="two seats, few blocks"),
    pytest.param(World("a b"), 30, id="two seats, more blocks"),
    pytest.param(World("a b", deal=1, style=9, noise=1), 8, id="games of a block nearly equal"),
    pytest.param(World("a b", deal=9, style=1, noise=1), 8, id="games of a block nearly opposed"),
    pytest.param(World("a b c d"), 2, id="two blocks a pairing"),
    pytest.param(World("a b c d", players=3), 8, id="three seats"),
    pytest.param(World("a+b c+d e", players=4), 8, id="mixed teams"),
    pytest.param(World("a b c", players=3, paired=False), 10, id="unpaired"),
    pytest.param(World("a b", forfeits=0.1), 20, id="forfeits"),
]


class Held:
    def __init__(self) -> None:
        self.held = self.of = 0

    def count(self, told: Estimate, truth: float) -> None:
        assert told.low is not None
        assert told.high is not None
        self.of += 1
        self.held += told.low <= truth <= told.high

    def within(self, least: float, most: float = 1.0) -> bool:
        # Intervals of one tournament hang together: its number is what counts.
        spread = 4 * (0.95 * 0.05 / TOURNAMENTS) ** 0.5
        return least - spread <= self.held / self.of <= most + spread


@pytest.mark.parametrize(("world", "each"), EQUALS)
def test_of_equals_one_in_twenty_is_called_different(world: World, each: int) -> None:
    rng = np.random.default_rng(1987)
    margin, elo, place, share = Held(), Held(), Held(), Held()
    for _ in range(TOURNAMENTS):
        evidence = world.played(rng, each)
        strengths = Strengths(evidence)
        first = strengths.ratings()[0]
        margin.count(first.margin, 0)
        elo.count(first.elo, 0)
        place.count(strengths.places()[0], 0)
        won = positions.shares(strengths.kinds, evidence.blocks)
        share.count(won[0], 1 / evidence.sides)
    assert margin.within(0.95, 0.95)
    assert place.within(0.95, 0.95)
    assert elo.within(0.95)
    assert share.within(0.95)


@pytest.mark.parametrize(
    ("world", "each"),
    [
        pytest.param(World("a b c", skills=(4, 0, -1), places=(2, 0)), 8, id="two seats"),
        pytest.param(
            World("a b c", players=3, skills=(4, 0, -1), places=(2, 0, 1)), 16, id="three"
        ),
        pytest.param(World("a+b c a", players=4, skills=(4, 0, -1), places=(2, 0)), 8, id="teams"),
    ],
)
def test_intervals_hold_strengths_and_places_that_differ(world: World, each: int) -> None:
    rng = np.random.default_rng(2026)
    margin, place = Held(), Held()
    skills, places = np.array(world.skills), np.array(world.places)
    count = len(places)
    worth = (places[0] - places.mean()) * count / (count - 1)
    for _ in range(TOURNAMENTS):
        strengths = world.strengths(rng, each)
        margin.count(strengths.margins()[0], skills[0] - skills.mean())
        place.count(strengths.places()[0], worth)
    assert margin.within(0.95, 0.95)
    assert place.within(0.95, 0.95)


def logistic(rng: np.random.Generator, elo: np.ndarray, each: int) -> Evidence:
    """Return games that are won with the odds of Elo and nothing else."""
    evidence = Evidence(entrants("a b c"), 2, 1)
    for number in range(each):
        for first, second in ((0, 1), (0, 2), (1, 2)):
            chance = 1 / (1 + 10 ** ((elo[second] - elo[first]) / 400))
            results = [(1, 0) if rng.random() < chance else (0, 1) for _ in range(2)]
            evidence.add(duel(*results, number=number, pairing=(first, second)))
    return evidence


def test_intervals_hold_the_elo_of_games_that_follow_the_model() -> None:
    rng = np.random.default_rng(3)
    held = Held()
    elo = np.array([150.0, 0.0, -150.0])
    for _ in range(TOURNAMENTS):
        evidence = logistic(rng, elo, 20)
        held.count(Strengths(evidence).ratings()[0].elo, 150.0)
    assert held.within(0.95, 0.98)


FEW = [
    pytest.param(World("a b"), id="two seats"),
    pytest.param(World("a b", skills=(4, 0)), id="unequal"),
    pytest.param(World("a b", deal=1, style=9, noise=1), id="games of a block nearly equal"),
    pytest.param(World("a b", deal=9, style=1, noise=1), id="games of a block nearly opposed"),
    pytest.param(World("a b", players=4, skills=(4, 0)), id="four seats"),
    pytest.param(World("a b c", players=3, skills=(5, 0, -3)), id="three seats"),
]


@pytest.mark.parametrize("each", [4])
@pytest.mark.parametrize("world", FEW)
def test_elo_of_few_blocks_holds_the_truth(world: World, each: int) -> None:
    rng = np.random.default_rng(400)
    truth = world.strengths(rng, 2000).ratings()[0].elo.value
    assert truth is not None
    held = Held()
    for _ in range(TOURNAMENTS):
        one = world.strengths(rng, each).ratings()[0].elo
        assert one.known or world.players == 3
        if one.known:
            held.count(one, truth)
    assert held.within(0.95)


def test_two_blocks_say_of_wins_what_two_games_would() -> None:
    """Student's t knows two numbers and nothing of them; but a share is between 0 and 1."""
    evidence = Evidence(entrants("a b"), 2, 1)
    for number, game in enumerate([(1, 0), (0, 1)]):
        evidence.add(duel(game, game, number=number))
    first = Strengths(evidence).ratings()[0].elo
    assert first.low is not None
    assert first.high is not None
    # Two even games: 1.96 standard errors of 1 / sqrt(2 * 0.25) in log odds, half of them each.
    assert first.high - first.low == pytest.approx(1.96 * 2**0.5 * 400 / np.log(10), rel=0.1)
