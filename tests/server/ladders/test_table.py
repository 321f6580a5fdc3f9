"""What a driver says and a server keeps is what the facts come to, whoever came and went."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from tests.arena.ladder.pools import Pool

from ronda_arena.ladder.facts import Joined, Left, Released
from ronda_arena.ladder.rows import rank, standings
from ronda_server.ladders.table import Table
from ronda_server.ladders.teller import Teller
from ronda_server.ladders.told import Opened, Stood


class _Wire:
    """Takes every word as another process would, at once."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.seen: list[int] = []
        """How many bots each word told of."""

    def send(self, word: Any) -> None:
        word = pickle.loads(pickle.dumps(word))
        if isinstance(word, Opened):
            self.table.open(word)
        elif isinstance(word, Stood):
            self.seen.append(len(word.seen))
            self.table.stand(word)


@pytest.fixture
def told() -> tuple[Pool, Teller, _Wire]:
    """A ladder of twelve bots, of which two seldom work, and what is kept of it."""
    pool, wire = Pool(range(20, 32), anchors=1, seed=3), _Wire(Table())
    pool.faulty = lambda bot, _: bot > 9 and pool.random.random() < 0.5
    pool.play(50)
    pool.ladder = type(pool.ladder)(pool.ladder.plan, None)
    for fact in pool.facts:
        pool.ladder.take(fact)
    teller = Teller(wire)  # type: ignore[arg-type] # all that it does is send
    pool.ladder._told = teller.changed
    teller.open(pool.ladder)
    return pool, teller, wire


def _check(pool: Pool, teller: Teller, wire: _Wire) -> None:
    teller.step(pool.ladder)
    teller._flush()
    rows = standings(pool.ladder)
    assert [one.row for one in wire.table.ranked()] == rows
    assert [one.rank for one in wire.table.ranked()] == [
        0 if row.provisional else at for at, row in enumerate(rows, 1)
    ]
    assert wire.table.sequence == pool.ladder.facts
    for state, count in wire.table.states.items():
        assert count == sum(row.state == state for row in rows)


def test_after_every_fact_all_rows_are_those_of_the_fold(
    told: tuple[Pool, Teller, _Wire],
) -> None:
    pool, teller, wire = told
    _check(*told)
    for number in range(120):
        pool.play(1)
        if number % 20 == 5:  # somebody is away for a day, and what is thought of it gets vaguer
            pool.take(Left(number // 20, pool.time, "disabled", "is disabled"))
            pool.time += 86_400
        if number % 20 == 15:
            pool.take(Joined(f"bot{number // 20}@{1 + number % 2}", "owner", pool.time))
            pool.strengths += [25.0] * (len(pool.ladder.bots) - len(pool.strengths))
        if number == 100:
            resting = [bot for bot in pool.ladder.bots if bot.quarantined and bot.present]
            assert resting
            pool.take(Released(resting[0].number, pool.time))
        _check(pool, teller, wire)


def test_a_block_tells_of_the_bots_in_it_and_of_no_others(told: tuple[Pool, Teller, _Wire]) -> None:
    pool, teller, wire = told
    pool.faulty = lambda bot, ahead: False
    _check(*told)
    wire.seen.clear()
    for _ in range(50):
        pool.play(1)
        _check(pool, teller, wire)
    assert wire.seen == [2] * 50
    before = wire.table.sequence
    pool.block([2, 5])
    _check(pool, teller, wire)
    assert {one.row.bot for one in wire.table.since(before)} >= {
        pool.ladder.bots[number].identity for number in (2, 5)
    }
    assert wire.table.since(wire.table.sequence) == []
    assert not wire.table.knows(wire.table.sequence + 1)


def test_what_anchors_show_is_told_of_all_once_it_has_moved_by_more_than_a_little(
    told: tuple[Pool, Teller, _Wire],
) -> None:
    pool, _, wire = told
    pool.faulty = lambda bot, ahead: False
    pool.play(1500)
    pool.take(Left(3, pool.time))
    _check(*told)
    kept = {one.row.bot: one for one in wire.table.ranked()}
    before = wire.table.sequence
    sent = []
    for _ in range(300):
        pool.play(1)
        _check(*told)
        new = wire.table.since(before)
        sent.append(len(new))
        before = wire.table.sequence
        kept.update((one.row.bot, one) for one in new)
        # Who only listens is never far from how all stand.
        for one in wire.table.ranked():
            heard = kept[one.row.bot]
            assert (heard.row.rating, heard.row.games) == (one.row.rating, one.row.games)
            assert heard.row.conservative == pytest.approx(one.row.conservative, abs=0.6)
    pinned = sum(bot.pinned for bot in pool.ladder.bots)
    everybody = [many for many in sent if many >= len(pool.ladder.bots) - pinned]
    assert 0 < len(everybody) < len(sent) / 4
    assert set(sent) - set(everybody) == {2}


def test_a_page_goes_on_where_the_one_before_ended_whatever_anchors_show_since(
    told: tuple[Pool, Teller, _Wire],
) -> None:
    pool, _, wire = told
    pool.play(1500)
    pool.take(Left(3, pool.time, "disabled", "is disabled"))
    pool.time += 86_400
    pool.play(1)
    _check(*told)
    table = wire.table
    assert table.head
    kept = table.head.misfit
    for misfit in (kept, 0.0, 9.0):
        # Nobody has played: only what the anchors show is another, and somebody is away longer.
        before, head = table.ranked(), table.head
        head = head._replace(facts=head.facts + 1, now=head.now + 86_400, misfit=misfit)
        table.stand(Stood(head, (), ()))
        moved = 0
        for one in before:
            now = table.find(one.row.bot)
            assert now
            moved += now.row != one.row
            if one.rating is not None:
                again = table.place(one.row.provisional, one.rating, one.since, one.row.bot)
                assert again == rank(now.row)
        assert moved == (1 if misfit == kept else len(before) - 1)
        kept = misfit
