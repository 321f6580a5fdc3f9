"""The door to a server's tournaments: the one module that speaks its TournamentService.

What comes in leaves as the arena's own summary, so that it is told as a local tournament is.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import grpc
from google.protobuf.duration_pb2 import Duration

from ronda.v1 import match_pb2, tournament_pb2
from ronda.v1 import tournament_service_pb2 as pb
from ronda.v1.tournament_service_pb2_grpc import TournamentServiceStub
from ronda_arena.clock import Clock
from ronda_arena.report import summary as report
from ronda_arena.report.verdict import SprtTold, Verdict
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.tournament.spec import Spec, Stop
from ronda_cli import refusal
from ronda_cli import tournament_rounds as rounds
from ronda_cli.channel import Target, channel
from ronda_cli.convert import name_of
from ronda_cli.text import name, one_line
from ronda_cli.updates import RefusedError

_ANSWER_WITHIN: Final = 30.0
"""Seconds for a call that is not a stream."""
_WIDE: Final = 300
"""Cells of a name that may be a team's."""

_Pb = tournament_pb2

Data = dict[str, Any]


class Far(NamedTuple):
    """How far a tournament is."""

    blocks: int
    planned: int | None
    games: int
    lost: int
    sequence: int
    planned_games: int | None = None
    games_a_second: float = 0.0
    """0: not known."""
    left: float | None = None
    """Seconds, if it goes on like that."""
    state: str = ""
    problem: str = ""
    """Why it is halted."""


class Stands(NamedTuple):
    """What a tournament has come to."""

    far: Far
    summary: report.Summary


class Alive(NamedTuple):
    """Nothing has happened."""


class Ends(NamedTuple):
    """The stream is over: over, cancelled, draining or else."""

    why: str


News = Far | Stands | Alive | Ends


class TournamentClient:
    """The calls of whoever plays or watches tournaments; `key` is an API key, or empty."""

    def __init__(self, target: Target, key: str = "") -> None:
        self.target = target
        self._channel = channel(target)
        self._stub = TournamentServiceStub(self._channel)
        self._metadata = (("authorization", f"Bearer {key}"),) if key else ()

    async def close(self) -> None:
        """Hang up."""
        await self._channel.close()

    async def create(self, spec: Spec, request_id: str) -> Data:
        """Create a tournament and return what is known of it."""
        request = pb.CreateTournamentRequest(spec=_asked(spec), request_id=request_id)
        answer = await self._call(self._stub.CreateTournament, request)
        return _about(answer.tournament)

    async def cancel(self, tournament_id: str, request_id: str) -> Data:
        """End a tournament, and return what is known of it."""
        request = pb.CancelTournamentRequest(tournament_id=tournament_id, request_id=request_id)
        answer = await self._call(self._stub.CancelTournament, request)
        return _about(answer.tournament)

    async def listed(self, most: int) -> list[Data]:
        """Return what is known of the newest tournaments, at most so many."""
        found: list[Data] = []
        token = ""
        while len(found) < most:
            request = pb.ListTournamentsRequest(page_size=most - len(found), page_token=token)
            page = await self._call(self._stub.ListTournaments, request)
            found += map(_about, page.tournaments)
            token = page.next_page_token
            if not token:
                break
        return found

    async def standing(self, tournament_id: str) -> Stands:
        """Return what a tournament has come to, and how far it is."""
        asked = pb.GetTournamentRequest(tournament_id=tournament_id)
        about = (await self._call(self._stub.GetTournament, asked)).tournament
        request = pb.GetStandingsRequest(tournament_id=tournament_id, include_pairs=True)
        answer = await self._call(self._stub.GetStandings, request)
        return Stands(_far(about.progress), _summary(answer.standings, about))

    async def records(self, tournament_id: str) -> AsyncIterator[bytes]:
        """Yield the records of all games that are told by now, in schedule order."""
        token = ""
        while True:
            request = pb.ListGamesRequest(
                tournament_id=tournament_id, include_records=True, page_size=200, page_token=token
            )
            page = await self._call(self._stub.ListGames, request)
            for game in page.games:
                yield bytes(game.record)
            token = page.next_page_token
            if not token:
                return

    async def watch(self, tournament_id: str, after: int) -> AsyncGenerator[News, None]:
        """Stream what is new to who has seen the standings of number `after`."""
        asked = pb.GetTournamentRequest(tournament_id=tournament_id)
        about = (await self._call(self._stub.GetTournament, asked)).tournament
        request = pb.WatchTournamentRequest(tournament_id=tournament_id, after_sequence=after)
        try:
            async for message in self._stub.WatchTournament(request, metadata=self._metadata):
                if news := _news(message, about):
                    yield news
        except grpc.aio.AioRpcError as error:
            raise RefusedError(refusal.read(error)) from None

    async def _call(self, method: Any, request: Any) -> Any:
        try:
            return await method(request, metadata=self._metadata, timeout=_ANSWER_WITHIN)
        except grpc.aio.AioRpcError as error:
            raise RefusedError(refusal.read(error)) from None


