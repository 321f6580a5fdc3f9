"""Answers what one driver wants hosted, for as long as that driver lives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from ronda_arena.tournament.executors.chunks import fault_words
from ronda_server.tables.tables import Tables
from ronda_server.tables.told import Hosted, Wanted

_log = structlog.get_logger(__name__)


class Desk:
    """Where one driver asks."""

    def __init__(self, tables: Tables, answer: Callable[[Hosted], None]) -> None:
        self._tables = tables
        self._answer = answer
        self._games: dict[asyncio.Task[None], str] = {}
        """Each with what it is played for."""
        self._closed = False

    def take(self, wanted: Wanted) -> None:
        """Host a game, and answer when it is over."""
        if not self._closed:
            game = asyncio.get_running_loop().create_task(self._play(wanted))
            self._games[game] = wanted.dealt.place.tournament
            game.add_done_callback(self._games.pop)

    async def drop(self, tournament: str) -> None:
        """Call off the games of a tournament, or of a block of a ladder, and answer for none."""
        await self._give_up([game for game, of in self._games.items() if of == tournament])
        await self._tables.end(tournament)

    async def close(self) -> None:
        """Wait for nothing more. Matches go on, for whoever asks for them next."""
        self._closed = True
        await self._give_up([*self._games])

    @staticmethod
    async def _give_up(games: Sequence[asyncio.Task[None]]) -> None:
        for game in games:
            game.cancel()
        await asyncio.gather(*games, return_exceptions=True)

    async def _play(self, wanted: Wanted) -> None:
        try:
            hosted = await self._tables.play(wanted)
        except Exception as fault:  # noqa: BLE001 -- a fault of ours: named without its text
            words = fault_words(fault)
            _log.error("a game cannot be hosted", match=wanted.match_id, problem=words)
            hosted = Hosted(wanted.match_id, None, words)
        self._answer(hosted)
