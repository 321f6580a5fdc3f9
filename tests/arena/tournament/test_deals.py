"""What games are dealt from: a block with a secret of its own, and one that is not paired."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import msgspec
import pytest
from tests.arena.tournament.plans import TABLES, plan
from tests.bots.tables import info

from ronda_arena.tournament.entrants import rotations, sides
from ronda_arena.tournament.play import dealt, table
from ronda_arena.tournament.tasks import Contract, Deal, Task
from ronda_bots.greedy import Greedy
from ronda_bots.random import Random
from ronda_bots.registry import assemble
from ronda_core.fair import seeded_master
from ronda_core.record import FairRecord, read
from ronda_core.verify import verify

BOTS = assemble([info(Random, f"bot{at}") for at in range(3)] + [info(Greedy, "bot3")], [])
MASTER = seeded_master(9)


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_its_records_are_proven_by_its_master_alone(rules: str, players: int) -> None:
    length = {} if rules == "arabic" else {"hands": 1}
    of = plan([bot.identity for bot in BOTS.bots], rules=rules, players=players, **length)
    seated = (3, 0, 2) if players == 3 else (3, 1)
    decks = set()
    with table(Contract(of, b""), BOTS) as play:
        for turn in range(rotations([of.entrants[at] for at in seated], players)):
            played = play(Task(0, seated, turn, deal=Deal("b-1", MASTER)))
            assert played.record is not None
            record = read(played.record)
            assert (record.id, record.tournament, record.block) == (f"b-1-0-{turn}", "b-1", 0)
            assert isinstance(record.fair, FairRecord)
            roster = sorted(of.entrants[at].name for at in seated)
            assert [entry.identity for entry in record.fair.entries] == roster
            assert not verify(record).proven
            opened = replace(record, fair=replace(record.fair, master=MASTER))
            assert verify(opened).proven
            decks.add(tuple(hand.deck for hand in record.hands))
    assert len(decks) == 1


def test_its_secret_is_in_no_repr() -> None:
    task = Task(0, (0, 1), 0, deal=Deal("b-1", MASTER))
    assert "b-1" in repr(task)
    assert MASTER.hex() not in repr(task)
    assert repr(MASTER) not in repr(task)


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_where_a_remote_bot_sits_each_rotation_has_deals_of_its_own(
    rules: str, players: int
) -> None:
    bots = ["a", "b", "c", "far"] if players != 4 else ["a", "b", "c", "b+far"]
    length = {} if rules == "arabic" else {"hands": 1}
    own = msgspec.structs.replace(
        plan(bots, rules=rules, players=players, **length),
        remote=("far@1",),
    )
    contract = Contract(own, bytes(32))
    assert own.installed == ("a@1", "b@1", "c@1")
    table = sides(players)
    for at_table in permutations(range(4), table):
        games = [
            dealt(contract, Task(7, at_table, rotation))
            for rotation in range(own.games_of(at_table))
        ]
        apart = 3 in at_table
        assert own.paired(at_table) is not apart
        assert {"far@1" in game.seats for game in games} == {apart}
        scopes = [game.place.scope for game in games]
        assert scopes == (
            [f"{own.id}/7-{rotation}" for rotation in range(len(games))]
            if apart
            else [f"{own.id}/7"] * len(games)
        )