def _asked(spec: Spec) -> tournament_pb2.TournamentSpec:
    """Return a spec as a server is asked for it."""
    message = _Pb.TournamentSpec(
        entrants=spec.bots,
        format=_Pb.TournamentSpec.Format.Value(f"FORMAT_{spec.format.upper().replace('-', '_')}"),
        name=spec.name or "tournament",
        rules=spec.rules,
        players=spec.players,
        target=spec.target or 0,
        length=spec.hands,
        blocks=spec.blocks,
        rounds=spec.rounds,
        challengers=spec.challengers or 0,
        pairings=[
            _Pb.Pairing(entrants=[spec.bots.index(name_) for name_ in pairing])
            for pairing in spec.pairings
        ],
        stop=_stop_rule(spec.stop),
        rated=spec.rated,
    )
    if spec.clock:
        clock = Clock.parse(spec.clock)
        message.clock.per_decision.CopyFrom(_duration(clock.per_decision))
        message.clock.bank.CopyFrom(_duration(clock.bank))
    return message


def _stop_rule(stop: Stop) -> tournament_pb2.StopRule:
    rule = _Pb.StopRule(precision=stop.precision or 0.0, sequential=stop.sequential or 0.0)
    if stop.sprt is not None:
        asked = stop.sprt
        sprt = _Pb.SprtRule(elo0=asked.elo0, elo1=asked.elo1, alpha=asked.alpha, beta=asked.beta)
        rule.sprt.CopyFrom(sprt)
    return rule


def _duration(seconds: float) -> Duration:
    made = Duration()
    made.FromMicroseconds(round(seconds * 1e6))
    return made


def _about(told: tournament_pb2.Tournament) -> Data:
    """Return what is told of a tournament as plain data."""
    far = _far(told.progress)
    return {
        "id": name(told.id),
        "state": _word(_Pb.Tournament.State, told.state, "STATE_"),
        "format": _format(told.spec.format),
        "rules": name(told.spec.rules),
        "players": told.spec.players,
        "entrants": [name(entrant, _WIDE) for entrant in told.spec.entrants],
        "blocks": far.blocks,
        "planned": far.planned,
        "games": far.games,
        "planned_games": far.planned_games,
        "games_a_second": round(far.games_a_second, 3) if far.games_a_second else None,
        "seconds_left": None if far.left is None else round(far.left),
        "commitment": name(told.commitment, _WIDE),
        "problem": _word(_Pb.Tournament.Problem, told.problem, "PROBLEM_") if told.problem else "",
    }


def _format(number: tournament_pb2.TournamentSpec.Format.ValueType) -> str:
    return _word(_Pb.TournamentSpec.Format, number, "FORMAT_").replace("_", "-")


def _word(kind: Any, number: int, prefix: str) -> str:
    return name_of(kind, number, prefix)


def _far(told: tournament_pb2.TournamentProgress) -> Far:
    return Far(
        blocks=told.blocks,
        planned=told.planned_blocks if told.HasField("planned_blocks") else None,
        games=told.games,
        lost=told.lost_games,
        sequence=told.sequence,
        planned_games=told.planned_games if told.HasField("planned_games") else None,
        games_a_second=told.games_per_second,
        left=told.remaining.ToMicroseconds() / 1e6 if told.HasField("remaining") else None,
        state=_word(_Pb.Tournament.State, told.state, "STATE_") if told.state else "",
        problem=_word(_Pb.Tournament.Problem, told.problem, "PROBLEM_") if told.problem else "",
    )


def _news(message: pb.WatchTournamentResponse, about: tournament_pb2.Tournament) -> News | None:
    match message.WhichOneof("update"):
        case "standings":
            return Stands(_far(message.standings.progress), _summary(message.standings, about))
        case "progress":
            return _far(message.progress)
        case "heartbeat":
            return Alive()
        case "ended":
            return Ends(_word(pb.TournamentStreamEnded.Reason, message.ended.reason, "REASON_"))
    return None  # a kind of message that came after this version


