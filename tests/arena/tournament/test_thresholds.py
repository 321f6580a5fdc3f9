"""Numbers that a stop rule takes: whatever is given is refused in words, or played and told."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.arena.statistics.blocks_made import block
from tests.arena.tournament.plans import plan

from ronda_arena.tournament.spec import SpecError, of
from ronda_arena.tournament.stops import stop_rule

LEADS = st.sampled_from([[1], [0], [-3], [2, -2], [1, 0, 0, 0], [5, 5, 5, 4]])
CHANCES = st.floats() | st.floats(0, 0.5) | st.sampled_from([1e-9, 9e-10, 0.5, 0.4999999999])
ELO = st.floats() | st.floats(-601, 601) | st.sampled_from([-600.0, 0.0, 0.01, 600.0])


def refused_or_told(stop: dict[str, Any], leads: list[int], blocks: int) -> str:
    """Play a tournament under a stop rule, and return what it says, or why it is refused."""
    try:
        made = plan(2, stop=stop, blocks=blocks)
    except SpecError as refused:
        return str(refused) if refused.field in ("stop", "blocks") else ""
    rule = stop_rule(made)
    for number in range(blocks):
        rule.add(block(number, leads[number % len(leads)]))
        assert "nan" not in rule.so_far
    verdict = rule.verdict(over=True)
    assert verdict is not None
    assert all(map(math.isfinite, numbers(msgspec.to_builtins(verdict))))
    return verdict.decision


def numbers(told: Any) -> list[float]:
    """Return every number in plain data."""
    if isinstance(told, float | int):
        return [told]
    values = told.values() if isinstance(told, dict) else told
    return (
        [] if isinstance(told, str) or told is None else [n for one in values for n in numbers(one)]
    )


@given(CHANCES, LEADS, st.sampled_from([1, 10, 40, 100]))
@example(5e-324, [1], 100)
@example(1e-9, [1], 100)
@example(math.nan, [1], 100)
def test_whatever_chance_is_asked_of_a_sequential_test_it_is_refused_or_told(
    chance: float, leads: list[int], blocks: int
) -> None:
    assert refused_or_told({"sequential": chance}, leads, blocks)


@given(ELO, st.floats(0, 1e-2) | st.floats(0, 600) | st.floats(), CHANCES, CHANCES, LEADS)
@example(0.0, 1e-14, 0.05, 0.05, [0])
@example(0.0, 10.0, 5e-324, 5e-324, [1])
@example(0.0, 10.0, 1e-300, 0.05, [1])
@example(-600.0, 1200.0, 1e-9, 1e-9, [1])
@example(599.9, 0.02, 0.05, 0.05, [1])
@example(0.0, 0.011, 1e-9, 1e-9, [0])
def test_whatever_hypotheses_are_given_to_an_sprt_they_are_refused_or_told(
    elo0: float, apart: float, alpha: float, beta: float, leads: list[int]
) -> None:
    sprt = {"elo0": elo0, "elo1": elo0 + apart, "alpha": alpha, "beta": beta}
    assert refused_or_told({"sprt": sprt}, leads, 12)


@given(st.floats(), LEADS)
@example(5e-324, [0])
@example(math.nan, [0])
def test_whatever_precision_is_asked_for_it_is_refused_or_told(
    within: float, leads: list[int]
) -> None:
    assert refused_or_told({"precision": within}, leads, 31)


@pytest.mark.parametrize(
    ("stop", "told"),
    [
        ({"sequential": 5e-324}, "sequential: a chance of an error is 1e-09 at the least and"),
        ({"sequential": 0.5}, "below 0.5, as 0.05, not 0.5"),
        ({"sprt": "0,10,5e-324,0.05"}, "sprt: a chance of an error is 1e-09 at the least"),
        ({"sprt": "0,10,0.05,0.7"}, "below 0.5, as 0.05, not 0.7"),
        ({"sprt": "0,1e-14"}, "sprt: elo1 is at least 0.01 above elo0, as in 0,10, not 1e-14"),
        ({"sprt": "10,0"}, "sprt: elo0 is below elo1, as in 0,10"),
        ({"sprt": "0,700"}, "sprt: Elo is from -600 to 600, not 700"),
        ({"sprt": "nan,700"}, "sprt: Elo is from -600 to 600, not nan"),
    ],
)
def test_a_number_that_no_rule_takes_is_told_in_words(stop: dict[str, Any], told: str) -> None:
    asked = of({"bots": ["a", "b"], "stop": stop})
    assert asked.stop
    with pytest.raises(SpecError) as raised:
        plan(2, stop=stop, blocks=200)
    assert told in str(raised.value)
    assert raised.value.field == "stop"
