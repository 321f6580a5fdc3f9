"""The exact last batch at two players: milliseconds for the first decision of it, all 36 lines."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from benchmarks.rows import Row, at_most, show
from ronda_bots.ending import Ending
from ronda_core import match as matches
from ronda_core.cards import PACK
from ronda_core.fair import legal_table
from ronda_core.hand import Phase
from ronda_core.match import Match
from ronda_core.rules import Settings, settings
from ronda_core.view import View, view

_PRESETS = ("playtash", "cafe", "arabic", "pagat")
_POSITIONS = 100
_RUNS = 9


def _positions(rules: Settings) -> Iterator[View]:
    """Yield views of whoever opens the last batch, in hands played by chance."""
    chance = random.Random(7)
    for _ in range(_POSITIONS):
        match = Match(rules, 0)
        deck = list(PACK)
        while True:
            chance.shuffle(deck)
            if legal_table(deck[6:10]):
                break
        matches.deal(match, tuple(deck))
        while match.hand and match.hand.batch < 6:
            hand = match.hand
            if hand.phase is Phase.DECLARE:
                matches.declare(match, hand.answers.index(None), False)
            else:
                matches.play(match, hand.turn, chance.choice(hand.hands[hand.turn]))
        for seat in (0, 1):
            if match.hand and match.hand.phase is Phase.DECLARE:
                matches.declare(match, seat, False)
        assert match.hand
        yield view(match, match.hand.turn)


def rows() -> list[Row]:
    """Measure every preset; the slowest is the row."""
    slowest: tuple[float, str, list[float]] = (0.0, "", [])
    for name in _PRESETS:
        rules = settings(name, 2, length=0 if name == "arabic" else 1)
        positions = list(_positions(rules))
        ending = Ending(rules)
        runs = []
        for _ in range(_RUNS):
            began = time.perf_counter()
            for seen in positions:
                ending.best(seen)
            runs.append((time.perf_counter() - began) / len(positions) * 1e3)
        runs.sort()
        slowest = max(slowest, (runs[_RUNS // 2], name, runs))
    _, name, runs = slowest
    detail = f"slowest of four presets: {name}; mean of {_POSITIONS} positions"
    return [at_most("exact last batch, 2 players", runs, "ms", 1.0, 0.2, detail)]


if __name__ == "__main__":
    show(rows())
