"""The sequential test against published boundaries, against theory, and against simulation."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest
from tests.arena.statistics.blocks_played import KINDS, Margins

from ronda_arena.statistics.boundaries import above, boundaries, crossing, spent
from ronda_arena.statistics.intervals import Tally
from ronda_arena.statistics.sequential import Decision, Finding, Sequential, looks

ALPHA = 0.05
LOOKS = tuple(at / 20 for at in range(1, 21))


def played(test: Sequential, margins: np.ndarray) -> Decision:
    for margin in margins:
        if test.add(float(margin)):
            break
    assert test.decision is not None
    return test.decision


# Spending of O'Brien and Fleming's type at even looks, 0.05 on two sides: D. M. Reboussin,
# D. L. DeMets, K. Kim and K. K. G. Lan, "Computations for group sequential boundaries using the
# Lan-DeMets spending function method", Controlled Clinical Trials 21 (2000), and their program,
# now the R package ldbounds; for two to four looks also rpact's design asOF. Its grid is coarser
# than ours: the second of five is 3.35701 also by adaptive quadrature, and 3.3569 in print.
@pytest.mark.parametrize(
    "published",
    [
        (1.9600,),
        (2.9626, 1.9686),
        (3.7103, 2.5114, 1.9930),
        (4.3326, 2.9631, 2.3590, 2.0141),
        (4.8769, 3.3569, 2.6803, 2.2898, 2.0310),
    ],
)
def test_boundaries_are_the_published_ones(published: tuple[float, ...]) -> None:
    shares = tuple((at + 1) / len(published) for at in range(len(published)))
    assert boundaries(shares, ALPHA) == pytest.approx(published, abs=1.2e-4)


@pytest.mark.parametrize("shares", [LOOKS, (0.3, 0.35, 0.9, 1.0), (0.001, 0.5, 1.0)])
@pytest.mark.parametrize("alpha", [0.001, 0.05, 0.4])
def test_equals_cross_each_boundary_as_often_as_was_to_be_spent(
    shares: tuple[float, ...], alpha: float
) -> None:
    bounds = boundaries(shares, alpha)
    assert sum(crossing(shares, bounds, 0.0)) == pytest.approx(alpha / 2, rel=1e-9)
    assert spent(1.0, alpha) == pytest.approx(alpha / 2)
    if shares == LOOKS:
        assert list(bounds) == sorted(bounds, reverse=True)


def test_what_is_too_little_to_be_known_is_not_spent_but_kept() -> None:
    assert boundaries((0.001, 1.0), ALPHA) == pytest.approx((inf, 1.959964), abs=1e-6)


@pytest.mark.parametrize("drift", [-1.0, 0.0, 2.5])
def test_the_order_of_outcomes_is_that_of_simulated_paths(drift: float) -> None:
    shares, value, runs = (0.2, 0.5, 0.7), 1.2, 200_000
    bounds = boundaries((*shares, 1.0), 0.2)[:2]
    rng, steps = np.random.default_rng(1), np.diff((0.0, *shares))
    paths = np.cumsum(rng.normal(drift * steps, np.sqrt(steps), (runs, 3)), axis=1)
    z = paths / np.sqrt(shares)
    higher, gone = np.zeros(runs, bool), np.zeros(runs, bool)
    for at, bound in enumerate(bounds):
        higher |= ~gone & (z[:, at] >= bound)
        gone |= np.abs(z[:, at]) >= bound
    higher |= ~gone & (z[:, 2] >= value)
    share = above(shares, [(-bound, bound) for bound in bounds], drift, value)
    assert higher.mean() == pytest.approx(share, abs=4 * sqrt(share * (1 - share) / runs))


@pytest.mark.parametrize("blocks", [1, 2, 9, 10, 19, 20, 60, 199, 200, 201, 1000, 10_000_000])
def test_looks_are_few_even_and_none_before_ten_blocks(blocks: int) -> None:
    at = looks(blocks)
    assert at[-1] == blocks
    assert len(at) <= 20
    assert at[0] >= min(10, blocks)
    steps = np.diff((0, *at))
    assert 0 < steps.max() <= steps.min() + 1


@pytest.mark.parametrize("kind", ["normal", "counter-careful", "careful-greedy"])
def test_equals_are_called_different_as_often_as_was_agreed(kind: str) -> None:
    rng, margins, runs = np.random.default_rng(2), Margins(KINDS[kind], 0.0), 1500
    found = [played(Sequential(60, ALPHA), margins.draw(rng, 60)).finding for _ in range(runs)]
    error = 3.3 * sqrt(ALPHA * (1 - ALPHA) / runs)
    assert found.count(Finding.NEITHER) / runs == pytest.approx(1 - ALPHA, abs=error)
    for side in (Finding.FIRST, Finding.SECOND):
        assert found.count(side) / runs == pytest.approx(ALPHA / 2, abs=error)


def test_power_and_blocks_are_those_that_theory_foretells() -> None:
    blocks, drift, runs = 400, 3.242, 400  # all 400 at once would show it in nine of ten
    shares = tuple(count / blocks for count in looks(blocks))
    stops = crossing(shares, boundaries(shares, ALPHA), drift)
    power = sum(stops)
    expected = sum(at * share for at, share in zip(stops, shares, strict=True)) + 1 - power
    assert power == pytest.approx(0.888, abs=0.002)
    assert expected == pytest.approx(0.687, abs=0.002)
    rng, margins = np.random.default_rng(3), Margins(None, drift / sqrt(blocks))
    told = [played(Sequential(blocks, ALPHA), margins.draw(rng, blocks)) for _ in range(runs)]
    found = [decision.finding for decision in told]
    error = 3.3 * sqrt(power * (1 - power) / runs)
    assert found.count(Finding.FIRST) / runs == pytest.approx(power, abs=error)
    mean = float(np.mean([decision.blocks for decision in told])) / blocks
    assert mean == pytest.approx(expected, abs=3.3 * 0.25 / sqrt(runs))


@pytest.mark.parametrize("kind", ["normal", "careful-greedy"])
def test_estimates_are_too_high_as_often_as_too_low_and_intervals_hold(kind: str) -> None:
    blocks, runs = 40, 500
    rng, margins = np.random.default_rng(4), Margins(KINDS[kind], 3.242 / sqrt(blocks))
    above_truth = held = stopped = 0
    for _ in range(runs):
        test = Sequential(blocks, ALPHA)
        decision = played(test, margins.draw(rng, blocks))
        value, low, high, counted = test.estimate()
        assert value is not None
        assert low is not None
        assert high is not None
        assert low < value < high
        assert counted == decision.blocks
        # At five in a hundred the interval and the test speak of the same error: they agree.
        assert (decision.finding is Finding.NEITHER) == (low <= 0 <= high)
        above_truth += value > margins.mean
        held += low <= margins.mean <= high
        stopped += counted < blocks
    assert 0.3 < stopped / runs < 0.9  # both kinds of end are among them
    assert above_truth / runs == pytest.approx(0.5, abs=3.3 * sqrt(0.25 / runs))
    assert held / runs == pytest.approx(0.95, abs=3.3 * sqrt(0.95 * 0.05 / runs))


def test_a_test_of_one_look_tells_the_mean_and_students_interval() -> None:
    numbers, tally = [3, -1, 4, 1, -5, 9, 2, 6], Tally()
    test = Sequential(len(numbers), ALPHA)
    for number in numbers:
        tally.add(number)
        test.add(number)
    mean = tally.mean()
    assert mean.interval is not None
    assert test.estimate() == pytest.approx((mean.value, *mean.interval, 8), abs=1e-6)


def test_the_second_sees_what_the_first_sees_the_other_way_round() -> None:
    margins = np.random.default_rng(5).normal(0.7, 1.0, 60)
    one, other = Sequential(60, ALPHA), Sequential(60, ALPHA)
    decision = played(one, margins)
    assert decision.finding is Finding.FIRST
    assert played(other, -margins) == decision._replace(finding=Finding.SECOND)
    value, low, high, blocks = one.estimate()
    assert other.estimate() == pytest.approx((-value, -high, -low, blocks), abs=1e-6)


def test_what_comes_after_the_decision_changes_nothing() -> None:
    margins = np.random.default_rng(6).normal(1.0, 1.0, 200)
    test = Sequential(200, ALPHA)
    decision, told = played(test, margins), test.estimate()
    assert decision.blocks < 200
    for margin in (*-100 * margins, inf):
        assert test.add(float(margin))
    assert test.decision == decision
    assert test.estimate() == told


def test_it_decides_only_at_its_looks() -> None:
    test = Sequential(60, ALPHA)
    decided = [test.add(100.0 + at % 2) for at in range(60)]
    first = decided.index(True) + 1
    assert first in looks(60)
    assert decided == [False] * (first - 1) + [True] * (61 - first)


def test_two_that_always_draw_are_not_told_apart() -> None:
    test = Sequential(60, ALPHA)
    assert played(test, np.zeros(60)) == Decision(Finding.NEITHER, 60)
    told = test.estimate()
    assert told.value == pytest.approx(0)
    assert told.low is not None
    assert told.high is not None
    # Points are whole: what is always the same is known to within what rounding hides.
    assert told.low == pytest.approx(-told.high)
    assert 0.05 < told.high < 0.1


def test_numbers_that_are_all_alike_are_no_surer_than_a_coin_that_falls_alike() -> None:
    # No variance was seen, so t is infinite: but heads five times running is one in sixteen.
    assert played(Sequential(5, ALPHA), np.ones(5)).finding is Finding.NEITHER
    assert played(Sequential(8, ALPHA), np.ones(8)).finding is Finding.FIRST
    mostly_drawn = np.array([0.0] * 55 + [1.0] * 5)
    assert played(Sequential(60, ALPHA), mostly_drawn).finding is Finding.NEITHER


@pytest.mark.parametrize("blocks", [10, 20, 30, 60, 200, 1000])
@pytest.mark.parametrize("mean", [2.0, 10.0, 1000.0])
def test_a_difference_that_is_plain_at_once_is_told_as_it_was_seen(
    blocks: int, mean: float
) -> None:
    # Also where the first look came too early to stop: then it says nothing of the difference.
    margins, test = np.random.default_rng(7).normal(mean, 1.0, blocks), Sequential(blocks, ALPHA)
    decision = played(test, margins)
    seen = margins[: decision.blocks]
    error = seen.std(ddof=1) / sqrt(len(seen))
    value, low, high, _ = test.estimate()
    assert decision.finding is Finding.FIRST
    assert value == pytest.approx(seen.mean(), abs=error)
    assert 3 * error < high - low < 6 * error
    assert low < seen.mean() < high


def test_one_block_decides_nothing_and_has_no_interval() -> None:
    test = Sequential(1, ALPHA)
    assert played(test, np.ones(1)) == Decision(Finding.NEITHER, 1)
    assert not test.estimate().known


def test_there_is_no_estimate_of_a_test_that_goes_on() -> None:
    test = Sequential(60, ALPHA)
    test.add(1.0)
    with pytest.raises(ValueError, match="goes on"):
        test.estimate()


@pytest.mark.parametrize(("blocks", "alpha"), [(0, 0.05), (10, 0.0), (10, 1.0)])
def test_a_test_without_blocks_or_without_a_chance_of_error_is_refused(
    blocks: int, alpha: float
) -> None:
    with pytest.raises(ValueError, match="a test needs"):
        Sequential(blocks, alpha)
