"""What a driver says of a ladder that goes on: what has changed, at a bounded rate.

A block changes the few bots in it, so that is what is looked at, however many games there were;
all are only where it changed who plays.
"""

from __future__ import annotations

import threading
import time
from multiprocessing.connection import Connection
from typing import Final

from ronda_arena.ladder.history import History, Point, point
from ronda_arena.ladder.rows import rated, row
from ronda_arena.ladder.standings import Bot, Change, Ladder
from ronda_server.ladders.told import CallOff, Head, Opened, Seen, Stood, Waiting
from ronda_server.tables.told import Wanted
from ronda_server.tournaments.told import Halted

_EVERY: Final = 0.5
"""Seconds between two words."""


class Teller:
    """Of one ladder."""

    def __init__(self, link: Connection) -> None:
        self._link = link
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._reading: dict[int, History] | None = {}
        self._touched: set[int] = set()
        self._points: list[tuple[int, Point]] = []
        self._moves = self._facts = 0
        self._head: Head | None = None
        self._seen: dict[str, Seen] = {}
        self._new: list[tuple[str, Point]] = []

    def changed(self, number: int, change: Change) -> None:
        """Take in what a block did to a bot."""
        if self._reading is not None:
            self._reading.setdefault(number, History()).add(point(change))
            return
        self._touched.add(number)
        self._points.append((number, point(change)))

    def open(self, ladder: Ladder) -> None:
        """Say all that the log comes to."""
        assert self._reading is not None
        bots = ladder.bots
        histories = {bots[number].identity: kept for number, kept in self._reading.items()}
        self._reading, self._moves, self._facts = None, ladder.moves, ladder.facts
        seen = tuple(_seen(ladder, bot) for bot in bots)
        self._link.send(Opened(_head(ladder), seen, histories))
        threading.Thread(target=self._tell, name="teller", daemon=True).start()

    def step(self, ladder: Ladder) -> None:
        """Take in how it stands now, to be said if that is anything new."""
        if ladder.facts == self._facts:
            return
        self._facts = ladder.facts
        bots = ladder.bots
        moved = self._moves != ladder.moves
        looked_at = bots if moved else [bots[number] for number in self._touched]
        self._moves = ladder.moves
        with self._lock:
            self._head = _head(ladder)
            self._seen.update((bot.identity, _seen(ladder, bot)) for bot in looked_at)
            self._new += [(bots[number].identity, one) for number, one in self._points]
        self._touched.clear()
        self._points.clear()
        self._news.set()

    def wait(self, problem: str) -> None:
        """Say that nobody is there to play."""
        self._flush(Waiting(problem))

    def halt(self, problem: str, words: str) -> None:
        """Say that it cannot go on."""
        self._flush(Halted(problem, words))

    def say(self, word: Wanted | CallOff) -> None:
        """Say something at once."""
        with self._lock:
            self._link.send(word)

    def _tell(self) -> None:
        while True:
            self._news.wait()
            self._news.clear()
            try:
                self._flush()
            except OSError:  # the server is gone, and this process ends with it
                return
            time.sleep(_EVERY)  # what comes meanwhile is said together

    def _flush(self, word: Waiting | Halted | None = None) -> None:
        with self._lock:
            if self._head:
                said = Stood(self._head, tuple(self._seen.values()), tuple(self._new))
                self._head = None
                self._seen.clear()
                self._new.clear()
                self._link.send(said)
            if word:
                self._link.send(word)


def _head(ladder: Ladder) -> Head:
    return Head(ladder.facts, ladder.now, ladder.blocks, ladder.games, ladder.void, ladder.misfit)


def _seen(ladder: Ladder, bot: Bot) -> Seen:
    told = row(ladder, bot)
    if bot.pinned:
        return Seen(told)
    rating = bot.rating
    return Seen(rated(told, rating, 0.0), rating, None if bot.present else bot.since)
