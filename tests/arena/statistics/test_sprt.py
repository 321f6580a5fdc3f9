"""The SPRT against Wald's own, against a direct search, against theory and against simulation."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr
from tests.arena.statistics.outcomes import OUTCOMES, drawn

from ronda_arena.statistics.barriers import Barriers, between, hit_lower, hit_upper
from ronda_arena.statistics.sprt import UNSEEN, Accepted, Hypotheses, Sprt, elo, share

ASKED = Hypotheses(0, 50, 0.05, 0.05)
NEAR = Hypotheses(0, 80, 0.05, 0.05)
RUNS = 150


def fed(test: Sprt, blocks: object) -> Sprt:
    for won in np.asarray(blocks):
        if test.add(float(won)):
            break
    return test


def test_elo_and_share_are_each_the_inverse_of_the_other() -> None:
    assert share(0) == 0.5
    assert share(400) == pytest.approx(10 / 11)
    for points in (-1199.0, -35.0, 0.0, 7.5, 600.0):
        assert elo(share(points)) == pytest.approx(points)
    assert elo(1.0) == pytest.approx(1200)
    assert elo(-0.3) == pytest.approx(-1200)


def test_bounds_are_walds() -> None:
    assert ASKED.bounds == pytest.approx((-2.944439, 2.944439))
    assert Hypotheses(0, 5, 0.01, 0.1).bounds == pytest.approx((log(0.1 / 0.99), log(0.9 / 0.01)))


def test_where_every_block_is_won_or_lost_it_is_walds_own_test() -> None:
    asked = Hypotheses(-20, 30, 1e-6, 1e-6)
    test = fed(Sprt(asked), [1.0] * 30 + [0.0] * 25)
    first, second = share(asked.elo0), share(asked.elo1)
    expected = 30 * log(second / first) + 25 * log((1 - second) / (1 - first))
    assert test.accepted is None
    assert test.llr == pytest.approx(expected)


@pytest.mark.parametrize("counts", [(5, 9, 40, 14, 8), (0, 3, 20, 4, 1), (0, 0, 30, 0, 0)])
@pytest.mark.parametrize("hypotheses", [(0, 50), (-100, 30), (10, 12)])
def test_it_is_the_ratio_of_the_best_likelihoods(
    counts: tuple[int, ...], hypotheses: tuple[float, float]
) -> None:
    test = fed(Sprt(Hypotheses(*hypotheses, 1e-9, 1e-9)), np.repeat(OUTCOMES, counts))
    seen = np.array(
        [count or UNSEEN * (won in (0.0, 1.0)) for won, count in zip(OUTCOMES, counts, strict=True)]
    )

    def best(mean: float) -> float:
        found = minimize(
            lambda at: -float(seen @ np.log(np.maximum(at, 1e-300))),
            x0=np.full(5, 0.2),
            jac=lambda at: -seen / np.maximum(at, 1e-300),
            bounds=[(1e-12, 1)] * 5,
            constraints=[
                {"type": "eq", "fun": lambda at: at.sum() - 1},
                {"type": "eq", "fun": lambda at: at @ OUTCOMES - mean},
            ],
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-13},
        )
        return -float(found.fun)

    ratio = best(share(hypotheses[1])) - best(share(hypotheses[0]))
    assert test.llr == pytest.approx(ratio, abs=2e-3)


def test_swapping_the_entrants_and_the_hypotheses_turns_everything_round() -> None:
    blocks = drawn("careful-greedy", share(15), np.random.default_rng(1), 1, 2000)[0]
    one = fed(Sprt(Hypotheses(0, 30, 0.02, 0.1)), blocks)
    other = fed(Sprt(Hypotheses(-30, 0, 0.1, 0.02)), 1 - blocks)
    assert one.accepted is not None
    assert other.accepted is not None
    assert {one.accepted, other.accepted} == {Accepted.H0, Accepted.H1}
    assert one.blocks == other.blocks
    assert one.llr == pytest.approx(-other.llr)
    told, turned = one.estimate(), other.estimate()
    assert told[:3] == pytest.approx([-turned[0], -turned[2], -turned[1]])  # type: ignore[operator]


def test_what_is_decided_stays_decided() -> None:
    test = fed(Sprt(ASKED), [1.0] * 100)
    assert test.accepted is Accepted.H1
    before = test.blocks, test.llr, test.estimate()
    assert test.blocks < 100
    assert test.add(0.0)
    assert (test.blocks, test.llr, test.estimate()) == before


@pytest.mark.parametrize("won", [0.0, 0.5, 1.0])
def test_blocks_that_are_all_alike_are_decided_and_not_taken_for_all_there_is(won: float) -> None:
    test = fed(Sprt(ASKED), [won] * 500)
    assert test.accepted is (Accepted.H1 if won == 1.0 else Accepted.H0)
    value, low, high, blocks = test.estimate()
    assert low is not None
    assert value is not None
    assert high is not None
    assert low <= value <= high
    assert high - low > 30
    if won != 0.5:
        assert abs(value) == pytest.approx(1200)  # no more than that is ever told
    assert blocks == test.blocks < 40


@pytest.mark.parametrize("drift", [-2.0, -0.3, 0.0, 0.5, 4.0])
@pytest.mark.parametrize("barriers", [Barriers(-1.0, 1.5), Barriers(-4.0, 0.7)])
def test_a_path_between_barriers_obeys_what_is_known_of_it(
    barriers: Barriers, drift: float
) -> None:
    lower, upper = barriers
    for time in (0.05, 1.0, 20.0):
        parts = (
            hit_lower(barriers, drift, time),
            hit_upper(barriers, drift, time),
            between(barriers, drift, time, lower),
        )
        assert sum(parts) == pytest.approx(1, abs=1e-9)
        above = between(barriers, drift, time, 0.2)
        assert 0 <= above <= parts[2]
    for one in (drift, drift or 1e-9):  # in the end it is the gambler's ruin
        ruin = (
            -lower / (upper - lower)
            if not one
            else (1 - exp(2 * one * -lower)) / (exp(-2 * one * upper) - exp(2 * one * -lower))
        )
        assert hit_upper(barriers, one, 400.0) == pytest.approx(ruin, abs=1e-6)
    alone = ndtr((drift * 2 - upper) / sqrt(2)) + exp(2 * drift * upper) * ndtr(
        (-drift * 2 - upper) / sqrt(2)
    )  # the inverse Gaussian law: one barrier, the other out of reach
    assert hit_upper(Barriers(-60.0, upper), drift, 2.0) == pytest.approx(float(alone), abs=1e-9)


@pytest.mark.parametrize("kind", ["careful-greedy", "counter-careful", "even"])
@pytest.mark.parametrize("truth", [0, 80])
def test_it_errs_as_seldom_as_it_says_and_its_interval_holds(kind: str, truth: int) -> None:
    rng = np.random.default_rng(5)
    wrong = held = above = 0
    for blocks in drawn(kind, share(truth), rng, RUNS, 1500):
        test = fed(Sprt(NEAR), blocks)
        assert test.accepted is not None
        wrong += test.accepted is (Accepted.H0 if truth else Accepted.H1)
        value, low, high, _ = test.estimate()
        assert value is not None
        assert low is not None
        assert high is not None
        held += low <= truth <= high
        above += value > truth
    four_errors = 4 * sqrt(0.05 * 0.95 / RUNS)
    assert wrong / RUNS < 0.05 + four_errors
    assert held / RUNS > 0.95 - four_errors
    assert 0.3 < above / RUNS < 0.7


def test_one_that_ran_out_of_blocks_has_an_estimate_too() -> None:
    rng = np.random.default_rng(6)
    held = above = undecided = 0
    for blocks in drawn("even", share(40), rng, RUNS, 25):
        test = fed(Sprt(NEAR), blocks)
        undecided += test.accepted is None
        value, low, high, _ = test.estimate()
        assert value is not None
        assert low is not None
        assert high is not None
        held += low <= 40 <= high
        above += value > 40
    assert undecided > RUNS / 2
    assert held / RUNS > 0.95 - 4 * sqrt(0.05 * 0.95 / RUNS)
    assert 0.33 < above / RUNS < 0.67
