"""What is said of many: who leads, over whom for sure, and in what groups the others stand."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from msgspec import structs
from tests.arena.report.test_gather import gathered, planned
from tests.arena.statistics.simulated import World

from ronda_arena.report import order
from ronda_arena.report.comparison import Comparison
from ronda_arena.report.order import Order
from ronda_arena.report.summary import Summary
from ronda_arena.statistics.estimate import Estimate

LEADS = Estimate(2.0, 1.0, 3.0, 40)
AHEAD = "a leads, 2.0 points a hand above the mean of all (95 %: 1.0 to 3.0; 40 blocks)"
OPEN = "of b it cannot be said yet. Nobody is surely stronger than it."
SURELY = (
    "Surely: to 95 % for all {} together (Bonferroni). Every interval is one of 95 % by itself: "
    "of twenty pairs of equals one looks different."
)


def made(names: str, *sure: str) -> Order:
    """Return an order of entrants of one letter; `sure` are pairs such as "ac"."""
    told = tuple(names)
    places = frozenset((told.index(one), told.index(other)) for one, other in sure)
    return Order(told, places, len(told) * (len(told) - 1) // 2, True)


def steps(names: str, apart: int) -> Order:
    """Return an order in which everybody is surely stronger than who is so far below."""
    return made(names, *(f"{a}{b}" for a, b in combinations(names, 2) if ord(b) - ord(a) >= apart))


def told(one: Order) -> list[str]:
    return list(order.sentences(one, LEADS, "hand"))


def played(skills: list[float], each: int) -> Summary:
    names = " ".join(f"bot{at:02}" for at in range(len(skills)))
    world = World(names, skills=skills)
    return gathered(planned(names), world.blocks(np.random.default_rng(3), each))


def test_who_leads_says_over_whom_it_is_sure_and_over_whom_not() -> None:
    assert told(made("abcd", "ac", "ad", "bd", "bc")) == [
        f"{AHEAD}, and is surely stronger than 2 of 3 others; {OPEN}",
        "In groups, everybody surely stronger than all in later ones: a and b; then c and d.",
        SURELY.format("6 comparisons"),
    ]
    assert told(made("abc", "ab", "ac", "bc"))[:2] == [
        f"{AHEAD}, and is surely stronger than both others.",
        "The whole order is shown: each is surely stronger than all below it.",
    ]
    assert told(made("abcd", "cd"))[0] == f"{AHEAD}, but is surely stronger than nobody yet."


def test_where_nothing_is_shown_that_is_what_is_said() -> None:
    (said,) = told(made("abcd"))
    assert said == (
        "None of the 4 is shown to be stronger than another yet, all 6 comparisons taken together: "
        f"{AHEAD}, which may be chance."
    )


def test_where_nobody_is_apart_from_the_next_the_ends_are_told() -> None:
    said = told(steps("abcdefgh", 4))
    assert said[1] == "Each of a and b is surely stronger than each of f, g and h."
    assert next(order.together(steps("abcdefgh", 4))) == (
        "It cannot be said yet who is stronger of a, b, c and d; nor of b, c, d and e; nor of "
        "c, d, e and f; nor of d, e, f and g; nor in 1 more run down the table."
    )


def test_groups_that_are_alike_inside_are_not_told_twice() -> None:
    groups = made("abcd", "ac", "ad", "bd", "bc")
    assert list(order.together(groups)) == ["Within a group it cannot be said yet who is stronger."]
    assert order.runs(groups) == [(0, 1), (2, 3)]
    assert list(order.together(made("abcd"))) == []


def test_more_than_six_are_counted() -> None:
    many = made("abcdefghi", *(f"{one}i" for one in "abcdefgh"))
    assert (
        "In groups, everybody surely stronger than all in later ones: the 8 from a to h; "
        in (told(many)[1])
    )
    assert order.listed("abcdefgh") == "a, b, c, d, e and 3 others"


@pytest.mark.parametrize("count", [3, 12])
def test_near_equal_bots_are_told_in_a_sentence_and_not_in_eleven(count: int) -> None:
    summary = played([0.0] * count, 10)
    assert summary.sentences[0].startswith(f"None of the {count} is shown to be stronger")
    doubts = [one for one in summary.sentences if one.startswith("It cannot be said yet whether b")]
    assert len(doubts) == (2 if count == 3 else 0)


def test_twelve_in_groups_begin_with_who_leads_and_what_is_sure() -> None:
    skills = [8, 7.9, 7.8, 4, 3.9, 3.8, 0, -0.1, -0.2, -5, -5.1, -9]
    summary = played(skills, 40)
    leader = summary.ratings[0].entrant
    assert re.match(
        rf"{leader} leads, [\d.]+ points a hand above the mean of all \(95 %: [\d.]+ to [\d.]+; "
        r"440 blocks\), and is surely stronger than 9 of 11 others; of bot\d+ and bot\d+ it cannot",
        summary.sentences[0],
    )
    assert summary.sentences[1].startswith("In groups, everybody surely stronger")
    assert summary.sentences[1].count("; then ") == 4
    assert SURELY.format("66 comparisons") in summary.sentences
    assert "Within a group it cannot be said yet who is stronger." in summary.sentences
    assert sum(" is stronger than " in one for one in summary.sentences) == 4


def test_what_is_said_of_neighbours_is_what_all_together_show() -> None:
    """Alone an interval leaves out zero in one of twenty cases: among many that is nothing yet."""
    seen = 0
    for seed in range(20):
        world = World("a b c", skills=(1.2, 0.6, 0))
        summary = gathered(planned("a b c"), world.blocks(np.random.default_rng(seed), 30))
        chance = [one for one in summary.sentences if "may be chance among so many" in one]
        assert all(one.startswith("It cannot be said yet whether") for one in chance)
        seen += len(chance)
    assert seen


def test_of_more_than_sixty_the_first_alone_is_compared_with_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(order, "MOST", 5)
    summary = played([9, 0, 0, 0, 0, -9], 20)
    assert "bot00 leads" in summary.sentences[0]
    assert "surely stronger than all 5 others" in summary.sentences[0]
    assert summary.sentences[1] == SURELY.format("15 comparisons")


@pytest.mark.parametrize("challengers", [1, 2])
def test_a_gauntlet_begins_with_how_many_a_challenger_surely_beats(challengers: int) -> None:
    names = "new old a b c d e"
    own = structs.replace(planned(names), format="gauntlet", challengers=challengers)
    world = World(names, skills=[4, 4, -6, -6, 4, 4, 14])
    met = [(one, other) for one in range(challengers) for other in range(challengers, 7)] * 40
    rng = np.random.default_rng(5)
    summary = gathered(own, [world.block(rng, number, pair) for number, pair in enumerate(met)])
    many = 7 - challengers
    for said in summary.sentences[:challengers]:
        assert re.match(
            rf"(new|old) is surely stronger than 2 of the {many} that it met, surely weaker "
            r"than 1; of .* it cannot be said yet\.",
            said,
        )
    assert SURELY.format(f"{challengers * many} comparisons") in summary.sentences


def test_a_gauntlet_in_which_all_went_one_way_says_so() -> None:
    def against(*by: float) -> list[str]:
        met = [
            Comparison("new", f"old{at}", Estimate(one, one - 1, one + 1, 9), None, 2, abs(one) > 1)
            for at, one in enumerate(by)
        ]
        return list(order.challenged(met))

    assert against(2, 3)[0] == "new is surely stronger than both that it met."
    assert against(-2, -3, -4)[0] == "new is surely weaker than all 3 that it met."
    assert against(2, -3)[0] == (
        "new is surely stronger than 1 of the 2 that it met, surely weaker than 1."
    )
    assert against(0, 0.5) == ["Of new nothing is shown yet against the 2 that it met."]
