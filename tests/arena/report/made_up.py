"""Summaries of tournaments that nobody played, for tests of what is told of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, pairwise
from math import erf, sqrt

from ronda_arena.report.summary import (
    THOUGHT_CLASSES,
    BotRow,
    FaultRow,
    LuckRow,
    PairRow,
    PositionRow,
    RatingRow,
    Step,
    Summary,
    ThoughtRow,
    Timing,
    Verdict,
)
from ronda_arena.statistics.estimate import Estimate

EIGHT = (
    *("solver@1.2.0", "sampler@1.1.0", "counter@1.0.0", "careful@1.0.0"),
    *("kestrel@0.9.1", "greedy@1.0.0", "meknes@2.0.0", "random@1.0.0"),
)
UNKNOWN = Estimate(None, None, None, 0)


def many(count: int) -> tuple[str, ...]:
    """Return names, some of them with versions alone between them."""
    return tuple(f"bot{at // 2 * 2 if at % 5 == 0 else at}@1.{at}.0" for at in range(count))


def estimate(value: float, half: float, blocks: int) -> Estimate:
    return Estimate(value, value - half, value + half, blocks)


def tournament(
    names: tuple[str, ...] = EIGHT,
    *,
    players: int = 2,
    blocks: int = 60,
    seed: int = 1,
    length: int = 0,
    verdict: Verdict | None = None,
) -> Summary:
    """Return what a round robin of these might have come to."""
    chance = random.Random(seed)
    count = len(names)
    strengths = sorted((chance.gauss(0, 3) for _ in names), reverse=True)
    middle = sum(strengths) / count
    strength = {name: one - middle for name, one in zip(names, strengths, strict=True)}
    order = list(names)
    chance.shuffle(order)
    games = blocks * players * (count - 1)
    ratings = tuple(
        RatingRow(
            entrant=name,
            margin=estimate(strength[name] + chance.gauss(0, 0.2), 0.4 + chance.random() / 3,
                            blocks * (count - 1)),
            elo=estimate(strength[name] * 38 + chance.gauss(0, 8), 18 + 9 * chance.random(),
                         blocks * (count - 1)),
            blocks=blocks * (count - 1),
            games=games,
            won=(won := round(games * 0.5 * (1 + erf(strength[name] / 9)))),
            drawn=(drawn := round(games * 0.01)),
            lost=max(0, games - won - drawn),
            faults=3 if name == names[-2] else 0,
        )
        for name in names
    )  # fmt: skip
    return Summary(
        plan=plan(order, players, length, blocks),
        state="finished" if verdict is None else "stopped",
        unit="hand" if length else "game",
        blocks=blocks * count * (count - 1) // 2,
        planned=blocks * count * (count - 1) // 2,
        games=games * count // 2,
        ratings=ratings,
        bots=_bots(ratings),
        pairs=tuple(_pair(a, b, strength[a] - strength[b], blocks, chance)
                    for a, b in combinations(names, 2)),
        positions=tuple(
            PositionRow(at, estimate(0.6 - at, 0.31, games), estimate(0.52 - at / 50, 0.012, games))
            for at in range(min(players, 3))
        ),
        luck=LuckRow(games * count // 2, games * count // 2, 412.25, 203.5, 88.125, 0.73),
        faults=tuple(_fault(name, names, games) for name in sorted(names)),
        verdict=verdict,
        progress=tuple(_progress(order, strength, 5 * blocks, chance)),
        sentences=_sentences(ratings, "hand" if length else "game"),
        placings=(),
        timing=Timing(5025.0, 3, 0, tuple(_thought(name, games, chance) for name in sorted(names))),
        entrants=tuple(order),
        commitment="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    )  # fmt: skip


def nothing_known(names: tuple[str, ...] = ("alone@1", "other@1")) -> Summary:
    """Return how a tournament stands before its first block is over."""
    return Summary(
        plan=plan(list(names), 2, 0, 20),
        state="running",
        unit="game",
        blocks=0,
        planned=None,
        games=0,
        ratings=tuple(RatingRow(name, UNKNOWN, UNKNOWN, 0, 0, 0, 0, 0, 0) for name in names),
        bots=(),
        pairs=(),
        positions=tuple(PositionRow(at, UNKNOWN, UNKNOWN) for at in range(2)),
        luck=LuckRow(0, 0, None, None, None, 0.0),
        faults=(),
        verdict=None,
        progress=(),
        sentences=(),
        placings=(),
        timing=Timing(0.0, 0, 0, ()),
        entrants=names,
    )


def plan(order: list[str], players: int, length: int, blocks: int) -> dict[str, object]:
    return {
        "id": "autumn-7f3a",
        "format": "round-robin",
        "rules": "playtash",
        "players": players,
        "target": 0 if length else 41,
        "length": length,
        "entrants": [[name.split("+")] for name in order],
        "blocks": blocks,
        "rounds": 0,
        "challengers": 1,
        "pairings": [],
        "seeded": False,
        "clock": "0.5+10",
        "isolation": "sandbox",
        "rated": True,
        "luck": True,
        "stop": {},
    }


def _bots(ratings: tuple[RatingRow, ...]) -> tuple[BotRow, ...]:
    """Return a row for each bot where there are mixed teams."""
    if not any("+" in row.entrant for row in ratings):
        return ()
    of = {bot: row for row in reversed(ratings) for bot in row.entrant.split("+")}
    return tuple(BotRow(bot, row.margin, row.elo) for bot, row in of.items())


def _pair(first: str, second: str, ahead: float, blocks: int, chance: random.Random) -> PairRow:
    games = 2 * blocks
    won = round(games * 0.5 * (1 + erf(ahead / 9)))
    return PairRow(
        first,
        second,
        estimate(ahead + chance.gauss(0, 0.6), 1.6 + chance.random(), blocks),
        won,
        1,
        games - 1 - won,
        (1 + erf(ahead / 2)) / 2,
    )


def _fault(name: str, names: tuple[str, ...], games: int) -> FaultRow:
    causes = {names[-2]: {"time": 2, "crash": 1}, names[len(names) // 2]: {"illegal": 1}}
    return FaultRow(name, games, causes.get(name, {}))


def _progress(
    order: list[str], strength: dict[str, float], blocks: int, chance: random.Random
) -> Iterator[Step]:
    sums = dict.fromkeys(order, 0.0)
    for at in range(1, blocks + 1):
        for name in order:
            sums[name] += chance.gauss(strength[name], 8)
        if at % max(1, blocks // 40) == 0:
            yield Step(
                at,
                tuple(
                    estimate(sums[name] / at, 16 / sqrt(at), at) if at > 2 else UNKNOWN
                    for name in order
                ),
            )


def _thought(name: str, games: int, chance: random.Random) -> ThoughtRow:
    middle = chance.uniform(-4.6, -0.8)
    counts = [0] * (len(THOUGHT_CLASSES) + 1)
    for _ in range(min(games, 400)):
        drawn = 10 ** chance.gauss(middle, 0.22)
        counts[sum(drawn > bound for bound in THOUGHT_CLASSES)] += 1
    return ThoughtRow(name, games * 21, 10**middle, 10 ** (middle + 1), tuple(counts))


def _sentences(ratings: tuple[RatingRow, ...], unit: str) -> tuple[str, ...]:
    told = []
    for better, worse in pairwise(ratings):
        ahead = (better.margin.value or 0) - (worse.margin.value or 0)
        told.append(
            f"{better.entrant} is stronger than {worse.entrant} by {ahead:.1f} points a {unit}, "
            f"95 %: {ahead - 0.5:.1f} to {ahead + 0.5:.1f}, {better.blocks} blocks."
        )
    return tuple(told[:6])
