"""Intervals against published numbers, and never a nan."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from math import inf, isfinite
from statistics import NormalDist

import pytest

from ronda_arena.statistics.intervals import Interval, Mean, Tally, student, wilson


# The table of Student's t in every textbook (two-sided 95 %, 99 %).
@pytest.mark.parametrize(
    ("freedom", "confidence", "t"),
    [
        (1, 0.95, 12.7062),
        (2, 0.95, 4.3027),
        (3, 0.95, 3.1824),
        (4, 0.95, 2.7764),
        (5, 0.95, 2.5706),
        (9, 0.95, 2.2622),
        (10, 0.95, 2.2281),
        (30, 0.95, 2.0423),
        (100, 0.95, 1.9840),
        (120, 0.95, 1.9799),
        (1000, 0.95, 1.9623),
        (1, 0.99, 63.6567),
        (2, 0.99, 9.9248),
        (30, 0.99, 2.7500),
    ],
)
def test_students_t_is_the_one_in_the_tables(freedom: int, confidence: float, t: float) -> None:
    assert student(freedom, confidence) == pytest.approx(t, abs=6e-5)


def test_students_t_falls_smoothly_to_the_normal_quantile_where_the_formula_changes() -> None:
    values = [student(freedom) for freedom in range(1, 400)]
    assert values == sorted(values, reverse=True)
    steps = [before - after for before, after in pairwise(values[90:])]
    assert steps == sorted(steps, reverse=True)
    assert student(10**9) == pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-6)


# R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilsons_interval_is_the_published_one(
    successes: int, trials: int, low: float, high: float
) -> None:
    assert wilson(successes, trials) == pytest.approx(Interval(low, high), abs=5e-5)


def test_wilsons_interval_stays_between_0_and_1_and_holds_the_share() -> None:
    for trials in range(1, 40):
        for successes in range(trials + 1):
            interval = wilson(successes, trials)
            assert interval is not None
            assert 0 <= interval.low <= successes / trials <= interval.high <= 1
    assert wilson(0, 0) is None


def test_ninety_five_in_a_hundred_intervals_hold_the_true_mean() -> None:
    rng = random.Random(1)
    held = 0
    for _ in range(2000):
        tally = Tally()
        for _ in range(6):
            tally.add(round(rng.gauss(3.0, 40.0)))
        interval = tally.mean().interval
        assert interval is not None
        held += interval.low <= 3.0 <= interval.high
    assert held / 2000 == pytest.approx(0.95, abs=0.015)


def test_a_tally_is_the_mean_and_the_interval_worked_out_by_hand() -> None:
    tally = Tally(scale=2)
    for value in (2, 4, 6):
        tally.add(value)
    mean = tally.mean()
    assert mean.count == 3
    assert mean.value == 2.0
    # Standard deviation 1, standard error 1 / sqrt(3), t 4.3027.
    assert mean.half_width == pytest.approx(2.4841, abs=1e-4)
    assert str(mean) == "+2.00 ± 2.48"


def test_too_few_values_are_said_to_be_too_few() -> None:
    tally = Tally()
    assert str(tally.mean()) == "too few"
    assert tally.mean().to_json() == {"count": 0, "value": None, "low": None, "high": None}
    tally.add(5)
    assert str(tally.mean()) == "+5.00 (too few)"
    assert tally.mean().to_json() == {"count": 1, "value": 5.0, "low": None, "high": None}


def test_nothing_is_ever_nan_or_infinite() -> None:
    for values in ([0, 0], [7, 7, 7], [-(10**9), 10**9], [1]):
        tally = Tally()
        for value in values:
            tally.add(value)
        mean = tally.mean()
        assert isinstance(mean, Mean)
        assert isfinite(mean.value if mean.value is not None else inf)
        assert mean.half_width is None or isfinite(mean.half_width)
        json.dumps(mean.to_json(), allow_nan=False)
