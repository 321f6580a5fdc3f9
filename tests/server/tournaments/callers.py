"""A caller of tournaments, and the run on this machine that a hosted one has to equal."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import grpc
from tests.server.conftest import Client, bearer, request_id

from ronda.v1 import tournament_pb2
from ronda.v1 import tournament_service_pb2 as pb
from ronda.v1.tournament_service_pb2_grpc import TournamentServiceStub
from ronda_arena.report.summary import to_json
from ronda_arena.tournament import records
from ronda_arena.tournament.deliver import summary
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.run import Run
from ronda_arena.tournament.store import Folder
from ronda_arena.tournament.tasks import Contract
from ronda_bots.registry import Registry
from ronda_server.tournaments import messages

THREE = ("random", "greedy", "careful")
LONG = 10_000
"""Blocks that no test waits for."""
STATE = tournament_pb2.Tournament


class Caller:
    """Whoever holds an API key of an account."""

    def __init__(self, client: Client, key: str) -> None:
        self.client = client
        self.key = key
        self.stub = TournamentServiceStub(client.channel)

    async def create(self, *, id_: str = "", **fields: Any) -> tournament_pb2.Tournament:
        """Create a tournament of single hands between three bots, but for `fields`."""
        request = pb.CreateTournamentRequest(spec=spec(**fields), request_id=id_ or request_id())
        answer = await self.stub.CreateTournament(request, metadata=bearer(self.key))
        return answer.tournament

    async def cancel(self, tournament: str, *, id_: str = "") -> tournament_pb2.Tournament:
        """Cancel a tournament."""
        request = pb.CancelTournamentRequest(
            tournament_id=tournament, request_id=id_ or request_id()
        )
        answer = await self.stub.CancelTournament(request, metadata=bearer(self.key))
        return answer.tournament

    async def get(self, tournament: str) -> tournament_pb2.Tournament:
        """Return a tournament."""
        request = pb.GetTournamentRequest(tournament_id=tournament)
        return (await self.stub.GetTournament(request)).tournament

    async def standings(self, tournament: str, **fields: Any) -> tournament_pb2.Standings:
        """Return what a tournament has come to."""
        request = pb.GetStandingsRequest(tournament_id=tournament, **fields)
        return (await self.stub.GetStandings(request)).standings

    async def games(self, tournament: str, size: int = 200) -> list[tournament_pb2.TournamentGame]:
        """Return all games that are told, with their records, in pages of a size."""
        found: list[tournament_pb2.TournamentGame] = []
        token = ""
        while True:
            page = await self.stub.ListGames(
                pb.ListGamesRequest(
                    tournament_id=tournament,
                    include_records=True,
                    page_size=size,
                    page_token=token,
                )
            )
            assert len(page.games) <= size
            found += page.games
            token = page.next_page_token
            if not token:
                return found

    def watch(self, tournament: str, after: int = 0) -> Any:
        """Return the stream of a tournament."""
        request = pb.WatchTournamentRequest(tournament_id=tournament, after_sequence=after)
        return self.stub.WatchTournament(request)

    async def watched(self, tournament: str) -> list[pb.WatchTournamentResponse]:
        """Return all that the stream of a tournament brings to its end."""
        return await to_the_end(self.watch(tournament))


async def caller(client: Client, account: str = "ann") -> Caller:
    """Return a caller with a key of an account."""
    _, key = await client.server.accounts.create(account, "", os.urandom(16))
    return Caller(client, key)


def spec(**fields: Any) -> tournament_pb2.TournamentSpec:
    """Return what is asked for: single hands between three bots, but for `fields`."""
    usual: dict[str, Any] = {
        "entrants": THREE,
        "rules": "playtash",
        "players": 2,
        "length": 1,
        "blocks": 4,
    }
    return tournament_pb2.TournamentSpec(**usual | fields)


async def to_the_end(stream: Any) -> list[pb.WatchTournamentResponse]:
    """Return what a stream still brings."""
    told: list[pb.WatchTournamentResponse] = []
    async with asyncio.timeout(60):
        while (message := await stream.read()) is not grpc.aio.EOF:
            told.append(message)
    return told


async def read_until(
    stream: Any, enough: Callable[[pb.WatchTournamentResponse], bool]
) -> pb.WatchTournamentResponse:
    """Return the first message of a stream that is enough."""
    async with asyncio.timeout(60):
        while True:
            message = await stream.read()
            assert message is not grpc.aio.EOF, "the stream is over"
            if enough(message):
                return message  # type: ignore[no-any-return] # grpc's stream has no type here


def counts(message: pb.WatchTournamentResponse) -> bool:
    """Say whether a message brings standings of blocks that are over."""
    return message.standings.progress.blocks > 0


def kept(folder: Path, tournament: str) -> Path:
    """Return where a server keeps a tournament, whose database is in `folder`."""
    return folder / "ronda.db.tournaments" / tournament


def contract_of(where: Path) -> Contract:
    """Return what a tournament is played under, its secret included."""
    with Folder(where) as held:
        found = held.find()
        assert found
        return found.contract


def local(contract: Contract, registry: Registry, where: Path) -> tuple[Any, list[str]]:
    """Return the report and the opened records of an undisturbed run on this machine."""
    where.mkdir()
    with Folder(where) as held:
        store = held.begin(contract)
        run = Run(store)
        with Here(contract, registry) as place:
            run.play(place)
        report = to_json(summary(store, run))
        return report, list(records.lines(store, run.ledger.blocks, over=True))


def as_served(report: Any, contract: Contract, sequence: int) -> tournament_pb2.Standings:
    """Return the standings that a report has to be served as."""
    return messages.reported(report, contract.plan, report["state"], sequence, pairs=True)


def timeless(standings: tournament_pb2.Standings) -> tournament_pb2.Standings:
    """Return standings without what no two runs share."""
    told = tournament_pb2.Standings()
    told.CopyFrom(standings)
    told.seconds = 0
    told.lost_games = told.progress.lost_games = 0
    del told.thoughts[:]
    return told


def plays(lines: Sequence[str | bytes]) -> list[dict[str, Any]]:
    """Return records without their times."""
    told = [json.loads(line) for line in lines]
    return [{**record, "start": "", "end": ""} for record in told]


def without_times(lines: Sequence[str]) -> list[str]:
    """Return records as text, without their times."""
    return [re.sub(r'"(start|end)": "[^"]*"', "", line) for line in lines]
