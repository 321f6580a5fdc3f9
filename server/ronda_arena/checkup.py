"""Whether a bot is fit to play: legal everywhere, the same under one seed, and what it takes.

Every game of a checkup is a game of `ronda match` with a seed, so whatever is found can be seen
again by one command.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from ronda_arena.advice import about_fault
from ronda_arena.clock import Clock
from ronda_arena.fault import BotFaultError
from ronda_arena.seating import Seating
from ronda_arena.table import play_match
from ronda_arena.watched import Watch, WatchedSeating
from ronda_bots.registry import BotInfo
from ronda_core.fair import seeded_master
from ronda_core.match import Cause, Match, MatchEvent
from ronda_core.record import Record
from ronda_core.rules import PRESETS, Settings, settings

_LONG: Final = 50
"""Hands of the matches in which one worker lives long."""
_ROUND: Final = 20
"""Hands that one table plays at least before the next has its turn."""
_ENOUGH: Final = 3
"""Faults at one table after which it plays no more."""
_SAME_HANDS: Final = 2
_SEATS: Final = 4


@dataclass(frozen=True, slots=True)
class Game:
    """One match of a checkup."""

    rules: Settings
    bots: tuple[str, ...]
    """As they are called, by seat."""
    seat: int
    """Of the bot that is checked."""
    seed: int

    def command(self) -> tuple[str, ...]:
        """Return the words of the command that plays it again and writes its record."""
        rules = self.rules
        length = ("--hands", str(rules.length)) if rules.length else ()
        return (
            *("ronda", "match", *self.bots, "--rules", rules.preset.name),
            *(*length, "--seed", str(self.seed), "--records", "-"),
        )


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that makes a bot unfit, and where it was seen first."""

    cause: Cause | None
    """None: nothing broke, but it is not deterministic."""
    problem: str
    game: Game
    hand: int
    """0: before the first deal."""
    play: int
    """The card of the hand that was asked for, or 0: it was not asked to play."""
    log: bytes = b""
    times: int = 1
    decisions: int = 0
    """How many it had been asked for in that game."""
    advice: str = ""
    """What its author may do about it, where that is known."""


class Played(NamedTuple):
    """What was played at one table."""

    preset: str
    players: int
    hands: int
    games: int


class Stop(NamedTuple):
    """Where a game was left when its time was over."""

    game: Game
    hand: int
    play: int


@dataclass(frozen=True, slots=True)
class Findings:
    """What a checkup found."""

    bot: BotInfo
    wanted: int
    """Hands of each preset."""
    played: tuple[Played, ...]
    repeated: int
    """Games that were played again to be compared."""
    troubles: tuple[Trouble, ...]
    watch: Watch
    seconds: float
    clock: Clock | None = None
    stops: tuple[Stop, ...] = ()
    """Games that were left, for there was no more time."""

    @property
    def fit(self) -> bool:
        """Whether nothing is wrong, at any table."""
        return not self.troubles and self.seen

    @property
    def seen(self) -> bool:
        """Whether a hand at least was played at every table."""
        return all(one.hands for one in self.played)

    def hands_of(self, preset: str) -> int:
        """Return how many hands of a preset were played."""
        return sum(one.hands for one in self.played if one.preset == preset)


