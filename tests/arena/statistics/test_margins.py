"""The linear model against a direct fit, block by block, and against Student's interval."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from scipy import linalg, stats
from tests.arena.statistics.simulated import World, duel, entrants, game

from ronda_arena.statistics import design, margins, pairs
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.statistics.evidence import Evidence
from ronda_arena.statistics.margins import NOTHING
from ronda_arena.statistics.ratings import Strengths
from ronda_arena.tournament.entrants import side
from ronda_arena.tournament.results import Block
from ronda_arena.tournament.results import margins as told

WORLDS = [
    World("a b", places=(1, 0)),
    World("a b c d", skills=(0, 1, 2, 5), places=(2, 0)),
    World("a b c", paired=False, skills=(3, 0, 0)),
    World("a b c d", players=3, skills=(0, 1, 2, 5), places=(2, 0, 1), forfeits=0.1),
    World("a b c", players=3, paired=False, places=(2, 0, 1)),
    World("a+b c a", players=4, skills=(3, 0, 1), forfeits=0.1),
]


def rows(block: Block, names: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return each cluster's design and what its sides made, a row for each side of a game."""
    clusters = []
    count = len(block.entrants)
    for one, margin in zip(block.games, told(block), strict=True):
        left = np.zeros((count, names + count))
        for at, entrant in enumerate(block.entrants):
            left[at, entrant] = 1
            left[at, names + (side(at, one.rotation, count) - one.dealer) % count] = 1
        centred = left - left.mean(axis=0)
        clusters.append((centred, np.array(margin) * (count - 1) / count))
    if not block.paired:
        return clusters
    return [tuple(np.concatenate(part) for part in zip(*clusters, strict=True))]


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: f"{world.players}: {world.names}")
def test_the_fit_and_its_covariance_are_those_of_an_explicit_loop_over_blocks(
    world: World,
) -> None:
    played = list(world.blocks(np.random.default_rng(3), 7))
    evidence = Evidence(world.entrants, world.players, 1)
    for block in played:
        evidence.add(block)
    names = len(world.entrants)
    clusters = list(chain.from_iterable(rows(block, names) for block in played))
    x = np.concatenate([left for left, _ in clusters])
    y = np.concatenate([right for _, right in clusters])
    count = evidence.sides
    ridge = margins.PRIOR_WIDTH**-1 * np.eye(x.shape[1])
    best, *_ = np.linalg.lstsq(
        np.vstack([x, ridge]), np.concatenate([y, np.zeros(x.shape[1])]), rcond=None
    )
    bread = np.linalg.inv(x.T @ x + ridge @ ridge)
    meat = np.zeros_like(bread)
    for left, right in clusters:
        lever = left @ bread @ left.T
        adjusted = linalg.inv(linalg.sqrtm(np.eye(len(left)) - lever)).real
        score = left.T @ adjusted @ (right - left @ best)
        meat += np.outer(score, score)
    scale = y @ y / (len(y) / count * (count - 1)) * margins.PRIOR_WIDTH**-2
    covariance = bread @ (meat + scale * np.eye(len(bread))) @ bread

    kinds = evidence.kinds()
    own = design.of_entrants(evidence, kinds)
    fit = margins.fit(own, kinds, NOTHING)
    sums = np.vstack([own.skills, own.worths])
    variances, freedoms = fit.spread(sums)

    assert fit.values == pytest.approx(best, abs=1e-9)
    assert variances == pytest.approx(np.einsum("ci,ij,cj->c", sums, covariance, sums), rel=1e-7)
    assert (freedoms[: len(own.names)] <= len(clusters) + 1e-6).all()


def test_of_two_entrants_it_is_students_interval_of_the_block_means() -> None:
    world = World("a b", skills=(2, 0))
    played = list(world.blocks(np.random.default_rng(5), 9))
    evidence = Evidence(world.entrants, 2, 1)
    for block in played:
        evidence.add(block)
    means = [np.mean([margin[0] for margin in told(block)]) for block in played]
    wanted = stats.t.interval(0.95, 8, np.mean(means), stats.sem(means))

    strengths = Strengths(evidence)
    pair = pairs.margins(evidence, strengths.kinds, NOTHING)[0, 1]
    [difference] = strengths.differences([(0, 1)])

    assert (pair.value, pair.low, pair.high) == pytest.approx((np.mean(means), *wanted))
    # The prior, worth a hundredth of a game, moves it by less than a thousandth.
    assert (difference.low, difference.high) == pytest.approx(wanted, rel=1e-3, abs=1e-2)


