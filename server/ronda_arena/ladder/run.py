"""A ladder that goes on: who is there, who meets next, where it is played, and what came of it.

It can be ended at any moment, and goes on from what the store has. A block that was being played
then, or that was lost with a worker, is listed as ended so, and its bots meet again in another.
"""

from __future__ import annotations

import faulthandler
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Final, Self

from ronda_arena.ladder import pairing
from ronda_arena.ladder.arrivals import Arrivals
from ronda_arena.ladder.facts import End, Over, Released, Seated, Void
from ronda_arena.ladder.guests import Guests, Nobody
from ronda_arena.ladder.plan import LadderError
from ronda_arena.ladder.standings import Change, Ladder
from ronda_arena.ladder.store import Store
from ronda_arena.ladder.tempo import Tempo
from ronda_arena.tournament.executors import Executor, ExecutorError
from ronda_arena.tournament.results import Game
from ronda_arena.tournament.tasks import Contract, Played, Task
from ronda_arena.tournament.watch import Watch
from ronda_bots.registry import Registry

LOOK_EVERY: Final = 60.0
"""Seconds after which it is looked again who is installed."""
BATCH: Final = 16
"""Blocks that are seated in one transaction, at most."""
LEAST: Final = 4
"""Blocks that are seated in one transaction where there is room for few."""
MOST_LOST: Final = 20
"""Blocks in a row that are lost by no fault of a bot, before the machine is taken to be unfit."""

_GRACE_SECONDS: Final = 5.0
"""For who is told that it hangs, before what every thread does is printed."""
_STDERR: Final = 2
"""The descriptor: where what a hanging process says goes, whatever has become of `sys.stderr`."""

Make = Callable[[Contract, Registry], Executor]
Tell = Callable[[Ladder], None]
Stalled = Callable[[Sequence[Task]], None]
"""Called in a thread of its own with the games that are under way, the first begun first."""


class _Playing:
    """A block that is being played: what came of its games so far."""

    def __init__(self, entrants: tuple[int, ...], *, hosted: bool, alone: bool) -> None:
        self.entrants = entrants
        self.hosted = hosted
        """It is played elsewhere, where it takes nobody's place."""
        self.alone = alone
        """It has a bot that takes long, or may."""
        self.later: deque[Task] = deque()
        """Its games that are played one after the other."""
        self.games: dict[int, Game] = {}
        self.records: dict[int, str] = {}


