"""The door between tournaments and protobuf; what is played and told is as the arena says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from google.protobuf.duration_pb2 import Duration

from ronda.v1 import match_pb2, tournament_pb2
from ronda.v1.match_service_pb2 import Heartbeat
from ronda.v1.tournament_service_pb2 import TournamentStreamEnded, WatchTournamentResponse
from ronda_arena.clock import Clock
from ronda_arena.tournament.entrants import games_of_each
from ronda_arena.tournament.spec import Plan
from ronda_server import convert
from ronda_server.tournaments import audience, rounds
from ronda_server.tournaments.book import Progress, Row, before_the_first
from ronda_server.tournaments.folder import Listed, Report
from ronda_server.tournaments.live import Tournament

_Pb = tournament_pb2

_FORMATS: Final = {
    "round-robin": _Pb.TournamentSpec.FORMAT_ROUND_ROBIN,
    "gauntlet": _Pb.TournamentSpec.FORMAT_GAUNTLET,
    "swiss": _Pb.TournamentSpec.FORMAT_SWISS,
    "knockout": _Pb.TournamentSpec.FORMAT_KNOCKOUT,
    "list": _Pb.TournamentSpec.FORMAT_LIST,
}
_STATES: Final = {
    name.removeprefix("STATE_").lower(): number for name, number in _Pb.Tournament.State.items()
}
_PROBLEMS: Final = {
    name.removeprefix("PROBLEM_").lower(): number for name, number in _Pb.Tournament.Problem.items()
}
_CAUSES: Final = {
    name.removeprefix("CAUSE_").lower(): number for name, number in match_pb2.Fault.Cause.items()
}
_UNITS: Final = {"hand": _Pb.Standings.UNIT_HAND, "game": _Pb.Standings.UNIT_GAME}
_RULES: Final = {
    "precision": _Pb.Verdict.RULE_PRECISION,
    "sequential": _Pb.Verdict.RULE_SEQUENTIAL,
    "sprt": _Pb.Verdict.RULE_SPRT,
}
_ACCEPTED: Final = {
    None: _Pb.SprtVerdict.ACCEPTED_UNSPECIFIED,
    "H0": _Pb.SprtVerdict.ACCEPTED_H0,
    "H1": _Pb.SprtVerdict.ACCEPTED_H1,
}
_ENDS: Final = {
    audience.OVER: TournamentStreamEnded.REASON_OVER,
    audience.CANCELLED: TournamentStreamEnded.REASON_CANCELLED,
    audience.DRAINING: TournamentStreamEnded.REASON_DRAINING,
}


def format_name(number: int) -> str | None:
    """Return the name of a format, round robin if unspecified, None if unknown."""
    if number == _Pb.TournamentSpec.FORMAT_UNSPECIFIED:
        return "round-robin"
    return next((name for name, known in _FORMATS.items() if known == number), None)


def created(row: Row) -> tournament_pb2.Tournament:
    """Return a tournament as it was when it was created."""
    return _tournament(row, "waiting", before_the_first(row.plan), 1)


def stored(row: Row) -> tournament_pb2.Tournament:
    """Return a tournament that is over, as its row tells it."""
    assert row.progress
    return _tournament(row, row.state, row.progress, 2 + row.progress.blocks)


def tournament(one: Tournament) -> tournament_pb2.Tournament:
    """Return a tournament as it stands."""
    message = _tournament(one.row, one.state, one.audience.progress, one.audience.sequence)
    message.progress.CopyFrom(far(one, one.audience.progress))
    if one.problem:
        message.problem = _PROBLEMS[one.problem]
    return message


def _tournament(
    row: Row, state: str, progress: Progress, sequence: int
) -> tournament_pb2.Tournament:
    message = _Pb.Tournament(
        id=row.id,
        state=_STATES[state],
        spec=_spec(row.plan, row.name),
        create_time=convert.timestamp(row.created),
        progress=_progress(row.plan, state, progress, sequence),
        commitment=row.commitment,
    )
    if row.ended:
        message.end_time.CopyFrom(convert.timestamp(row.ended))
    return message


def _spec(plan: Plan, name: str) -> tournament_pb2.TournamentSpec:
    message = _Pb.TournamentSpec(
        entrants=[entrant.name for entrant in plan.entrants],
        format=_FORMATS[plan.format],
        name=name,
        rules=plan.rules,
        players=plan.players,
        target=plan.target,
        length=plan.length,
        blocks=plan.blocks,
        rounds=plan.rounds,
        challengers=plan.challengers,
        pairings=[_Pb.Pairing(entrants=pairing) for pairing in plan.pairings],
        rated=plan.rated,
    )
    if plan.clock:
        clock = Clock.parse(plan.clock)
        message.clock.per_decision.CopyFrom(_duration(clock.per_decision))
        message.clock.bank.CopyFrom(_duration(clock.bank))
    if plan.stop.precision is not None:
        message.stop.precision = plan.stop.precision
    if plan.stop.sequential is not None:
        message.stop.sequential = plan.stop.sequential
    if plan.stop.sprt is not None:
        asked = plan.stop.sprt
        rule = _Pb.SprtRule(elo0=asked.elo0, elo1=asked.elo1, alpha=asked.alpha, beta=asked.beta)
        message.stop.sprt.CopyFrom(rule)
    return message


def _duration(seconds: float) -> Duration:
    made = Duration()
    made.FromMicroseconds(round(seconds * 1e6))
    return made


def far(one: Tournament, progress: Progress) -> tournament_pb2.TournamentProgress:
    """Return how far a tournament is, how fast it goes and how long it will take."""
    message = _progress(one.row.plan, one.state, progress, one.audience.sequence)
    if one.problem:
        message.problem = _PROBLEMS[one.problem]
    message.games_per_second = one.pace.games_a_second
    left = one.pace.left(progress.planned)
    if left is not None:
        message.remaining.CopyFrom(_duration(left))
    return message


def _progress(
    plan: Plan, state: str, told: Progress, sequence: int
) -> tournament_pb2.TournamentProgress:
    each = games_of_each(plan.entrants, plan.players)
    return _Pb.TournamentProgress(
        blocks=told.blocks,
        planned_blocks=told.planned,
        games=told.games,
        lost_games=told.lost,
        sequence=sequence,
        planned_games=told.planned * each if told.planned is not None and each else None,
        state=_STATES[state],
    )


def brief(one: Tournament) -> tournament_pb2.Standings:
    """Return what a tournament has come to without its pairs, made once for all that watch."""
    kept = one.brief
    if kept is None or kept[:2] != (one.audience.sequence, one.state):
        key = one.audience.sequence, one.state
        kept = one.brief = *key, standings(one, pairs=False)
    return kept[2]


def standings(one: Tournament, *, pairs: bool) -> tournament_pb2.Standings:
    """Return what a tournament has come to, by its last report."""
    sequence = one.audience.sequence
    names = [entrant.name for entrant in one.row.plan.entrants]
    if one.told is None:
        return _Pb.Standings(
            progress=_progress(one.row.plan, one.state, one.audience.progress, sequence),
            state=_STATES[one.state],
            entrants=names,
            unit=_UNITS[one.row.plan.unit],
        )
    return reported(one.told, one.row.plan, one.state, sequence, pairs=pairs)


def reported(
    told: Report, plan: Plan, state: str, sequence: int, *, pairs: bool
) -> tournament_pb2.Standings:
    """Return what a report of this plan tells."""
    names = [entrant.name for entrant in plan.entrants]
    place = {name: at for at, name in enumerate(names)}
    timing = told["timing"]
    progress = Progress(told["blocks"], told["planned"], told["games"], timing["lost"])
    return _Pb.Standings(
        progress=_progress(plan, state, progress, sequence),
        state=_STATES[state],
        entrants=names,
        unit=_UNITS[told["unit"]],
        games=told["games"],
        ratings=[_rating(row, place) for row in told["ratings"]],
        bots=[
            _Pb.BotRating(
                bot=row["bot"], margin=_estimate(row["margin"]), elo=_estimate(row["elo"])
            )
            for row in told["bots"]
        ],
        pairs=[_pair(row, place) for row in told["pairs"]] if pairs else (),
        positions=[
            _Pb.PositionStanding(
                position=row["position"],
                margin=_estimate(row["margin"]),
                share=_estimate(row["share"]),
            )
            for row in told["positions"]
        ],
        luck=_luck(told["luck"]),
        faults=[_faults(row) for row in told["faults"]],
        verdict=_verdict(told["verdict"]),
        sentences=told["sentences"],
        placings=[place[name] for name in told["placings"]],
        late_games=timing["late"],
        lost_games=timing["lost"],
        seconds=timing["seconds"],
        course=rounds.course(told.get("course"), place),
        thoughts=[rounds.thoughts(row) for row in timing["thoughts"]],
    )


def _rating(row: Mapping[str, Any], place: Mapping[str, int]) -> tournament_pb2.Rating:
    return _Pb.Rating(
        entrant=place[row["entrant"]],
        margin=_estimate(row["margin"]),
        elo=_estimate(row["elo"]),
        blocks=row["blocks"],
        games=row["games"],
        won=row["won"],
        drawn=row["drawn"],
        lost=row["lost"],
        faults=row["faults"],
    )


def _pair(row: Mapping[str, Any], place: Mapping[str, int]) -> tournament_pb2.PairStanding:
    return _Pb.PairStanding(
        first=place[row["first"]],
        second=place[row["second"]],
        margin=_estimate(row["margin"]),
        won=row["won"],
        drawn=row["drawn"],
        lost=row["lost"],
        los=row.get("los"),  # a report that an older version wrote has none
    )


def _estimate(told: Mapping[str, Any]) -> tournament_pb2.Estimate:
    """Return a number with its interval; none stands without."""
    value, low, high = told["value"], told["low"], told["high"]
    if value is None or low is None or high is None:
        return _Pb.Estimate(blocks=told["blocks"])
    interval = _Pb.Interval(value=value, low=low, high=high)
    return _Pb.Estimate(blocks=told["blocks"], interval=interval)


def _luck(told: Mapping[str, Any]) -> tournament_pb2.Luck:
    return _Pb.Luck(
        games=told["games"],
        measured_games=told["measured"],
        plain_variance=told["plain"],
        rotated_variance=told["rotated"],
        controlled_variance=told["controlled"],
        taken_points=told["taken"],
    )


def _faults(row: Mapping[str, Any]) -> tournament_pb2.BotFaults:
    counts = [
        _Pb.FaultCount(cause=_CAUSES[cause], games=games) for cause, games in row["causes"].items()
    ]
    return _Pb.BotFaults(bot=row["bot"], games=row["games"], counts=counts)


def _verdict(told: Mapping[str, Any] | None) -> tournament_pb2.Verdict | None:
    if told is None:
        return None
    return _Pb.Verdict(
        rule=_RULES[told["rule"]],
        decision=told["decision"],
        block=told["block"],
        estimate=_estimate(told["estimate"]),
        sprt=_sprt(told.get("sprt")),  # a report that an older version wrote has none
    )


def _sprt(told: Mapping[str, Any] | None) -> tournament_pb2.SprtVerdict | None:
    if told is None:
        return None
    return _Pb.SprtVerdict(
        elo0=told["elo0"],
        elo1=told["elo1"],
        llr=told["llr"],
        lower=told["lower"],
        upper=told["upper"],
        accepted=_ACCEPTED[told["accepted"]],
        elo=_estimate(told["elo"]),
    )


def game(listed: Listed, *, record: bool) -> tournament_pb2.TournamentGame:
    """Return one game of a block that is over."""
    game_ = listed.game
    message = _Pb.TournamentGame(
        block=listed.block,
        rotation=game_.rotation,
        entrants=listed.entrants,
        seats=listed.seats,
        dealer=game_.dealer,
        hands=game_.hands,
        scores=game_.scores,
        winner=game_.winner,
        record=listed.record.encode() if record else b"",
    )
    if game_.fault:
        fault = match_pb2.Fault(seat=game_.fault.seat, cause=_CAUSES[game_.fault.cause.value])
        message.fault.CopyFrom(fault)
    return message


def frame(one: Tournament, update: audience.Update, now: int) -> WatchTournamentResponse:
    """Return one message of a stream."""
    message = WatchTournamentResponse(sent_time=convert.timestamp(now))
    match update:
        case audience.Standing():
            message.standings.CopyFrom(brief(one))
        case audience.Moved(progress):
            message.progress.CopyFrom(far(one, progress))
        case audience.Quiet(sequence):
            message.heartbeat.CopyFrom(Heartbeat(sequence=sequence))
        case audience.Ended(why, sequence):
            message.ended.CopyFrom(TournamentStreamEnded(reason=_ENDS[why], sequence=sequence))
    return message


def fitting(messages: Iterable[Any], most: int) -> list[Any]:
    """Return the first of these messages, at least one, that have so many bytes together."""
    found: list[Any] = []
    size = 0
    for message in messages:
        size += message.ByteSize()
        if found and size > most:
            break
        found.append(message)
    return found