@pytest.mark.parametrize("lead", [-3, 0, 1, 4])
def test_los_is_what_students_test_of_block_means_leaves_for_the_first(lead: int) -> None:
    world = World("a b", skills=(lead, 0))
    played = list(world.blocks(np.random.default_rng(6), 12))
    evidence = Evidence(world.entrants, 2, 1)
    for block in played:
        evidence.add(block)
    means = [np.mean([margin[0] for margin in told(block)]) for block in played]
    strengths = Strengths(evidence)
    found = pairs.meetings(evidence, strengths.kinds, NOTHING)[0, 1]
    other_way = stats.ttest_1samp(means, 0, alternative="greater").pvalue
    assert found.los == pytest.approx(1 - other_way)
    assert found.los is not None
    assert found.margin.low is not None
    assert (found.los > 0.975) == (found.margin.low > 0)


def test_los_of_equals_is_as_often_above_as_it_says() -> None:
    above = {0.5: 0, 0.9: 0, 0.95: 0}
    runs = 400
    rng = np.random.default_rng(7)
    for _ in range(runs):
        evidence = Evidence(entrants("a b"), 2, 1)
        for block in World("a b", skills=(0, 0)).blocks(rng, 10):
            evidence.add(block)
        los = pairs.meetings(evidence, Strengths(evidence).kinds, NOTHING)[0, 1].los
        assert los is not None
        for level in above:
            above[level] += los > level
    for level, times in above.items():
        assert abs(times / runs - (1 - level)) < 4 * np.sqrt(level * (1 - level) / runs)


def test_one_block_has_no_los() -> None:
    evidence = Evidence(entrants("a b"), 2, 1)
    evidence.add(duel((12, 4), (9, 9)))
    found = pairs.meetings(evidence, Strengths(evidence).kinds, NOTHING)[0, 1]
    assert (found.margin.known, found.los) == (False, None)


def test_margins_are_told_a_hand_where_a_game_has_a_fixed_number_of_them() -> None:
    a_game, a_hand = Evidence(entrants("a b"), 2, 1), Evidence(entrants("a b"), 2, 4)
    for evidence in (a_game, a_hand):
        evidence.add(duel((12, 4), (9, 9)))
        evidence.add(duel((8, 4), (8, 9)))
    by_game, by_hand = Strengths(a_game).margins()[0], Strengths(a_hand).margins()[0]
    assert None not in (by_game.value, by_hand.value)
    assert by_game.value == pytest.approx(4 * by_hand.value)
    assert by_game.high == pytest.approx(4 * by_hand.high)


def test_equal_margins_are_not_sure_margins() -> None:
    evidence = Evidence(entrants("a b"), 2, 1)
    for number in range(2):
        evidence.add(duel((9, 4), (7, 2), number=number))
    strengths = Strengths(evidence)
    pair = pairs.margins(evidence, strengths.kinds, NOTHING)[0, 1]
    for one in (pair, *strengths.differences([(0, 1)])):
        assert one.low is not None
        assert one.high is not None
        assert one.high - one.low > 1


def test_one_block_is_too_few() -> None:
    evidence = Evidence(entrants("a b"), 2, 1)
    evidence.add(duel((30, 10), (25, 20)))
    assert Strengths(evidence).margins() == [Estimate(None, None, None, 1)] * 2


def test_what_no_chain_of_games_connects_is_hardly_known() -> None:
    evidence = Evidence(entrants("a b c d"), 2, 1)
    rng = np.random.default_rng(1)
    for number in range(40):
        for pairing in ((0, 1), (2, 3)):
            ahead, behind = (int(one) for one in rng.integers(0, 40, 2))
            evidence.add(duel((ahead, behind), (20, 20), number=number, pairing=pairing))
    strengths = Strengths(evidence)
    within, across = strengths.differences([(0, 1), (0, 2)])
    assert within.known
    assert across.known
    assert across.high - across.low > 20 * (within.high - within.low)


def test_who_forfeits_far_ahead_keeps_no_more_than_its_worst_margin() -> None:
    evidence = Evidence(entrants("a b"), 2, 1)
    for number in range(5):
        won = game(0, 0, (20, 16))
        fled = game(1, 0, (1, 30), guilty=1)  # the first entrant has side 1
        evidence.add(Block(number, (0, 1), (won, fled)))
    [difference] = Strengths(evidence).differences([(0, 1)])
    assert difference.value == pytest.approx(4, abs=0.01)
    assert (evidence.scores[0].faults, evidence.scores[0].lost, evidence.scores[1].won) == (5, 5, 5)
