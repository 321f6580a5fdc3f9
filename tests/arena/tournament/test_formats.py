"""Who meets whom, against lists made by brute force and against what each format promises."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter
from itertools import combinations, islice, permutations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.arena.tournament.plans import plan, rounds

from ronda_arena.tournament.entrants import seats
from ronda_arena.tournament.formats import tasks
from ronda_arena.tournament.formats.choice import format_of
from ronda_arena.tournament.spec import Plan, SpecError


def games(made: Plan) -> list[tuple[int, int, tuple[str, ...]]]:
    """Return block, rotation and bots by seat of every game, in schedule order."""
    round_ = format_of(made).next([])
    assert round_ is not None
    return [
        (
            task.block,
            task.rotation,
            seats([made.entrants[at] for at in task.entrants], task.rotation, made.players),
        )
        for task in tasks(made, round_, 0)
    ]


@pytest.mark.parametrize("players", [2, 3, 4])
def test_a_round_robin_seats_every_table_that_there_is_in_every_rotation(players: int) -> None:
    made = plan(5, players=players, rules="cafe", blocks=2)
    names = [entrant.name for entrant in made.entrants]
    expected = []
    number = 0
    for _ in range(2):
        for table in combinations(names, 3 if players == 3 else 2):
            seated = table if players < 4 else table * 2
            for rotation in range(3 if players == 3 else 2):
                turned = [""] * players
                for at, name in enumerate(seated):
                    turned[(at + rotation) % players] = name
                expected.append((number, rotation, tuple(turned)))
            number += 1
    assert games(made) == expected
    assert format_of(made).planned == number


def test_a_gauntlet_of_two_seats_is_every_challenger_against_everybody_else() -> None:
    made = plan(6, format="gauntlet", challengers=2, blocks=1)
    met = [bots for _, rotation, bots in games(made) if rotation == 0]
    brute = [
        (f"bot{first}@1", f"bot{second}@1")
        for first, second in product(range(6), repeat=2)
        if first < 2 <= second
    ]
    assert met == brute
    turned = [bots for _, rotation, bots in games(made) if rotation == 1]
    assert turned == [bots[::-1] for bots in brute]


def test_a_gauntlet_of_three_seats_is_every_challenger_with_every_two_others() -> None:
    made = plan(5, format="gauntlet", players=3, rules="cafe", blocks=1)
    met = {frozenset(bots) for _, _, bots in games(made)}
    brute = {
        frozenset(f"bot{at}@1" for at in table) for table in permutations(range(5), 3) if 0 in table
    }
    assert met == brute
    assert len(games(made)) == 3 * len(brute)


def test_mixed_teams_meet_in_four_rotations_and_teams_of_one_bot_in_two() -> None:
    made = plan(["a+b", "c", "d"], players=4, blocks=1)
    by_block: dict[int, list[tuple[str, ...]]] = {}
    for block, _, bots in games(made):
        by_block.setdefault(block, []).append(bots)
    assert by_block == {
        0: [
            ("a@1", "c@1", "b@1", "c@1"),
            ("c@1", "a@1", "c@1", "b@1"),
            ("b@1", "c@1", "a@1", "c@1"),
            ("c@1", "b@1", "c@1", "a@1"),
        ],
        1: [
            ("a@1", "d@1", "b@1", "d@1"),
            ("d@1", "a@1", "d@1", "b@1"),
            ("b@1", "d@1", "a@1", "d@1"),
            ("d@1", "b@1", "d@1", "a@1"),
        ],
        2: [("c@1", "d@1", "c@1", "d@1"), ("d@1", "c@1", "d@1", "c@1")],
    }


def test_a_list_is_played_as_it_is_written() -> None:
    made = plan(4, format="list", pairings=(("bot3", "bot0"), ("bot1", "bot2")), blocks=2)
    met = [bots for _, rotation, bots in games(made) if rotation == 0]
    assert met == [("bot3@1", "bot0@1"), ("bot1@1", "bot2@1")] * 2


def test_every_pairing_is_played_once_before_any_is_played_twice() -> None:
    made = plan(5, blocks=3)
    met = [frozenset(bots) for _, rotation, bots in games(made) if rotation == 0]
    for cycle in range(3):
        assert len(set(met[10 * cycle : 10 * cycle + 10])) == 10


def test_a_schedule_of_a_hundred_million_games_takes_no_room() -> None:
    made = plan(200, players=3, rules="cafe", blocks=100)
    format_ = format_of(made)
    round_ = format_.next([])
    assert round_ is not None
    assert format_.planned == 131_340_000
    tracemalloc.start()
    for task in islice(tasks(made, round_, 0), 100_000):
        last = task
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert last.block == 33_333
    assert most < 100_000


@settings(deadline=None)  # networkx is imported by the first draw
@given(st.integers(2, 24), st.integers(1, 6), st.integers(0, 2**32), st.sampled_from([2, 3, 4]))
def test_swiss_seats_all_but_who_has_a_bye_and_nobody_rests_twice_before_all_have(
    count: int, asked: int, seed: int, players: int
) -> None:
    table = 3 if players == 3 else 2
    if count < table:
        return
    made = plan(count, format="swiss", players=players, rules="cafe", rounds=asked)
    rests: Counter[int] = Counter()
    played = 0
    for encounters in rounds(format_of(made), random.Random(seed)):
        played += 1
        seated = [entrant for one in encounters for entrant in one.pairing]
        assert len(seated) == len(set(seated)) == count - count % table
        rests.update(set(range(count)) - set(seated))
        times = [rests[entrant] for entrant in range(count)]
        assert max(times) - min(times) <= 1
    assert played == asked


@settings(deadline=None)  # networkx is imported by the first draw
@given(st.integers(4, 20), st.integers(0, 2**32))
def test_swiss_pairs_nobody_twice_in_as_many_rounds_as_it_takes(count: int, seed: int) -> None:
    made = plan(count, format="swiss")
    met: Counter[frozenset[int]] = Counter()
    for encounters in rounds(format_of(made), random.Random(seed)):
        met.update(frozenset(one.pairing) for one in encounters)
    assert max(met.values()) == 1


def test_swiss_lets_the_winners_meet() -> None:
    made = plan(8, format="swiss")
    format_ = format_of(made)
    first = next(rounds(format_, random.Random(3), drawn=0.0))
    won = {one.pairing[one.margins.index(max(one.margins))] for one in first}
    second = format_.next([first])
    assert second is not None
    tied = sum(len(set(one.margins)) == 1 for one in first)
    across = sum((a in won) != (b in won) for a, b in second.pairings())
    assert across <= tied


@pytest.mark.parametrize("count", [50, 200])
def test_swiss_of_two_hundred_is_drawn(count: int) -> None:
    made = plan(count, format="swiss")
    played = list(rounds(format_of(made), random.Random(1)))
    assert [len(encounters) for encounters in played] == [count // 2] * len(played)


@settings(deadline=None)  # networkx is imported by the first draw
@given(st.integers(2, 40), st.integers(0, 2**32), st.sampled_from([2, 3, 4]), st.floats(0, 1))
def test_a_knockout_sends_everybody_home_once_but_the_one_who_never_lost(
    count: int, seed: int, players: int, drawn: float
) -> None:
    table = 3 if players == 3 else 2
    if table == 3 and (count < 3 or count % 2 == 0):
        return
    made = plan(count, format="knockout", players=players, rules="cafe")
    format_ = format_of(made)
    played = list(rounds(format_, random.Random(seed), drawn))
    placings = format_.placings(played)
    assert sorted(placings) == list(range(count))
    last: dict[int, int] = {}
    number, before = 0, set[tuple[int, ...]]()
    for encounters in played:
        pairings = {one.pairing for one in encounters}
        number += not pairings <= before  # else it is a replay
        before = pairings
        for one in encounters:
            for entrant in one.pairing:
                last[entrant] = number
    assert last[placings[0]] == number
    # Whoever came further is placed better.
    assert [last[entrant] for entrant in placings] == sorted(last.values(), reverse=True)


@settings(deadline=None)  # networkx is imported by the first draw
@given(st.integers(2, 40), st.integers(0, 2**32))
def test_the_byes_of_a_knockout_go_to_the_first_of_the_list(count: int, seed: int) -> None:
    format_ = format_of(plan(count, format="knockout"))
    first = next(rounds(format_, random.Random(seed), drawn=0.0))
    playing = sorted(entrant for one in first for entrant in one.pairing)
    assert playing == list(range(count - len(playing), count))
    left = count - len(first)
    assert left & (left - 1) == 0  # a full bracket


def test_an_encounter_that_nobody_wins_is_played_again_three_times_and_goes_to_the_earlier() -> (
    None
):
    format_ = format_of(plan(2, format="knockout", blocks=4))
    played = []
    blocks = []
    random_ = random.Random(1)
    for encounters in rounds(format_, random_, drawn=1.1):
        played.append(encounters)
        round_ = format_.next(played[:-1])
        assert round_ is not None
        blocks.append(round_.blocks)
    assert blocks == [4, 1, 1, 1]
    assert format_.placings(played) == (0, 1)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"bots": 4, "format": "knockout", "players": 3, "rules": "cafe"}, "odd number"),
        ({"bots": 1}, "2 to 200"),
        ({"bots": 201}, "2 to 200"),
        ({"bots": ["a", "a"]}, "twice"),
        ({"bots": ["a+b", "c"]}, "four seats"),
        ({"bots": ["a+b+c", "d"], "players": 4}, "two bots"),
        ({"bots": 2, "format": "gauntlet", "challengers": 2}, "1 more"),
        ({"bots": 2, "format": "list"}, "pairings"),
        ({"bots": 2, "pairings": (("bot0", "bot1"),)}, "pairings"),
        ({"bots": 2, "format": "list", "pairings": (("bot0", "bot0"),)}, "different"),
        ({"bots": 2, "format": "list", "pairings": (("bot0", "else"),)}, "none of the bots"),
        ({"bots": 3, "stop": {"sequential": 0.05}}, "two entrants"),
        ({"bots": 2, "stop": {"precision": 0}}, "above 0"),
        ({"bots": 2, "stop": {"precision": 1, "sequential": 0.05}}, "one stop rule"),
        ({"bots": 2, "rated": True}, "seed"),
        ({"bots": 2, "clock": "soon"}, "clock"),
        ({"bots": 2, "rules": "poker"}, "rules"),
        ({"bots": 2, "players": 3}, "players"),
        ({"bots": 2, "target": 7}, "target"),
        ({"bots": 2, "block": 3}, "block"),
        ({"bots": 2, "name": "../x"}, "name"),
    ],
)
def test_what_cannot_be_played_is_refused_in_words(asked: dict[str, Any], problem: str) -> None:
    with pytest.raises(SpecError, match=problem):
        plan(**asked)
