"""Who meets next: what it would tell, within what is fair, and nobody can foresee it."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from tests.arena.ladder.pools import SECRET, Pool

from ronda_arena.ladder import pairing
from ronda_arena.ladder.facts import Joined, Left, Seated, Void
from ronda_arena.ladder.pairing import AT_ONCE, OVERDUE, choose, draw, gain


def pool(count: int, players: int = 2, **asked: object) -> Pool:
    of = random.Random(1)
    return Pool([of.gauss(25, 5) for _ in range(count)], players, **asked)  # type: ignore[arg-type] -- passed on


@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("count", [3, 12])
def test_every_pair_meets_and_every_bot_keeps_playing(count: int, players: int) -> None:
    of = pool(count, players)
    last = [0] * count
    longest = 0
    seats = of.ladder.plan.seats
    for number in range(1, 50 * count):
        found = pairing.next_pairing(of.ladder, SECRET)
        assert found is not None
        assert len(set(found[0])) == seats
        for bot in found[0]:
            longest = max(longest, number - last[bot])
            last[bot] = number
        of.block(found[0])
    met = of.ladder.pool.met[:count, :count]
    assert met[np.triu_indices(count, 1)].min() >= 2
    assert longest <= OVERDUE * count / seats + count
    most = met.max(axis=1) / met.sum(axis=1)
    assert most.max() < 2.5 / (count - 1)


def test_a_new_bot_plays_more_until_it_is_known_and_the_others_still_do() -> None:
    of = pool(20)
    of.play(800)
    of.strengths.append(30.0)
    of.take(Joined("new@1", "somebody", of.time))
    before = [bot.blocks for bot in of.ladder.bots]
    of.play(400)
    played = [bot.blocks - was for bot, was in zip(of.ladder.bots, before, strict=True)]
    assert played[20] > 2 * sum(played[:20]) / 20
    assert min(played) >= 10


def test_what_a_block_tells_is_most_for_doubted_bots_of_like_strength() -> None:
    of = pool(4)
    chosen = of.ladder.pool
    chosen.mean[:4] = [25.0, 25.0, 45.0, 25.0]
    chosen.variance[:4] = [4.0, 4.0, 4.0, 1.0]
    told = gain(chosen, 0)
    assert told[1] > told[3] > told[2] > 0


def test_one_code_sits_once_at_a_table_whoever_owns_it() -> None:
    codes = ["x", "x", "x", "y", "y", ""]
    for players in (2, 3):
        of = pool(6, players, codes=codes)
        for number in range(400):
            if number == 200:  # pairs that look odd are no exception
                of.ladder.pool.suspects[:] = [(0, 1), (3, 4), (0, 3)]
            found = pairing.next_pairing(of.ladder, SECRET)
            assert found is not None
            assert len({codes[bot] for bot in found[0]}) == len(found[0])
            of.block(found[0])
        assert min(bot.blocks for bot in of.ladder.bots) > 20


def test_bots_of_which_nobody_knows_the_code_are_not_taken_for_one() -> None:
    of = pool(20)
    of.play(100)
    assert all(bot.blocks for bot in of.ladder.bots)


def test_an_owner_has_one_bot_at_a_table() -> None:
    owners = ["a", "a", "a", "b", "b", "c"]
    for players in (2, 3):
        of = pool(6, players, owners=owners)
        for _ in range(400):
            found = pairing.next_pairing(of.ladder, SECRET)
            assert found is not None
            assert len({owners[bot] for bot in found[0]}) == len(found[0])
            of.block(found[0])


def test_anchors_play_no_more_than_others_and_do_play() -> None:
    of = pool(12, anchors=3)
    of.play(700)
    blocks = [bot.blocks for bot in of.ladder.bots]
    share = sum(blocks) / 12
    assert max(blocks[:3]) <= share + 2
    assert min(blocks[:3]) > share / 3


def test_nobody_waits_for_a_slow_one() -> None:
    """Bot 0 never comes to an end of anything; all others play on."""
    of = pool(6)
    for number in range(600):
        found = pairing.next_pairing(of.ladder, SECRET)
        assert found is not None
        if 0 in found[0]:
            of.take(Seated(f"slow{number}", found[0], of.time))
        else:
            of.block(found[0])
    assert of.ladder.pool.playing[0] == AT_ONCE == len(of.ladder.open)
    assert of.ladder.pool.playing[:6].max() == AT_ONCE
    assert of.ladder.pool.playing[1:6].max() <= AT_ONCE // 2
    assert min(bot.blocks for bot in of.ladder.bots[1:]) > 100


def test_who_has_left_or_is_in_quarantine_is_not_seated() -> None:
    of = pool(5)
    of.take(Left(2, 1))
    of.faulty = lambda bot, ahead: bot == 4
    of.play(100)
    assert of.ladder.bots[4].quarantined
    assert of.ladder.bots[2].blocks == 0
    before = of.ladder.bots[4].blocks
    of.play(100)
    assert of.ladder.bots[4].blocks == before < 25


def test_a_block_that_was_lost_is_played_by_the_same_bots_next() -> None:
    of = pool(9, 3)
    of.take(Seated("lost", (4, 2, 7), 1))
    of.take(Void("lost", "the worker is gone", 2))
    assert pairing.next_pairing(of.ladder, SECRET) == ((4, 2, 7), "lost")
    of.take(Seated("again", (4, 2, 7), 3, "lost"))
    found = pairing.next_pairing(of.ladder, SECRET)
    assert found is not None
    assert found[1] == ""


def test_a_block_that_was_lost_is_not_played_again_without_one_of_its_bots() -> None:
    of = pool(4)
    of.take(Seated("lost", (1, 2), 1))
    of.take(Void("lost", "the worker is gone", 2))
    of.take(Left(2, 3))
    found = pairing.next_pairing(of.ladder, SECRET)
    assert found is not None
    assert found[1] == ""
    assert 2 not in found[0]
    assert not of.ladder.lost


def test_a_pair_that_looks_odd_meets_more_often_until_enough_is_known() -> None:
    of = pool(20, 3)
    of.play(400)
    of.ladder.pool.suspects.append((3, 5))
    drawn = [choose(of.ladder.pool, 3, draw(SECRET, number)) for number in range(600)]
    met = Counter(pair for table in drawn if table for pair in combinations(sorted(table), 2))
    assert met[3, 5] > 40
    assert met[3, 5] > 3 * sum(met.values()) / len(met)


def test_the_same_log_and_secret_give_the_same_pairings_and_another_secret_others() -> None:
    def drawn(secret: bytes) -> list[object]:
        of = pool(20)
        seen: list[object] = []
        for _ in range(200):
            found = pairing.next_pairing(of.ladder, secret)
            assert found is not None
            seen.append(found[0])
            of.block(found[0])
        return seen

    assert drawn(SECRET) == drawn(SECRET)
    assert drawn(SECRET) != drawn(b"\1" * 32)


def test_what_is_public_does_not_say_who_is_next() -> None:
    """However things stand, another secret gives another pair; none has much of a chance."""
    of = pool(20)
    of.play(500)
    chosen = of.ladder.pool
    drawn = Counter(
        tuple(sorted(table))
        for number in range(2000)
        if (table := choose(chosen, 2, draw(number.to_bytes(32, "big"), chosen.seated)))
    )
    assert len(drawn) > 150
    assert drawn.most_common(1)[0][1] < 0.05 * 2000


def test_nobody_is_seated_where_too_few_are_free() -> None:
    of = pool(3, owners=["a", "a", "a"])
    assert pairing.next_pairing(of.ladder, SECRET) is None
    of = pool(2, 3)
    assert pairing.next_pairing(of.ladder, SECRET) is None
