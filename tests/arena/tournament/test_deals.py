"""A block with a secret of its own is dealt from that, and its bots alone are its roster."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.arena.tournament.plans import TABLES, plan
from tests.bots.tables import info

from ronda_arena.tournament.entrants import rotations
from ronda_arena.tournament.play import table
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