class Checkup:
    """One bot against `random` and `greedy`, at every table that there is."""

    def __init__(
        self,
        bot: BotInfo,
        rivals: Sequence[BotInfo],
        seatings: Sequence[Seating],
        *,
        called: str = "",
        clock: Clock | None = None,
        seed: int = 1,
        now: Callable[[], str],
    ) -> None:
        """Check `bot`, run by the first of `seatings`.

        Games are repeated under each of them: they differ in what a bot may not depend on.
        """
        self._bot = bot
        self._called = called or bot.identity
        self._rivals = [replace(rival) for rival in rivals]  # of itself it is not the same one
        self._clock = clock
        self._seed = seed
        self._now = now
        self.watch = Watch()
        self._seating = WatchedSeating(bot, seatings[0], self.watch)
        self._elsewhere = WatchedSeating(bot, seatings[-1], Watch())
        self._troubles: dict[str, Trouble] = {}
        self._stops: list[Stop] = []

    def run(
        self, hands: int, seconds: float, told: Callable[[int], None] = lambda _: None
    ) -> Findings:
        """Play `hands` of every preset, or as many as `seconds` allow, an equal share of each.

        0 seconds are as long as it takes. When they are over, the game that is played is left: they
        are exceeded by about one decision at most. `told` is called with the hands so far.
        """
        began = time.monotonic()
        seconds = seconds or math.inf
        until = began + seconds
        repeated = self._repeat(began + seconds / 3)
        tables = [
            _Table(settings(preset.name, players), -(-hands // len(preset.players)))
            for preset in PRESETS.values()
            for players in preset.players
        ]
        share = seconds / (2 * len(tables))
        while any(table.open for table in tables):
            for left, table in zip(range(len(tables), 0, -1), tables, strict=True):
                now = time.monotonic()
                self._play_round(table, share, now + (until - now) / left)
                told(sum(one.hands for one in tables))
            if time.monotonic() > until:
                break
        return Findings(
            self._bot,
            hands,
            tuple(
                Played(one.rules.preset.name, one.rules.players, one.hands, one.games)
                for one in tables
            ),
            repeated,
            tuple(self._troubles.values()),
            self.watch,
            time.monotonic() - began,
            self._clock,
            tuple(self._stops),
        )

    def _play_round(self, table: _Table, share: float, until: float) -> None:
        """Play some hands at one table; no long match of more than about `share` seconds."""
        goal = table.hands + _ROUND
        while table.open and table.hands < goal and time.monotonic() <= until:
            game = self._game(table.next_rules(share), table.games)
            began = time.monotonic()
            try:
                record = self._play(game, self._seating, until)
            except _OutOfTimeError as left:
                table.hands += left.stop.hand - 1
                self._stops.append(left.stop)
            else:
                table.hands += len(record.hands)
                table.games += 1
                table.faults += record.fault is not None and record.fault.seat == game.seat
            table.seconds += time.monotonic() - began

    def _game(self, rules: Settings, number: int) -> Game:
        """Return the game of a number: the seat goes round, and so do the rivals."""
        seat = number % rules.players
        bots = [
            self._called if at == seat else self._rivals[(number + at) % len(self._rivals)].name
            for at in range(rules.players)
        ]
        return Game(rules, tuple(bots), seat, self._seed + number)

    def _play(self, game: Game, seating: WatchedSeating, until: float) -> Record:
        """Play a game to its end; `_OutOfTimeError` where that is not reached in time."""
        by_name = {rival.name: rival for rival in self._rivals}
        bots = [
            self._bot if at == game.seat else by_name[name] for at, name in enumerate(game.bots)
        ]
        faults: list[BotFaultError] = []

        def blame(seat: int, fault: BotFaultError) -> None:
            if seat == game.seat:
                faults.append(fault)

        def look_at_the_time(match: Match, _events: tuple[MatchEvent, ...]) -> None:
            if match.result is None and match.hand is not None and time.monotonic() > until:
                raise _OutOfTimeError(Stop(game, match.hand.number, len(match.hand.plays) + 1))

        record = play_match(
            "local-0",
            game.rules,
            bots,
            seeded_master(game.seed, 0),
            now=self._now,
            seating=seating,
            clock=self._clock,
            on_step=look_at_the_time,
            on_fault=blame,
        )
        for fault in faults:
            cause, told = fault.cause, f"{fault.cause.value}: {fault.detail}"
            asked = seating.watch.asked
            self._note(
                Trouble(
                    cause,
                    told,
                    game,
                    *_end(record),
                    fault.log,
                    decisions=asked,
                    advice=about_fault(fault, self._bot),
                )
            )
        return record

    def _note(self, trouble: Trouble) -> None:
        """Keep a trouble, once for each kind."""
        known = self._troubles.get(trouble.problem)
        kept = replace(known, times=known.times + 1) if known else trouble
        self._troubles[trouble.problem] = kept

    def _repeat(self, until: float) -> int:
        """Play games again and compare, at every table by turns; return how many."""
        count = 0
        for number in range(_SEATS):
            for rules in _same_tables():
                if number >= rules.players:
                    continue
                game = self._game(rules, number)
                try:
                    differs = self._differs(game, until)
                except _OutOfTimeError:
                    return count
                count += 1
                if differs:
                    return count
        return count

    def _differs(self, game: Game, until: float) -> bool:
        """Play one game again, here and where chance follows other seeds, and note what differs."""
        first = self._play(game, self._seating, until)
        if first.fault is not None:
            return False  # that is noted
        for way, other in ((_SOMEHOW, self._seating), (_BY_HASH, self._elsewhere)):
            where = _difference(first, self._play(game, other, until))
            if where:
                self._note(Trouble(None, f"determinism: {way}", game, *where))
                return True
        return False


_SOMEHOW: Final = (
    "in the same match, with the same seed, it decided otherwise the second time: it takes chance"
    " from elsewhere than its rng, or its decisions depend on the time"
)
_BY_HASH: Final = (
    "in the same match, with the same seed, it decided otherwise with another hash seed: it uses"
    " the module random and not its rng, or its decisions depend on the order of a set"
)


class _OutOfTimeError(Exception):
    """A game was left before its end."""

    def __init__(self, stop: Stop) -> None:
        super().__init__()
        self.stop = stop


class _Table:
    """How far the hands of one preset and number of players are played."""

    def __init__(self, rules: Settings, wanted: int) -> None:
        self.rules = rules
        self.wanted = wanted
        self.hands = self.games = self.faults = 0
        self.seconds = 0.0

    @property
    def open(self) -> bool:
        """Whether there is more to play."""
        return self.hands < self.wanted and self.faults < _ENOUGH

    def next_rules(self, share: float) -> Settings:
        """Return the rules of the next game: to the target, then a long one, in turn.

        The long one takes about `share` seconds at most, as far as the hands before can tell.
        """
        preset, players = self.rules.preset, self.rules.players
        if not preset.targets or self.games % 2 == 0:
            return self.rules
        pace = self.seconds / max(self.hands, 1)
        most = max(1, int(min(share / pace, _LONG))) if pace else _LONG
        return settings(preset.name, players, length=min(most, self.wanted - self.hands))


def _same_tables() -> Iterator[Settings]:
    for preset in PRESETS.values():
        for players in preset.players:
            length = _SAME_HANDS if preset.targets else 0
            yield settings(preset.name, players, length=length)


def _end(record: Record) -> tuple[int, int]:
    """Return the hand and the play at which a match ended."""
    if not record.hands:
        return 0, 0
    return len(record.hands), len(record.hands[-1].plays) + 1


def _difference(one: Record, other: Record) -> tuple[int, int] | None:
    """Return the first hand and play in which two records of one match differ."""
    for number, (mine, its) in enumerate(zip(one.hands, other.hands, strict=False), 1):
        for play, (card, another) in enumerate(zip(mine.plays, its.plays, strict=False), 1):
            if card != another:
                return number, play
        if mine.declared != its.declared or len(mine.plays) != len(its.plays):
            return number, 0
    return None if len(one.hands) == len(other.hands) else _end(other)
