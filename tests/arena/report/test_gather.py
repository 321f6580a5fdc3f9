"""What a tournament came to, from its blocks: never nan, and the same bytes for the same blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from math import isfinite
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.arena.statistics.simulated import POOLS, World, blocks, duel, game

from ronda_arena.report import csv, tables
from ronda_arena.report.summary import Summary, Timing, Verdict, gather, to_json
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.tournament.results import Block
from ronda_arena.tournament.spec import Plan, Spec, Stop, plan
from ronda_arena.tournament.stops import FEWEST

TIMING = Timing(1.5, 0, 0, ())
PLAYERS = pytest.mark.parametrize("players", [2, 3, 4])


def planned(names: str, players: int = 2, hands: int = 1, stop: Stop | None = None) -> Plan:
    rules = "cafe" if players == 3 else "playtash"
    spec = Spec(
        bots=tuple(names.split()),
        players=players,  # type: ignore[arg-type] # 2, 3 or 4
        rules=rules,
        hands=hands,
        seed=1,
        stop=stop or Stop(),
    )
    return plan(spec, lambda name: name, lambda: "")


def gathered(
    own: Plan, told: Sequence[Block] | Iterator[Block], verdict: Verdict | None = None, **more: Any
) -> Summary:
    given_ = {"state": "finished", "planned": None, "placings": (), "timing": TIMING, **more}
    return gather(own, told, verdict=verdict, **given_)


def text(summary: Summary) -> str:
    return json.dumps(to_json(summary), allow_nan=False)


def numbers(data: Any) -> Iterator[float]:
    if isinstance(data, dict):
        for value in data.values():
            yield from numbers(value)
    elif isinstance(data, list):
        for value in data:
            yield from numbers(value)
    elif isinstance(data, float):
        yield data


def estimates(data: Any) -> Iterator[dict[str, Any]]:
    if isinstance(data, dict):
        if {"value", "low", "high", "blocks"} <= data.keys():
            yield data
        for value in data.values():
            yield from estimates(value)
    elif isinstance(data, list):
        for value in data:
            yield from estimates(value)


@PLAYERS
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_no_results_make_a_number_that_is_none_or_lacks_its_interval(
    players: int, data: st.DataObject
) -> None:
    told = to_json(gathered(planned(POOLS[players], players), data.draw(blocks(players))))
    assert all(isfinite(number) for number in numbers(told))
    for one in estimates(told):
        if one["value"] is None:
            assert one["low"] is one["high"] is None
        else:
            assert one["low"] <= one["value"] <= one["high"]
            assert one["blocks"] >= 2
    for sentence in told["sentences"]:
        assert "nan" not in sentence
        assert "inf " not in sentence


@PLAYERS
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_the_order_of_the_blocks_changes_no_byte_but_of_the_progress(
    players: int, data: st.DataObject
) -> None:
    told = data.draw(blocks(players))
    other = data.draw(st.permutations(told))
    own = planned(POOLS[players], players)
    one, two = (replace(gathered(own, each), progress=()) for each in (told, other))
    assert text(one) == text(two)


@PLAYERS
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_renamed_and_reordered_entrants_have_the_same_results(
    players: int, data: st.DataObject
) -> None:
    told = data.draw(blocks(players))
    names = POOLS[players].split()
    order = data.draw(st.permutations(range(len(names))))
    moved = [
        replace(block, entrants=tuple(order.index(at) for at in block.entrants)) for block in told
    ]
    one = gathered(planned(" ".join(names), players), told)
    two = gathered(planned(" ".join(names[at] for at in order), players), moved)
    rows = {row.entrant: row for row in two.ratings}
    for row in one.ratings:
        other = rows[row.entrant]
        assert replace(row, margin=other.margin, elo=other.elo) == other
        for mine, its in ((row.margin, other.margin), (row.elo, other.elo)):
            assert mine.known == its.known
            if mine.known:
                assert mine[:3] == pytest.approx(its[:3], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("players", [2, 4])
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_mirrored_results_mirror_every_number(players: int, data: st.DataObject) -> None:
    told = data.draw(blocks(players))
    mirrored = [
        replace(
            block,
            games=tuple(
                game(
                    one.rotation,
                    one.dealer,
                    one.scores[::-1],
                    None if one.fault is None else (one.fault.seat + 1) % players,
                    one.luck and one.luck[::-1],
                )
                for one in block.games
            ),
        )
        for block in told
    ]
    own = planned(POOLS[players], players)
    one, two = gathered(own, told), gathered(own, mirrored)
    rows = {row.entrant: row for row in two.ratings}
    for row in one.ratings:
        other = rows[row.entrant].margin
        assert row.margin.known == other.known
        if row.margin.known:
            assert row.margin[:3] == pytest.approx(
                [-other.value, -other.high, -other.low], rel=1e-6, abs=1e-6
            )


def test_two_entrants_are_compared_in_words_with_interval_and_count() -> None:
    told = World("a@1 b@1", skills=(6, 0)).blocks(np.random.default_rng(1), 100)
    summary = gathered(planned("a@1 b@1"), told)
    first = summary.ratings[0].margin
    assert first.value is not None
    [pair] = summary.pairs
    assert pair.margin.value is not None
    assert summary.sentences[0].startswith(
        f"a@1 is stronger than b@1 by {pair.margin.value:.1f} points a hand (95 %: "
    )
    assert summary.sentences[0].endswith("; 100 blocks).")


def test_what_is_not_sure_is_called_so() -> None:
    told = World("a b").blocks(np.random.default_rng(1), 10)
    sentences = gathered(planned("a b", hands=0), told).sentences
    assert sentences[0].startswith("It cannot be said yet whether ")
    assert " points a game (95 %: -" in sentences[0]
    assert "It cannot be said yet whether the place at the table matters." in sentences


def test_a_worth_of_the_first_dealers_place_is_told() -> None:
    told = World("a b", places=(0, 4)).blocks(np.random.default_rng(1), 200)
    summary = gathered(planned("a b"), told)
    [seat] = [one for one in summary.sentences if one.startswith("Strength set aside")]
    assert seat.startswith(
        "Strength set aside, the side that deals first is behind the other by 4."
    )
    dealer, other = summary.positions
    assert dealer.share.high is not None
    assert other.share.low is not None
    assert dealer.share.high < 0.5 < other.share.low


def test_nothing_played_and_one_block_are_said_to_be_too_little() -> None:
    own = planned("a b c")
    nothing = gathered(own, [])
    assert nothing.sentences == ("No block is over yet: there is nothing to say.",)
    assert (nothing.blocks, nothing.positions, nothing.progress) == (0, (), ())
    one = gathered(own, [duel((9, 2), (8, 3))], state="running", planned=60)
    assert one.sentences[0].startswith("There are too few blocks to compare a with b: 1")
    assert any("So far 1 of 60 blocks" in sentence for sentence in one.sentences)
    assert one.ratings[-1].margin == Estimate(None, None, None, 0)


def test_of_whom_too_little_is_known_comes_last_by_wins_and_has_no_rank() -> None:
    told = [duel((9, 2), (8, 3)), duel((5, 3), (6, 3))] * 3
    told += [duel((2, 9), (3, 8), pairing=(2, 3))]
    summary = gathered(planned("a b c d e"), told)
    ranks = [(row["#"], row["entrant"]) for row in tables.ratings(summary)]
    assert ranks == [("1", "a"), ("2", "b"), ("-", "d"), ("-", "c"), ("-", "e")]
    lines = [line.split(",")[:2] for line in csv.ratings(summary).splitlines()[1:]]
    assert lines == [["1", "a"], ["2", "b"], ["", "d"], ["", "c"], ["", "e"]]


def test_faults_are_told_by_bot_and_cause_also_in_teams() -> None:
    # In rotation 0 the team a+b has seats 0 and 2, in rotation 1 seats 1 and 3.
    games = [game(0, 0, (3, 4), guilty=2), game(1, 0, (3, 4), guilty=1)]
    games += [game(2, 0, (3, 4)), game(3, 0, (3, 4), guilty=0)]
    summary = gathered(planned("a+b c", 4), [Block(0, (0, 1), tuple(games))])
    rows = {row.bot: row for row in summary.faults}
    assert (rows["a"].causes, rows["b"].causes, rows["c"].causes) == (
        {"crash": 1},
        {"crash": 1},
        {"crash": 1},
    )
    assert {row.games for row in summary.faults} == {4}
    assert "b lost 1 of 4 games by a fault of its own: 1 crash." in summary.sentences
    assert {row.bot for row in summary.bots} == {"a", "b", "c"}


def test_three_who_draw_share_the_win_and_places_among_them_count() -> None:
    games = [game(0, 0, (5, 5, 1)), game(1, 0, (1, 5, 5)), game(2, 0, (5, 1, 5))]
    summary = gathered(planned("a b c", 3), [Block(0, (0, 1, 2), tuple(games))])
    told = {row.entrant: (row.won, row.drawn, row.lost) for row in summary.ratings}
    assert told == {"a": (0, 3, 0), "b": (0, 3, 0), "c": (0, 0, 3)}
    pairs = {(row.first, row.second): (row.won, row.drawn, row.lost) for row in summary.pairs}
    assert pairs == {("a", "b"): (0, 3, 0), ("a", "c"): (3, 0, 0), ("b", "c"): (3, 0, 0)}


def test_a_verdict_speaks_first_with_its_own_estimate() -> None:
    told = list(World("a b", skills=(6, 0)).blocks(np.random.default_rng(1), 30))
    verdict = Verdict("sequential", "a is stronger than b", 30, Estimate(5.0, 2.0, 8.0, 30))
    summary = gathered(planned("a b", stop=Stop(sequential=0.05)), told, verdict, state="stopped")
    assert summary.sentences[0] == (
        "a is stronger than b by 5.0 points a hand (95 %: 2.0 to 8.0; 30 blocks), "
        "which allows for the looks of the stop rule."
    )
    assert "Stop rule (sequential) after 31 blocks: a is stronger than b." in summary.sentences
    assert any("at most 0.05 of such tournaments" in one for one in summary.sentences)


def test_a_precision_says_when_it_looked_and_what_it_asked_for() -> None:
    told = list(World("a b").blocks(np.random.default_rng(1), 45))
    verdict = Verdict("precision", "all is known", 44, Estimate(None, None, None, 45))
    summary = gathered(planned("a b", stop=Stop(precision=1)), told, verdict, state="stopped")
    assert "Stop rule (precision) after 45 blocks: all is known." in summary.sentences
    assert (
        "The tournament stops when half of the interval of every rating is at most 1 point a hand. "
        f"It looks at whole blocks in the order of the schedule, and not before every entrant has "
        f"{FEWEST}: from fewer an interval is too often too narrow."
    ) in summary.sentences


def test_the_version_that_counted_is_told() -> None:
    assert to_json(gathered(planned("a b"), []))["ronda"] == version("ronda")


def test_only_timing_may_differ_between_two_runs() -> None:
    told = list(World("a b c").blocks(np.random.default_rng(1), 5))
    one, two = (
        to_json(gathered(planned("a b c"), iter(told), timing=Timing(seconds, 1, 0, ())))
        for seconds in (1.0, 2.0)
    )
    assert list(one)[-1] == "timing"
    assert one.pop("timing") != two.pop("timing")
    assert json.dumps(one) == json.dumps(two)


@pytest.mark.parametrize("known", [True, False])
def test_progress_has_some_forty_steps_and_ends_at_the_last_block(known: bool) -> None:
    told = list(World("a b").blocks(np.random.default_rng(1), 333))
    summary = gathered(planned("a b"), told, planned=333 if known else None)
    assert len(summary.progress) <= 41
    assert summary.progress[-1].blocks == 333
    rows = {row.entrant: row.margin for row in summary.ratings}
    assert summary.progress[-1].margins == (rows["a"], rows["b"])


def test_what_is_kept_does_not_grow_with_the_blocks() -> None:
    rng = np.random.default_rng(1)
    few, many = (World("a b c d", players=3).played(rng, each) for each in (3, 60))
    assert len(few.kinds().clusters) == len(many.kinds().clusters) == 4
    assert few._table.nbytes == many._table.nbytes
