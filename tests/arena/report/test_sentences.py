"""Sentences about numbers: what was counted, who is level, and no decision rounded away."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from msgspec import structs
from tests.arena.report.test_gather import gathered, planned
from tests.arena.statistics.simulated import World, duel

from ronda_arena.report import page, reading, tables, words
from ronda_arena.report.comparison import Comparison, compared
from ronda_arena.report.summary import Summary
from ronda_arena.statistics.estimate import Estimate


def told(value: float, low: float, high: float, blocks: int = 40, met: int | None = None) -> str:
    return compared(Comparison("a", "b", Estimate(value, low, high, blocks), met), "game")


def test_of_two_among_others_both_counts_are_told() -> None:
    assert told(2.0, 1.0, 3.0, met=10) == (
        "a is stronger than b by 2.0 points a game "
        "(95 %: 1.0 to 3.0; 40 blocks of one or the other, 10 of them against each other)."
    )
    assert told(2.0, 1.0, 3.0, met=0).endswith(
        "; 40 blocks of one or the other, none of them against each other)."
    )
    few = Comparison("a", "b", Estimate(None, None, None, 3), 1)
    assert compared(few, "game") == (
        "There are too few blocks to compare a with b: "
        "3 of one or the other, 1 of them against each other."
    )
    assert told(2.0, 1.0, 3.0, met=40).endswith("; 40 blocks).")
    assert told(2.0, 1.0, 3.0, blocks=1).endswith("; 1 block).")


def test_a_round_robin_tells_how_often_two_neighbours_met() -> None:
    blocks = World("a b c", skills=(6, 3, 0)).blocks(np.random.default_rng(1), 20)
    summary = gathered(planned("a b c"), blocks)
    met = {(row.first, row.second): row.margin.blocks for row in summary.pairs}
    told = next(one for one in summary.sentences if one.startswith("a is stronger than b"))
    first = re.search(r"; (\d+) blocks of one or the other, (\d+) of them", told)
    assert first is not None
    assert int(first[2]) == met["a", "b"]
    all_of_one, all_of_other = (row.blocks for row in summary.ratings[:2])
    assert int(first[1]) == all_of_one + all_of_other - met["a", "b"]


@pytest.mark.parametrize(
    ("low", "high", "numbers"),
    [
        (0.04, 4.3, "by 2.20 points a game (95 %: 0.04 to 4.30;"),
        (0.0004, 4.3, "by 2.2000 points a game (95 %: 0.0004 to 4.3000;"),
        (-0.03, 4.3, "by 2.20 points a game (95 %: -0.03 to 4.30;"),
        (0.1, 4.3, "by 2.2 points a game (95 %: 0.1 to 4.3;"),
    ],
)
def test_an_end_that_is_not_zero_is_never_told_as_zero(
    low: float, high: float, numbers: str
) -> None:
    assert numbers in told(2.2, low, high)
    assert told(2.2, low, high).startswith("a is stronger" if low > 0 else "It cannot be said")


def test_less_than_is_told_anywhere_shows_nothing() -> None:
    assert told(2.2, 1e-9, 4.3).startswith("It cannot be said yet")


@pytest.mark.parametrize("value", [0.0, 0.004, -0.004])
def test_nobody_is_ahead_by_nothing(value: float) -> None:
    assert re.fullmatch(
        r"It cannot be said yet whether ([ab]) or ([ab]) is stronger: in points a game they are "
        r"level \(95 %: -2\.0 to 2\.0; 40 blocks\)\.",
        told(value, -2.0, 2.0),
    )


def test_places_that_are_level_are_called_so() -> None:
    blocks = [duel((9, 9), (9, 9)) for _ in range(4)]
    seat = [one for one in gathered(planned("a b"), blocks).sentences if "Strength set" in one]
    assert seat[0].startswith(
        "Strength set aside, the side that deals first and the other are level in points a hand (95"
    )


def test_tables_have_as_many_digits_as_the_end_nearest_to_zero_needs() -> None:
    assert words.interval(Estimate(2.2, 0.0004, 4.3, 9), words.points) == "+0.0004 to +4.3000"
    assert words.value(Estimate(2.2, 0.0004, 4.3, 9), words.points) == "+2.2000"
    assert words.interval(Estimate(40.0, -0.3, 80.3, 9), words.elo) == "-0.3 to +80.3"
    assert words.interval(Estimate(2.2, 0.0, 4.3, 9), words.points) == "0.00 to +4.30"
    assert words.interval(Estimate(0.4, 0.004, 0.9, 9), words.share) == "0.4 % to 90.0 %"


def test_there_is_a_space_before_every_sign_of_per_cent() -> None:
    blocks = World("a b", skills=(6, 0)).blocks(np.random.default_rng(1), 40)
    summary = gathered(planned("a b"), blocks)
    text = " ".join(summary.sentences)
    assert re.search(r"leaves \d+ % \(95 %: \d+ to \d+; 40 blocks\) of the variance", text)
    assert not re.search(r"\d%", text)
    body = page.render(summary).partition("</head>")[2]
    assert not re.search(r"\d%", re.sub(r"<[^>]*>", "", body))


def gauntlet(names: str, challengers: int, each: int) -> Summary:
    """Return a gauntlet in which who stands earlier in the list is stronger."""
    own = structs.replace(planned(names), format="gauntlet", challengers=challengers)
    count = len(names.split())
    world = World(names, skills=[2.0 * (count - at) for at in range(count)])
    met = list(product(range(challengers), range(challengers, count))) * each
    rng = np.random.default_rng(1)
    return gathered(own, [world.block(rng, number, pair) for number, pair in enumerate(met)])


@pytest.mark.parametrize("challengers", [1, 2])
def test_a_gauntlet_tells_each_challenger_against_each_other_by_what_they_did_together(
    challengers: int,
) -> None:
    summary = gauntlet("new old a b c", challengers, 20)
    names = ["new", "old", "a", "b", "c"]
    asked = set(product(names[:challengers], names[challengers:]))
    told = [one for one in summary.sentences if " is stronger" in one]
    found = [re.findall(r"\b(?:new|old|a|b|c)\b(?= (?:is|or|by))", one)[:2] for one in told]
    assert {frozenset(pair) for pair in found} == {frozenset(pair) for pair in asked}
    assert all("; 20 blocks)" in one for one in told)
    assert {(row["first"], row["second"]) for row in tables.pairs(summary)} == asked


def test_a_long_gauntlet_tells_twelve_and_points_to_the_table() -> None:
    summary = gauntlet(" ".join(["new", *(f"old{at}" for at in range(60))]), 1, 8)
    lead = re.match(
        r"new is surely stronger than (\d+) of the 60 that it met; ", summary.sentences[0]
    )
    assert lead is not None
    assert sum(one.startswith("new is stronger than") for one in summary.sentences) == 12
    assert f"The other {int(lead[1]) - 12} are in the table of pairs." in summary.sentences
    assert len(tables.pairs(summary)) == reading.MOST_PAIRS < len(reading.paired(summary)) == 60


@pytest.mark.parametrize(("names", "rows"), [("a b", 0), ("a b c", 3), ("a b c d e f g h i", 0)])
def test_few_entrants_have_a_table_of_pairs_the_stronger_first(names: str, rows: int) -> None:
    count = len(names.split())
    world = World(names, skills=tuple(range(count)))
    summary = gathered(planned(names), world.blocks(np.random.default_rng(1), 5))
    order = [row.entrant for row in summary.ratings]
    table = tables.pairs(summary)
    assert len(table) == rows
    assert all(order.index(row["first"]) < order.index(row["second"]) for row in table)


def test_it_is_said_which_blocks_are_unpaired_and_why() -> None:
    paired, apart = World("a b c", skills=(6, 3, 0)), World("a b c", paired=False)
    rng = np.random.default_rng(1)
    own = structs.replace(planned("a b c"), remote=("c",))
    blocks = [
        (apart if 2 in pair else paired).block(rng, number, pair)
        for number, pair in enumerate([(0, 1), (0, 2), (1, 2)] * 20)
    ]
    some = gathered(own, blocks).sentences
    assert (
        "c plays remotely, where a deal could be remembered: so wherever it sits, every rotation"
        " has deals of its own. 40 of 60 blocks are unpaired." in some
    )
    assert any(one.startswith("Dealing the same hands in every rotation") for one in some)
    assert some[-1].endswith("and games where each has deals of its own.")

    own = structs.replace(planned("a b c"), remote=("a", "b", "c"))
    every = gathered(own, apart.blocks(rng, 1)).sentences
    assert (
        "a, b, c play remotely, where a deal could be remembered: so wherever one of them sits,"
        " every rotation has deals of its own. 3 of 3 blocks are unpaired." in every
    )
    assert not any("the same hands in every rotation" in one for one in every)

    none = gathered(planned("a b c"), paired.blocks(rng, 1)).sentences
    assert not any("remotely" in one for one in none)
    assert none[-1].endswith("because the games of a block share their deals.")
