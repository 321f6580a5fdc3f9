"""`ronda match`: a row of games, repeatable by seed, and what they come to."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from tests.bots.tables import every_table, info

from ronda_arena.isolation import WorkerLostError
from ronda_arena.local import games, summarise
from ronda_arena.seating import InProcess
from ronda_bots.careful import Careful
from ronda_bots.greedy import Greedy
from ronda_bots.random import Random
from ronda_core.fair import seeded_master
from ronda_core.match import Cause, Fault
from ronda_core.record import Record, write
from ronda_core.rules import settings
from ronda_core.verify import verify

NOW = "2026-01-01T00:00:00Z"


def never() -> bytes:
    raise AssertionError


def run(
    bots: list[Any], count: int, seed: int | None = 1, rules: str = "playtash", **more: Any
) -> list[Record]:
    table = settings(rules, len(bots), length=more.pop("length", 0))
    kwargs = {"now": lambda: NOW, "secret": never, **more}
    return list(games([info(bot) for bot in bots], table, count, seed, **kwargs))


@every_table()
def test_a_seed_gives_the_same_bytes_and_every_game_a_deck_of_its_own(
    rules: str, players: int
) -> None:
    bots = [Random, Careful, Greedy, Random][:players]
    once, again = (run(bots, 4, 7, rules) for _ in range(2))
    assert [write(record) for record in once] == [write(record) for record in again]
    decks = [hand.deck for record in once for hand in record.hands]
    assert len(set(decks)) == len(decks)
    other = run(bots, 1, 8, rules)
    assert other[0].hands[0].deck not in decks
    assert all(verify(record).proven for record in once)


def test_a_game_is_named_and_dealt_as_the_rules_of_fairness_say() -> None:
    records = run([Random, Random], 3, 5)
    assert [record.id for record in records] == ["local-0", "local-1", "local-2"]
    for number, record in enumerate(records):
        assert record.fair is not None
        assert record.fair.scope == record.id
        assert record.fair.master == seeded_master(5, number)
    # A game does not depend on how many are played before it or after.
    assert write(run([Random, Random], 2, 5)[1]) == write(records[1])


def test_without_a_seed_every_game_has_a_secret_of_its_own() -> None:
    rng = random.Random(3)
    secrets = [rng.randbytes(32) for _ in range(3)]
    left = iter(secrets)
    records = run([Random, Random], 3, None, secret=lambda: next(left))
    assert [record.fair.master for record in records if record.fair] == secrets
    assert all(verify(record).proven for record in records)


def test_a_game_is_played_when_it_is_asked_for() -> None:
    row = games([info(Random)] * 2, settings("arabic", 2), 10**9, 1, now=lambda: NOW, secret=never)
    assert next(row).id == "local-0"
    assert next(row).id == "local-1"


def test_a_summary_counts_what_the_records_say() -> None:
    won = run([Greedy, Random], 1, length=1)[0]
    records = [
        replace(won, score=(10, 4), winner=0),
        replace(won, score=(8, 4), winner=0),
        replace(won, score=(5, 5), winner=None),
        replace(won, score=(0, 3), winner=1),
        replace(won, score=(20, 0), winner=1, fault=Fault(0, Cause.CRASH, "")),
    ]
    summary = summarise(records)
    assert (summary.games, summary.forfeits) == (5, 1)
    first, second = summary.seats
    assert (first.bot, first.wins, first.draws, first.losses) == ("greedy@1.0.0", 2, 1, 2)
    assert (second.wins, second.draws, second.losses) == (2, 1, 2)
    assert first.faults == {"crash": 1}
    assert second.faults == {}
    assert first.win_share == pytest.approx((0.1176, 0.7693), abs=1e-4)
    # What a forfeit broke off says nothing about play: four games are left.
    assert first.margin.count == 4
    assert first.margin.value == (6 + 4 + 0 - 3) / 4
    assert second.margin.value == -(6 + 4 + 0 - 3) / 4
    text = json.dumps(summary.to_json(), allow_nan=False)
    data = json.loads(text)["seats"][0]
    assert data["win_share"] == {"value": 0.4, "low": 0.117621, "high": 0.769276}
    assert data["faults"] == {"crash": 1}


def test_margins_are_over_the_best_other_side_and_partners_share_theirs() -> None:
    three = replace(run([Greedy] * 3, 1, rules="cafe", length=1)[0], score=(9, 3, 7), winner=0)
    assert [seat.margin.value for seat in summarise([three]).seats] == [2, -6, -2]
    four = replace(run([Greedy] * 4, 1, rules="cafe", length=1)[0], score=(9, 3), winner=0)
    assert [seat.margin.value for seat in summarise([four]).seats] == [6, -6, 6, -6]
    assert [seat.wins for seat in summarise([four]).seats] == [1, 0, 1, 0]


def test_no_games_and_one_game_are_summed_up_without_a_nan() -> None:
    assert summarise([]).to_json() == {"games": 0, "forfeits": 0, "seats": []}
    summary = summarise(run([Greedy, Random], 1))
    assert json.loads(json.dumps(summary.to_json(), allow_nan=False))["games"] == 1
    assert "too few" in str(summary.seats[0].margin)


def test_games_of_other_seats_are_not_summed_up_together() -> None:
    with pytest.raises(ValueError, match="same bots in the same seats"):
        summarise(run([Greedy, Random], 1) + run([Random, Greedy], 1))


def test_a_summary_tells_the_better_bot() -> None:
    summary = summarise(run([Careful, Random], 60, rules="cafe"))
    careful, luckless = summary.seats
    assert careful.margin.interval is not None
    assert careful.margin.interval.low > 0
    assert luckless.win_share is not None
    assert luckless.win_share.high < 0.5


class _Failing(InProcess):
    """Loses its first worker, or all."""

    def __init__(self, times: int) -> None:
        self.left = times

    def sit(self, *given: Any, **more: Any) -> Any:
        if self.left:
            self.left -= 1
            raise WorkerLostError("the worker is gone")
        return super().sit(*given, **more)


def test_a_game_that_was_lost_by_our_fault_is_played_again_from_the_same_deals() -> None:
    whole = run([Random, Greedy], 3, 7)
    again = run([Random, Greedy], 3, 7, seating=_Failing(4))
    assert [write(record) for record in again] == [write(record) for record in whole]
    with pytest.raises(WorkerLostError):
        run([Random, Greedy], 3, 7, seating=_Failing(100))
