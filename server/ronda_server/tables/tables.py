"""Hosted games: a match for each, found again or made, waited for, and told as its record.

A match is named after its game, so whoever asks again, after a driver or the server was killed,
finds it where it stands. Nobody sees it but its seats, and it is never dealt anew.
"""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any, Final

from ronda_arena.isolation import IsolationError, Level
from ronda_arena.tournament.play import sealed
from ronda_arena.tournament.tasks import Thought
from ronda_bots.registry import BotNotFoundError
from ronda_core import fair
from ronda_core.match import Cause
from ronda_core.record import write
from ronda_server import fold
from ronda_server.endings import write_state
from ronda_server.errors import ConflictError, LogError, Reason, ServiceError, StorageError
from ronda_server.facts import Fact
from ronda_server.game import BOT, IN_WORKERS, REMOTE, forfeit
from ronda_server.hosting import Host
from ronda_server.live import Live
from ronda_server.statements import Rows, insert_match, rows_of, set_running
from ronda_server.tables.room import Limits, Room
from ronda_server.tables.told import Hosted, Wanted

_DECIDED: Final = ("answered", "played")


class Tables:
    """The tables of one server, for all its tournaments and ladders."""

    def __init__(self, host: Host, limits: Limits) -> None:
        self._host = host
        self._room = Room(host.remotes, limits)
        self._opening: set[asyncio.Task[Live]] = set()

    async def play(self, wanted: Wanted) -> Hosted:
        """Return what came of a game, when it is over.

        Who is cancelled waits no more; the match goes on, and is found again.
        """
        began = self._host.now()
        try:
            live = await self._match(wanted)
            with self._room.table(live.game.workers):
                await live.ended.wait()
            return await self._told(wanted, live, began)
        except LogError:
            return Hosted(wanted.match_id, None, "its match cannot be read")
        except (BotNotFoundError, IsolationError) as problem:
            return Hosted(wanted.match_id, None, str(problem))

    async def end(self, tournament: str) -> None:
        """Call off what is still played for a tournament, or for a block of a ladder.

        Nobody may ask for its games meanwhile. `StorageError` if that cannot be written down.
        """
        await self._host.loaded()
        if self._opening:
            await asyncio.wait(self._opening)
        for live in self._host.at_tables(tournament):
            await self._host.call_off(live)

    async def _match(self, wanted: Wanted) -> Live:
        """Find or make the match of a game, for as long as the storage may be away."""
        while True:
            try:
                return await self._found(wanted) or await self._begun(wanted)
            except ConflictError:  # somebody else has just made it: a driver that is gone by now
                continue
            except StorageError:
                await self._host.pause()

    async def _found(self, wanted: Wanted) -> Live | None:
        try:
            return await self._host.find(wanted.match_id)
        except ServiceError as problem:
            if problem.reason is not Reason.MATCH_NOT_FOUND:
                raise
            return None

    async def _begun(self, wanted: Wanted) -> Live:
        seats = self._seats(wanted)
        workers = sum(seat["isolation"] in IN_WORKERS for seat in seats)
        turn = await self._room.wait(wanted.seats_of, workers)
        try:
            opening = self._host.spawn(self._open(wanted, seats, turn.granted.result()))
            self._opening.add(opening)
            opening.add_done_callback(self._opening.discard)
            return await asyncio.shield(opening)
        finally:
            self._room.begun(turn)

    def _seats(self, wanted: Wanted) -> list[dict[str, Any]]:
        self._host.meet(wanted.bots)
        seats = []
        for identity in wanted.dealt.seats:
            isolation = REMOTE
            if identity not in wanted.remote:
                bot = self._host.registry.find(identity)
                level = Level.SANDBOX if wanted.rated else self._host.seating.level(bot)
                if self._host.seating.granted.weaker(level):
                    raise IsolationError(f"this machine does not enforce {level.value}")
                isolation = level.value
            seats.append({"kind": BOT, "identity": identity, "isolation": isolation})
        return seats

    async def _open(self, wanted: Wanted, seats: list[dict[str, Any]], absent: str) -> Live:
        """Make a match; one for which somebody does not show up is over with that."""
        match_id, game, settings = wanted.match_id, wanted.dealt, wanted.settings
        now = self._host.now()
        data = {
            "rules": settings.preset.name,
            "target": settings.target,
            "length": settings.length,
            "per_decision": wanted.per_decision,
            "visibility": "private",
            "owner": "",
            "seats": seats,
            "table": {
                "tournament": game.place.tournament,
                "block": game.place.block,
                "rotation": game.place.rotation,
                "scope": game.place.scope,
                "roster": [entry.identity for entry in game.entries],
                "rated": wanted.rated,
            },
        }
        commitment = fair.commitment(game.master, game.place.tournament)
        made, happened = fold.create(
            match_id, Fact(1, now, "created", data), commitment, game.master
        )
        if absent:
            missing = forfeit(game.seats.index(absent), Cause.NO_SHOW)
            happened += fold.apply(made, *missing, now)
        rows = rows_of(match_id, [one.fact for one in happened])

        def work(connection: sqlite3.Connection) -> Rows:
            connection.execute(
                "INSERT OR IGNORE INTO secret (scope, master) VALUES (?, ?)",
                (game.place.tournament, game.master),
            )
            insert_match(connection, match_id, "private", now, None, None)
            if made.over:
                write_state(connection, made)
            else:
                set_running(connection, match_id)
            return rows

        await self._host.log.submit(work)
        self._host.metrics.created(settings.preset.name)
        return self._host.keep(made, happened)

    async def _told(self, wanted: Wanted, live: Live, began: int) -> Hosted:
        result = live.game.result
        assert result
        guilty = wanted.dealt.seats[result.fault.seat] if result.fault else ""
        for identity in wanted.remote - {guilty}:
            self._room.finished(identity)
        if live.game.state == "cancelled":
            return Hosted(wanted.match_id, None, "its match was called off")
        while True:
            try:
                record = await self._host.record(live)
                break
            except StorageError:
                await self._host.pause()
        seconds = (self._host.now() - began) / 1e6
        return Hosted(wanted.match_id, write(sealed(record)), None, _thoughts(live), seconds)


def _thoughts(live: Live) -> tuple[Thought, ...]:
    """Return what the decisions of each seat took, the way to it and back among it."""
    took: list[list[float]] = [[] for _ in live.game.seats]
    opened = 0
    for one in live.audience.history:
        fact = one.fact
        if fact.kind in _DECIDED:
            took[fact.data["seat"]].append((fact.time - opened) / 1e6)
        if fact.kind in fold.OPENERS:
            opened = fact.time
    return tuple(
        Thought(seat.identity, len(times), sum(times), max(times))
        for seat, times in zip(live.game.seats, took, strict=True)
        if times
    )
