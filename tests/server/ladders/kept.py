"""What a ladder's folder holds once nobody plays there: held against itself, and proven."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.crash import ladders

from ronda_arena.ladder.facts import Fact, Joined, Left
from ronda_arena.ladder.run import Run
from ronda_arena.ladder.store import claim
from ronda_bots.registry import Registry
from ronda_core.commitments import Commitments, read_entry
from ronda_core.record import read
from ronda_core.verify import verify

NOBODY = Registry((), ())


class Kept:
    """A ladder that was stopped; its open blocks are void by then, as for whoever plays next."""

    def __init__(self, folder: Path) -> None:
        with claim(folder) as held:
            store = held.find()
            assert store
            self.ladder = Run(store, lambda: NOBODY).ladder
            self.facts: list[Fact] = list(store.facts())
            lines = list(store.records())
            listed = Commitments()
            for entry in store.commitments():
                listed.append(read_entry(entry))
        for line in lines:
            verdict = verify(read(line), listed)
            assert verdict.proven, (verdict.where, verdict.problem)
        self.records: list[dict[str, Any]] = [json.loads(line) for line in lines]
        tally = ladders.Tally()
        ladders.judge(folder, tally, every=1)
        assert not tally.faults

    @property
    def blocks(self) -> dict[str, list[dict[str, Any]]]:
        """Return the records of each block that counts."""
        found: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for one in self.records:
            found[one["tournament"]].append(one)
        return found

    def moves(self, bot: str) -> list[str]:
        """Return how a bot came and went."""
        known = self.ladder.find(bot)
        found = []
        for fact in self.facts:
            if isinstance(fact, Joined) and fact.bot == bot:
                found.append("joined")
            elif isinstance(fact, Left) and known and fact.bot == known.number:
                found.append("left")
        return found
