"""A small round robin at two seats: every pair meets on the same deals from both sides.

A block is one deal, or one match's worth of them, played in both rotations of the seats. What
luck gives in one rotation it takes in the other, so a block's mean margin is the evidence, one
number a block, and its two games are never counted as two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from ronda_arena.local import margin
from ronda_arena.statistics import Mean, Tally
from ronda_arena.table import OnStep, Place, play_match
from ronda_bots.registry import BotInfo
from ronda_core.fair import Entry
from ronda_core.record import Record
from ronda_core.rules import Settings

ROTATIONS = 2


@dataclass(frozen=True, slots=True)
class Game:
    """One game of the schedule: the bots by seat."""

    block: int
    rotation: int
    bots: tuple[BotInfo, BotInfo]


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """What is to be played."""

    tournament: str
    bots: Sequence[BotInfo]
    rules: Settings
    blocks: int
    """Blocks that each pair plays."""

    def __post_init__(self) -> None:
        if self.rules.players != ROTATIONS:
            raise ValueError("this round robin is for two seats")
        if len({bot.identity for bot in self.bots}) != len(self.bots):
            raise ValueError("every bot takes part once")
        if len(self.bots) < ROTATIONS or self.blocks < 1:
            raise ValueError("a round robin needs two bots and a block")

    def schedule(self) -> Iterator[Game]:
        """Yield the games in order: pair by pair, block by block, both rotations together."""
        for number, pair in enumerate(combinations(self.bots, 2)):
            for block in range(number * self.blocks, (number + 1) * self.blocks):
                for rotation in range(ROTATIONS):
                    first, second = (pair[(seat - rotation) % ROTATIONS] for seat in (0, 1))
                    yield Game(block, rotation, (first, second))

    def play(
        self, game: Game, master: bytes, *, now: Callable[[], str], on_step: OnStep | None = None
    ) -> Record:
        """Play one game; every game of the tournament has the one master."""
        return play_match(
            f"{self.tournament}-{game.block}-{game.rotation}",
            self.rules,
            game.bots,
            master,
            now=now,
            place=Place(self.tournament, game.block, game.rotation),
            entries=[Entry(name) for name in sorted(bot.identity for bot in self.bots)],
            on_step=on_step,
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """What one bot has reached."""

    bot: str
    games: int
    wins: int
    draws: int
    losses: int
    forfeits: int
    """Games lost by a fault of its own."""
    margin: Mean
    """Points ahead, a game, over whole blocks."""

    def to_json(self) -> dict[str, object]:
        """Return it as JSON data."""
        return {
            "bot": self.bot,
            "games": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "forfeits": self.forfeits,
            "margin": self.margin.to_json(),
        }


def standings(records: Iterable[Record]) -> tuple[Standing, ...]:
    """Return the table: by wins, a draw being half of one, then by margin, then by name."""
    results: dict[str, _Results] = {}
    waiting: dict[tuple[str | None, int | None], Record] = {}
    for record in records:
        for seat, bot in enumerate(record.seats):
            results.setdefault(bot, _Results()).add(record, seat)
        block = record.tournament, record.block
        other = waiting.pop(block, None)
        if other is None:
            waiting[block] = record
            continue
        for bot in record.seats:
            results[bot].margins.add(_block_margin(bot, (other, record)))
    table = [result.standing(bot) for bot, result in results.items()]
    return tuple(sorted(table, key=_rank))


class _Results:
    """The sums of one bot."""

    __slots__ = ("draws", "forfeits", "games", "margins", "wins")

    def __init__(self) -> None:
        self.games = self.wins = self.draws = self.forfeits = 0
        self.margins = Tally(scale=ROTATIONS)

    def add(self, record: Record, seat: int) -> None:
        """Count one game."""
        self.games += 1
        self.wins += record.winner == seat
        self.draws += record.winner is None
        self.forfeits += record.fault is not None and record.fault.seat == seat

    def standing(self, bot: str) -> Standing:
        losses = self.games - self.wins - self.draws
        return Standing(
            bot, self.games, self.wins, self.draws, losses, self.forfeits, self.margins.mean()
        )


def _rank(standing: Standing) -> tuple[int, float, str]:
    return -2 * standing.wins - standing.draws, -(standing.margin.value or 0.0), standing.bot


def _block_margin(bot: str, block: tuple[Record, Record]) -> int:
    """Return the sum of what `bot` is ahead in the games of a block."""
    return sum(_game_margin(bot, record, block) for record in block)


def _game_margin(bot: str, record: Record, block: tuple[Record, Record]) -> int:
    """Return by how much `bot` is ahead in a game.

    Who forfeits must not gain by it: it gets the worse of what it had and its worst margin in a
    game of the block that nobody forfeited.
    """
    if record.fault is None:
        return _ahead(bot, record)
    guilty = record.seats[record.fault.seat]
    played = [_ahead(guilty, other) for other in block if other.fault is None]
    worst = min([_ahead(guilty, record), *played])
    return worst if bot == guilty else -worst


def _ahead(bot: str, record: Record) -> int:
    return margin(record, record.seats.index(bot))
