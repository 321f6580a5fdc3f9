"""A round robin: every block is one deal from both sides, and one number of evidence."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.bots.tables import info

from ronda_arena.roundrobin import RoundRobin, standings
from ronda_bots.careful import Careful
from ronda_bots.greedy import Greedy
from ronda_bots.random import Random
from ronda_core.fair import seeded_master
from ronda_core.match import Cause, Fault
from ronda_core.record import Record, write
from ronda_core.rules import settings
from ronda_core.verify import verify

NOW = "2026-01-01T00:00:00Z"
BOTS = (info(Random), info(Greedy), info(Careful))


def robin(blocks: int = 2, bots: Any = BOTS, rules: str = "arabic", players: int = 2) -> RoundRobin:
    return RoundRobin("demo", bots, settings(rules, players), blocks)


def run(round_robin: RoundRobin, seed: int = 1) -> list[Record]:
    master = seeded_master(seed)
    return [round_robin.play(game, master, now=lambda: NOW) for game in round_robin.schedule()]


def test_pairs_meet_in_order_and_sit_on_both_sides_of_every_block() -> None:
    games = [
        (game.block, game.rotation, *(bot.name for bot in game.bots)) for game in robin().schedule()
    ]
    assert games == [
        (0, 0, "random", "greedy"),
        (0, 1, "greedy", "random"),
        (1, 0, "random", "greedy"),
        (1, 1, "greedy", "random"),
        (2, 0, "random", "careful"),
        (2, 1, "careful", "random"),
        (3, 0, "random", "careful"),
        (3, 1, "careful", "random"),
        (4, 0, "greedy", "careful"),
        (4, 1, "careful", "greedy"),
        (5, 0, "greedy", "careful"),
        (5, 1, "careful", "greedy"),
    ]


@pytest.mark.parametrize("rules", ["arabic", "playtash", "cafe", "pagat"])
def test_both_games_of_a_block_share_their_decks_and_no_other_game_does(rules: str) -> None:
    records = run(robin(rules=rules))
    blocks = list(zip(records[::2], records[1::2], strict=True))
    seen = set()
    for one, other in blocks:
        assert one.block == other.block
        for mine, yours in zip(one.hands, other.hands, strict=False):
            assert mine.deck == yours.deck
            assert mine.dealer == yours.dealer
        longest = max(one.hands, other.hands, key=len)
        decks = {hand.deck for hand in longest}
        assert not decks & seen
        seen |= decks
    assert all(verify(record).proven for record in records)
    assert len({record.id for record in records}) == len(records)


def test_a_seeded_round_robin_is_a_function_of_its_inputs_and_its_games_of_theirs() -> None:
    lines = [write(record) for record in run(robin())]
    assert lines == [write(record) for record in run(robin())]
    assert lines != [write(record) for record in run(robin(), 2)]
    # Played last to first, by whoever: the same games.
    games = list(robin().schedule())
    master = seeded_master(1)
    backwards = [write(robin().play(game, master, now=lambda: NOW)) for game in reversed(games)]
    assert backwards[::-1] == lines


def test_the_deals_do_not_depend_on_the_order_in_which_bots_are_named() -> None:
    one = run(robin(1))[0]
    other = run(robin(1, bots=BOTS[::-1]))[0]
    assert one.hands[0].deck == other.hands[0].deck


def test_the_better_bot_stands_first_and_a_bot_that_meets_itself_would_be_even() -> None:
    table = standings(run(robin(25)))
    assert [row.bot for row in table] == ["careful@1.0.0", "greedy@1.0.0", "random@1.0.0"]
    best = table[0]
    assert best.games == 100
    assert best.wins + best.draws + best.losses == 100
    assert best.margin.count == 50
    assert best.margin.interval is not None
    assert best.margin.interval.low > 0
    twins = (info(Greedy, "one"), info(Greedy, "two"))
    for row in standings(run(robin(5, bots=twins))):
        assert row.margin.value == 0
        assert row.margin.half_width == 0


def test_one_block_is_too_few_for_an_interval_and_says_so() -> None:
    table = standings(run(robin(1, bots=BOTS[:2])))
    for row in table:
        assert row.margin.count == 1
        assert str(row.margin).endswith("(too few)")
        assert row.margin.to_json()["low"] is None
    text = json.dumps([row.to_json() for row in table], allow_nan=False)
    assert "NaN" not in text


def test_half_a_block_counts_as_a_game_but_not_as_evidence() -> None:
    records = run(robin(1, bots=BOTS[:2]))
    for row in standings(records[:1]):
        assert row.games == 1
        assert row.margin.count == 0
        assert str(row.margin) == "too few"
    assert standings([]) == ()


def block(*games: tuple[tuple[int, int], Fault | None]) -> list[Record]:
    """Records of one block: scores by participant, random first, and who forfeited."""
    records = run(robin(1, bots=BOTS[:2]))
    made = []
    for record, (scores, fault) in zip(records, games, strict=True):
        swapped = record.rotation == 1
        score = scores[::-1] if swapped else scores
        side = None if score[0] == score[1] else score.index(max(score))
        winner = 1 - fault.seat if fault else side
        made.append(replace(record, score=score, winner=winner, fault=fault))
    return made


@pytest.mark.parametrize(
    ("games", "mean"),
    [
        ([((10, 4), None), ((3, 5), None)], 2.0),
        # Random (seat 0, then 1) forfeits while ahead: its other game is worse, and counts twice.
        ([((9, 0), Fault(0, Cause.CRASH)), ((3, 5), None)], -2.0),
        # It forfeits while far behind: that is worse than its other game.
        ([((0, 9), Fault(0, Cause.CRASH)), ((6, 5), None)], -4.0),
        # Greedy forfeits while ahead; its other game it has lost by one.
        ([((6, 5), None), ((0, 9), Fault(0, Cause.CRASH))], 1.0),
        # Both games forfeited by the same bot: each counts as it stood.
        ([((2, 5), Fault(0, Cause.CRASH)), ((4, 5), Fault(1, Cause.CRASH))], -2.0),
    ],
)
def test_a_forfeit_never_gains_by_its_margin(games: Any, mean: float) -> None:
    table = {row.bot: row for row in standings(block(*games))}
    assert table["random@1.0.0"].margin.value == mean
    assert table["greedy@1.0.0"].margin.value == -mean
    assert sum(row.forfeits for row in table.values()) == sum(
        fault is not None for _, fault in games
    )


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: robin(0),
        lambda: robin(bots=BOTS[:1]),
        lambda: robin(bots=(BOTS[0], BOTS[0])),
        lambda: robin(rules="cafe", players=3),
    ],
)
def test_what_is_no_round_robin_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):
        wrong()