class Run:
    """One ladder that is played."""

    def __init__(
        self,
        store: Store,
        find: Callable[[], Registry],
        *,
        wanted: Sequence[str] = (),
        owners: Mapping[str, str] | None = None,
        tell: Tell = lambda _: None,
        told: Callable[[int, Change], None] | None = None,
        guests: Guests | None = None,
        now: Callable[[], int] = lambda: int(time.time()),
        clock: Callable[[], float] = time.monotonic,
        look_every: float = LOOK_EVERY,
        at_once: int = pairing.AT_ONCE,
        patience: float | None = None,
        stalled: Stalled = lambda _: None,
    ) -> None:
        """Read how it stands, and end what was being played when the one before was ended.

        `find` says who is installed, and is asked again every `look_every` seconds. `wanted` are
        the names that play; empty: all. `owners` are by name; who has none owns itself. `tell` is
        called when something has been written down, `told` of each bot what every block that is
        over did to it, those of the log first. `guests` are the bots that play elsewhere. Where no
        game ends for `patience` seconds, `stalled` is told what is waited for. If it does not end
        the process, or cannot be called, that happens a moment later: what every thread does is
        printed then.
        """
        self._store = store
        self._tell = tell
        self._guests = guests or Nobody()
        self._now = now
        self._clock = clock
        self._look_every = look_every
        self._at_once = at_once
        self._patience = patience
        self._stalled = stalled
        self._watch: Watch | None = None
        self._under_way: dict[tuple[str, int], Task] = {}
        self._playing: dict[str, _Playing] = {}
        self._hosted: Counter[int] = Counter()
        """Blocks of each bot that are being played elsewhere."""
        self._tempo = Tempo()
        self.ready: deque[Task] = deque()
        """Games that can be played now."""
        self._lost_in_row = 0
        self._looked = 0.0
        self.ladder = Ladder(store.plan, told)
        self._arrivals = Arrivals(
            store, self.ladder, find, self._guests, tuple(wanted), dict(owners or {}), now
        )
        for fact in store.facts():
            self.ladder.take(fact)
        self._void(list(self.ladder.open), "the ladder was stopped while it was played")

    def release(self, identity: str) -> None:
        """Let a bot play again that was in quarantine."""
        bot = self.ladder.find(identity)
        if bot is None or not bot.quarantined:
            raise LadderError(f"{identity} is not in quarantine")
        fact = Released(bot.number, self._now())
        self._store.note([fact])
        self.ladder.take(fact)

    def play(self, make: Make, games: int | None = None) -> None:
        """Play until there are so many games, all in all; for ever, if None.

        `LadderError` where nobody is there to play: it may be called again when there is.
        """
        while not self._enough(games):
            registry = self._look()
            feed = _Feed(self, games)
            with ExitStack() as stack:
                executor = stack.enter_context(make(self._arrivals.contract, registry))
                self._begin_to_wait(stack)
                while not self._enough(games) and (self._playing or not feed.stale):
                    before = feed.given
                    self._play(executor, feed)
                    if feed.given == before:
                        if feed.stale:
                            break
                        raise LadderError(self._nobody())

    def _play(self, executor: Executor, feed: _Feed) -> None:
        self._under_way.clear()
        self._wait()
        self._tempo.width = executor.width
        with closing(executor.play(feed)) as results:
            for some in results:
                self._wait()
                self._tempo.width = executor.width
                self._take(some)
                self._arrivals.meet()
                self._tell(self.ladder)
                if self._clock() - self._looked >= self._look_every and not feed.stale:
                    self._looked = self._clock()
                    feed.stale = self._arrivals.changed()
                    if feed.stale:
                        self._guests.leave()

    def _take(self, some: Sequence[Played]) -> None:
        """Count what was played: blocks of which it was the last game, all in one transaction."""
        over: list[Over] = []
        lost: dict[str, str] = {}
        records: dict[str, list[str]] = {}
        for one in some:
            assert one.task.deal is not None
            block = one.task.deal.id
            self._under_way.pop((block, one.task.rotation), None)
            playing = self._playing.get(block)
            if not self._hosts(one.task.entrants):
                names = [self.ladder.bots[at].identity for at in one.task.entrants]
                self._tempo.take(one.task.entrants, names, one)
            if playing is None or block in lost:
                continue  # another of its games was lost, and with it the block
            if one.game is None:
                lost[block] = one.lost or ""
                continue
            assert one.record is not None
            playing.games[one.task.rotation] = one.game
            playing.records[one.task.rotation] = one.record
            if playing.later:
                self.ready.append(playing.later.popleft())
            if len(playing.games) == self.ladder.plan.games:
                games = tuple(game for _, game in sorted(playing.games.items()))
                over.append(Over(block, games, self._now()))
                records[block] = [line for _, line in sorted(playing.records.items())]
        self._tempo.judge(self.ladder.pool)
        voids = [Void(block, why, self._now()) for block, why in lost.items()]
        if not over and not voids:
            return
        if voids:
            self._guests.void([*lost])
        ends: list[End] = [*over, *voids]
        self._store.end(ends, records)
        for fact in ends:
            self.ladder.take(fact)
            ended = self._playing.pop(fact.block)
            if ended.hosted:
                self._hosted.subtract(ended.entrants)
        self._lost_in_row = 0 if over else self._lost_in_row + len(voids)
        if self._lost_in_row >= MOST_LOST:
            raise ExecutorError(
                f"{self._lost_in_row} blocks in a row were lost by no fault of a bot, the last time"
                f" so: {voids[-1].why}"
            )

    def _void(self, blocks: Sequence[str], why: str) -> None:
        facts = [Void(block, why, self._now()) for block in blocks]
        if facts:
            self._guests.void(blocks)
            self._store.end(facts, {})
        for fact in facts:
            self.ladder.take(fact)

    def seat(self, games: int | None) -> None:
        """Decide who plays the next blocks, write it down, and have their games ready.

        Those of a block with a bot that takes long, or may, are played one after the other.
        """
        plan, ladder = self.ladder.plan, self.ladder
        seated: list[Seated] = []
        # Where there is little room a part of it is left to the other workers.
        batch = min(BATCH, max(LEAST, ladder.pool.room(plan.seats, self._at_once) // 3))
        while len(seated) < batch and not self._enough(games, ahead=True):
            found = self._next_pairing(seated)
            if found is None:
                break
            entrants, again = found
            one = Seated(self._store.next_block(len(seated)), entrants, self._now(), again)
            ladder.take(one)
            seated.append(one)
            if self._hosts(entrants):
                self._hosted.update(entrants)
        if not seated:
            return
        for one, deal in zip(seated, self._store.seat(seated), strict=True):
            hosted = self._hosts(one.entrants)
            alone = not hosted and self._tempo.may_be_slow(one.entrants)
            playing = _Playing(one.entrants, hosted=hosted, alone=alone)
            self._playing[one.block] = playing
            turns = range(plan.games)
            tasks = [Task(0, one.entrants, turn, deal=deal, alone=alone) for turn in turns]
            (playing.later if alone else self.ready).extend(tasks)
            if alone:
                self.ready.append(playing.later.popleft())

    def _next_pairing(self, seated: Sequence[Seated]) -> tuple[tuple[int, ...], str] | None:
        """Return who plays next beside those that were just seated, and in the place of which."""
        tempo = self._tempo
        here = [one.entrants for one in seated if not self._hosts(one.entrants)]
        slow = sum(playing.alone for playing in self._playing.values())
        slow += sum(map(tempo.may_be_slow, here))
        found = self._free_pairing(slow)
        if found is None and not here and all(one.hosted for one in self._playing.values()):
            tempo.forgive()
            found = self._free_pairing(slow)
        return found

    def _free_pairing(self, slow: int) -> tuple[tuple[int, ...], str] | None:
        pool = self.ladder.pool
        resting = self._tempo.resting(pool, slow, self._hosted) | pool.full(self._arrivals.most)
        return pairing.next_pairing(self.ladder, self._store.secret, self._at_once, resting)

    def _hosts(self, entrants: Sequence[int]) -> bool:
        """Say whether a game of these is played elsewhere."""
        return any(self.ladder.bots[at].remote for at in entrants)

    def gives(self, task: Task) -> bool:
        """Say whether a game still counts, none of its block being lost: it is played then."""
        if task.deal is None or task.deal.id not in self._playing:
            return False
        self._under_way[task.deal.id, task.rotation] = task
        return True

    def _enough(self, games: int | None, *, ahead: bool = False) -> bool:
        if games is None:
            return False
        coming = len(self.ladder.open) * self.ladder.plan.games if ahead else 0
        return self.ladder.games + coming >= games

    def _look(self) -> Registry:
        """Write down who came and who went; return those who play here."""
        self._looked = self._clock()
        playing = self._arrivals.look()
        self._tell(self.ladder)
        present = sum(bot.present for bot in self.ladder.bots)
        if present < self.ladder.plan.seats:
            many = "1 bot is" if present == 1 else f"{present} bots are"
            raise LadderError(f"{many} there, and a table needs {self.ladder.plan.seats}")
        return playing

    def _nobody(self) -> str:
        resting = [bot.identity for bot in self.ladder.bots if bot.present and bot.quarantined]
        why = f" ({', '.join(resting)} are in quarantine)" if resting else ""
        return (
            f"no {self.ladder.plan.seats} bots of different owners are free to play{why}:"
            " install another, or release one"
        )

    def _begin_to_wait(self, stack: ExitStack) -> None:
        """Notice from now on, until the stack is closed, where no game ends any more."""
        if self._patience is not None:
            stack.callback(faulthandler.cancel_dump_traceback_later)
            watch = Watch(self._patience, lambda: self._stalled([*self._under_way.values()]))
            self._watch = stack.enter_context(watch)

    def _wait(self) -> None:
        if self._patience is not None and self._watch is not None:
            self._watch.heard()
            last = self._patience + _GRACE_SECONDS
            faulthandler.dump_traceback_later(last, exit=True, file=_STDERR)


class _Feed:
    """The games to play next, for an executor: it ends where nobody is free, and then goes on.

    Once bots came or went it gives nothing any more, until there are workers that know them.
    """

    def __init__(self, run: Run, games: int | None) -> None:
        self._run = run
        self._games = games
        self._batch = False
        self.stale = False
        self.given = 0
        """Games that were given so far."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Task:
        while True:
            while self._run.ready:
                task = self._run.ready.popleft()
                if self._run.gives(task):
                    self.given += 1
                    return task
            if self._batch:  # so that the next one goes to another worker
                self._batch = False
                raise StopIteration
            if self.stale:
                raise StopIteration
            self._run.seat(self._games)
            if not self._run.ready:
                raise StopIteration
            self._batch = True
