"""Matches on this machine, each with a deal of its own, and what they come to: `ronda match`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from ronda_arena.clock import Clock
from ronda_arena.isolation import WorkerLostError
from ronda_arena.seating import InProcess, Seating
from ronda_arena.statistics.intervals import Interval, Mean, Tally, wilson
from ronda_arena.table import OnFault, OnStep, play_match
from ronda_bots.registry import BotInfo
from ronda_core.fair import seeded_master
from ronda_core.record import Record
from ronda_core.rules import Settings, settings

_HERE: Final = InProcess()
_ATTEMPTS: Final = 5
"""At one game: then `WorkerLostError`."""


def games(
    bots: Sequence[BotInfo],
    rules: Settings,
    number: int,
    seed: int | None,
    *,
    now: Callable[[], str],
    secret: Callable[[], bytes],
    seating: Seating = _HERE,
    clock: Clock | None = None,
    on_step: OnStep | None = None,
    on_fault: OnFault | None = None,
) -> Iterator[Record]:
    """Play `number` matches of `bots`, one a seat, and yield their records.

    A game that is lost by no fault of a bot is played again, from the same deals.

    With a seed the same arguments give the same records but for their times. Without one each
    master is a `secret()` of 32 bytes. Game g has the id `local-<g>`, from 0.
    """
    for game in range(number):
        master = secret() if seed is None else seeded_master(seed, game)
        for attempt in count(1):
            try:
                record = play_match(
                    f"local-{game}",
                    rules,
                    bots,
                    master,
                    now=now,
                    seating=seating,
                    clock=clock,
                    on_step=on_step,
                    on_fault=on_fault,
                )
            except WorkerLostError:
                if attempt == _ATTEMPTS:
                    raise
            else:
                yield record
                break


@dataclass(frozen=True, slots=True)
class SeatSummary:
    """What one seat made of the games."""

    seat: int
    bot: str
    wins: int
    draws: int
    """Games without a winner."""
    losses: int
    win_share: Interval | None
    """Where the share of games won lies; None without games."""
    margin: Mean
    """Points of its side more than the best other side's, a game; games that were forfeited say
    nothing about play and are left out."""
    faults: dict[str, int]
    """Games that it forfeited, by cause."""

    def to_json(self) -> dict[str, object]:
        """Return it as JSON data."""
        games = self.wins + self.draws + self.losses
        share = self.win_share
        return {
            "seat": self.seat,
            "bot": self.bot,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "win_share": {
                "value": round(self.wins / games, 6) if games else None,
                "low": None if share is None else round(share.low, 6),
                "high": None if share is None else round(share.high, 6),
            },
            "margin": self.margin.to_json(),
            "faults": self.faults,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """What a row of games came to."""

    games: int
    forfeits: int
    seats: tuple[SeatSummary, ...]

    def to_json(self) -> dict[str, object]:
        """Return it as JSON data."""
        return {
            "games": self.games,
            "forfeits": self.forfeits,
            "seats": [seat.to_json() for seat in self.seats],
        }


def summarise(records: Iterable[Record]) -> Summary:
    """Return what `records`, all of the same bots in the same seats, come to.

    It keeps sums, not records, so a million games take no more room than ten.
    """
    names: tuple[str, ...] = ()
    results: list[_Results] = []
    count = 0
    for record in records:
        if not count:
            names = record.seats
            rules = settings(record.rules, record.players, record.target, record.length)
            results = [_Results(side) for side in rules.side_of]
        if record.seats != names:
            raise ValueError("these are not games of the same bots in the same seats")
        count += 1
        for seat, result in enumerate(results):
            result.add(record, seat)
    return Summary(
        count,
        sum(sum(result.faults.values()) for result in results),
        tuple(
            SeatSummary(
                seat,
                names[seat],
                result.wins,
                result.draws,
                count - result.wins - result.draws,
                wilson(result.wins, count),
                result.margins.mean(),
                dict(sorted(result.faults.items())),
            )
            for seat, result in enumerate(results)
        ),
    )


class _Results:
    """The sums of one seat."""

    __slots__ = ("draws", "faults", "margins", "side", "wins")

    def __init__(self, side: int) -> None:
        self.side = side
        self.wins = self.draws = 0
        self.margins = Tally()
        self.faults: Counter[str] = Counter()

    def add(self, record: Record, seat: int) -> None:
        """Count one game."""
        self.wins += record.winner == self.side
        self.draws += record.winner is None
        if record.fault is None:
            self.margins.add(margin(record, self.side))
        elif record.fault.seat == seat:
            self.faults[record.fault.cause.value] += 1


def margin(record: Record, side: int) -> int:
    """Return by how much `side` is ahead of the best other side."""
    others = (score for other, score in enumerate(record.score) if other != side)
    return record.score[side] - max(others)