def _summary(told: tournament_pb2.Standings, about: tournament_pb2.Tournament) -> report.Summary:
    """Return standings as the arena's summary; what a server does not tell is left empty."""
    names = [name(entrant, _WIDE) for entrant in told.entrants]
    far = _far(told.progress)
    state = _word(_Pb.Tournament.State, told.state, "STATE_")
    return report.Summary(
        plan=_plan(about, names),
        state=state,
        unit=_word(_Pb.Standings.Unit, told.unit, "UNIT_"),
        blocks=far.blocks,
        planned=far.planned,
        games=told.games,
        ratings=tuple(_rating(row, names) for row in told.ratings),
        bots=tuple(
            report.BotRow(name(row.bot, _WIDE), _estimate(row.margin), _estimate(row.elo))
            for row in told.bots
        ),
        pairs=tuple(_pair(row, names) for row in told.pairs),
        positions=tuple(
            report.PositionRow(row.position, _estimate(row.margin), _estimate(row.share))
            for row in told.positions
        ),
        luck=_luck(told.luck),
        faults=tuple(_faults(row) for row in told.faults),
        verdict=_verdict(told.verdict) if told.HasField("verdict") else None,
        progress=(),
        sentences=tuple(one_line(sentence, 2000) for sentence in told.sentences)
        or (f"It is {state}: no block is over yet, and there is nothing to say.",),
        placings=tuple(_named(at, names) for at in told.placings),
        timing=report.Timing(
            told.seconds, told.lost_games, told.late_games, rounds.thoughts(told.thoughts)
        ),
        course=rounds.course(told.course, names) if told.HasField("course") else None,
        entrants=tuple(names),
        commitment=name(about.commitment, _WIDE),
    )


def _plan(about: tournament_pb2.Tournament, names: Sequence[str]) -> dict[str, object]:
    spec = about.spec
    return {
        "id": name(about.id),
        "format": _format(spec.format),
        "rules": name(spec.rules),
        "players": spec.players,
        "target": spec.target,
        "length": spec.length,
        "entrants": list(names),
        "blocks": spec.blocks,
        "rounds": spec.rounds,
        "challengers": spec.challengers,
        "pairings": [list(pairing.entrants) for pairing in spec.pairings],
        "seeded": False,
        "clock": _clock(spec.clock) if spec.HasField("clock") else None,
        "rated": spec.rated,
        "stop": {
            "precision": spec.stop.precision or None,
            "sequential": spec.stop.sequential or None,
            "sprt": _hypotheses(spec.stop.sprt) if spec.stop.HasField("sprt") else None,
        },
    }


def _hypotheses(told: tournament_pb2.SprtRule) -> dict[str, float]:
    return {"elo0": told.elo0, "elo1": told.elo1, "alpha": told.alpha, "beta": told.beta}


def _clock(told: tournament_pb2.TournamentClock) -> str:
    seconds = told.per_decision.ToMicroseconds() / 1e6
    bank = told.bank.ToMicroseconds() / 1e6
    return f"{seconds:g}+{bank:g}" if bank else f"{seconds:g}"


def _named(at: int, names: Sequence[str]) -> str:
    return names[at] if at < len(names) else ""


def _rating(row: tournament_pb2.Rating, names: Sequence[str]) -> report.RatingRow:
    return report.RatingRow(
        entrant=_named(row.entrant, names),
        margin=_estimate(row.margin),
        elo=_estimate(row.elo),
        blocks=row.blocks,
        games=row.games,
        won=row.won,
        drawn=row.drawn,
        lost=row.lost,
        faults=row.faults,
    )


def _pair(row: tournament_pb2.PairStanding, names: Sequence[str]) -> report.PairRow:
    first, second = _named(row.first, names), _named(row.second, names)
    los = row.los if row.HasField("los") else None
    margin = _estimate(row.margin)
    return report.PairRow(first, second, margin, row.won, row.drawn, row.lost, los)


def _estimate(told: tournament_pb2.Estimate) -> Estimate:
    if not told.HasField("interval"):
        return Estimate(None, None, None, told.blocks)
    return Estimate(told.interval.value, told.interval.low, told.interval.high, told.blocks)


def _luck(told: tournament_pb2.Luck) -> report.LuckRow:
    return report.LuckRow(
        told.games,
        told.measured_games,
        told.plain_variance if told.HasField("plain_variance") else None,
        told.rotated_variance if told.HasField("rotated_variance") else None,
        told.controlled_variance if told.HasField("controlled_variance") else None,
        told.taken_points,
    )


def _faults(row: tournament_pb2.BotFaults) -> report.FaultRow:
    causes: Mapping[str, int] = {
        _word(match_pb2.Fault.Cause, one.cause, "CAUSE_"): one.games for one in row.counts
    }
    return report.FaultRow(name(row.bot, _WIDE), row.games, dict(causes))


def _verdict(told: tournament_pb2.Verdict) -> Verdict:
    return Verdict(
        rule=_word(_Pb.Verdict.Rule, told.rule, "RULE_"),
        decision=one_line(told.decision, 2000),
        block=told.block if told.HasField("block") else None,
        estimate=_estimate(told.estimate),
        sprt=_sprt(told.sprt) if told.HasField("sprt") else None,
    )


def _sprt(told: tournament_pb2.SprtVerdict) -> SprtTold:
    accepted = {_Pb.SprtVerdict.ACCEPTED_H0: "H0", _Pb.SprtVerdict.ACCEPTED_H1: "H1"}
    return SprtTold(
        elo0=told.elo0,
        elo1=told.elo1,
        llr=told.llr,
        lower=told.lower,
        upper=told.upper,
        accepted=accepted.get(told.accepted),
        elo=_estimate(told.elo),
    )
