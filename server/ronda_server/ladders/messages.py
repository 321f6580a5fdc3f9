"""The door between ladders and protobuf; what is played and told is as the arena says it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from google.protobuf.duration_pb2 import Duration

from ronda.v1 import ladder_pb2, match_pb2, tournament_pb2
from ronda.v1.ladder_service_pb2 import LadderStreamEnded, WatchLadderResponse
from ronda.v1.match_service_pb2 import Heartbeat
from ronda_arena.clock import Clock
from ronda_arena.ladder.history import Point
from ronda_arena.ladder.ratings import Rating
from ronda_arena.ladder.rows import Told, told
from ronda_server import convert
from ronda_server.ladders import audience
from ronda_server.ladders.hosted import Ladder
from ronda_server.ladders.table import Ranked

_Pb = ladder_pb2

_STATES: Final = {
    name.removeprefix("STATE_").lower(): number for name, number in _Pb.Ladder.State.items()
}
_PROBLEMS: Final = {
    name.removeprefix("PROBLEM_").lower(): number for name, number in _Pb.Ladder.Problem.items()
}
_PLAYS: Final = {
    name.removeprefix("STATE_").lower(): number for name, number in _Pb.LadderRating.State.items()
}
_CAUSES: Final = {
    name.removeprefix("CAUSE_").lower(): number for name, number in match_pb2.Fault.Cause.items()
}
_SECOND: Final = 1_000_000
_SHOWN: Final = 2000
"""Bots in standings on a stream, so that a client can take them."""
_NOTE: Final = 1000
_MOST_ALIKE: Final = 200


def state_name(number: int) -> str | None:
    """Return the name of a bot's state; None if it is none."""
    return next((name for name, known in _PLAYS.items() if known == number != 0), None)


def ladder(one: Ladder) -> ladder_pb2.Ladder:
    """Return a ladder as it stands."""
    plan = one.plan
    message = _Pb.Ladder(
        name=plan.id,
        state=_STATES[one.state],
        rules=plan.rules,
        players=plan.players,
        target=plan.target,
        length=plan.length,
        rated=plan.rated,
    )
    if one.problem:
        message.problem = _PROBLEMS[one.problem]
    if plan.clock:
        clock = Clock.parse(plan.clock)
        message.clock.per_decision.CopyFrom(_duration(clock.per_decision))
        message.clock.bank.CopyFrom(_duration(clock.bank))
    head = one.table.head
    if head:
        message.blocks, message.games, message.lost_blocks = head.blocks, head.games, head.void
        message.sequence = head.facts
        if head.facts:
            message.update_time.CopyFrom(convert.timestamp(head.now * _SECOND))
    return message


def rating(ranked: Ranked) -> ladder_pb2.LadderRating:
    """Return how a bot stands."""
    row = ranked.row
    message = _Pb.LadderRating(
        bot=row.bot,
        owner=row.owner,
        state=_PLAYS[row.state],
        note=row.note[:_NOTE],
        provisional=row.provisional,
        rank=ranked.rank,
        rating=tournament_pb2.Interval(value=row.rating, low=row.low, high=row.high),
        at_least=row.conservative,
        blocks=row.blocks,
        games=row.games,
        won=row.won,
        drawn=row.drawn,
        lost=row.lost,
        faults=[
            tournament_pb2.FaultCount(cause=_CAUSES[cause], games=games)
            for cause, games in row.faults.items()
        ],
        opponents=row.opponents,
        predecessor=row.predecessor,
        code=row.code,
        code_changes=row.changed,
        alike=row.alike[:_MOST_ALIKE],
        remote=row.remote,
    )
    if row.last:
        message.last_block_time.CopyFrom(convert.timestamp(row.last * _SECOND))
    return message


def history(one: Ladder, bot: str) -> list[ladder_pb2.RatingPoint]:
    """Return what a bot's rating has been."""
    pinned = any(anchor.bot == bot for anchor in one.plan.anchors)
    return [_point(point, pinned=pinned) for point in one.table.history(bot)]


def _point(point: Point, *, pinned: bool) -> ladder_pb2.RatingPoint:
    shown: Told = told(Rating(point.mean, point.sigma), point.misfit, pinned=pinned)
    return _Pb.RatingPoint(
        time=convert.timestamp(point.at * _SECOND),
        blocks=point.blocks,
        games=point.games,
        rating=tournament_pb2.Interval(value=shown.rating, low=shown.low, high=shown.high),
    )


def frame(one: Ladder, update: audience.Update, now: int) -> WatchLadderResponse:
    """Return one message of a stream."""
    message = WatchLadderResponse(sent_time=convert.timestamp(now))
    match update:
        case audience.Standing():
            ratings = _ratings(one.table.ranked()[:_SHOWN])
            standings = _Pb.LadderStandings(ladder=ladder(one), ratings=ratings)
            message.standings.CopyFrom(standings)
        case audience.Changed(after):
            ratings = _ratings(one.table.since(after)[:_SHOWN])
            changes = _Pb.LadderChanges(ladder=ladder(one), ratings=ratings)
            message.changes.CopyFrom(changes)
        case audience.Quiet(sequence):
            message.heartbeat.CopyFrom(Heartbeat(sequence=sequence))
        case audience.Ended(sequence):
            reason = LadderStreamEnded.REASON_DRAINING
            message.ended.CopyFrom(LadderStreamEnded(reason=reason, sequence=sequence))
    return message


def _ratings(ranked: Sequence[Ranked]) -> list[ladder_pb2.LadderRating]:
    return [rating(one) for one in ranked]


def _duration(seconds: float) -> Duration:
    made = Duration()
    made.FromMicroseconds(round(seconds * 1e6))
    return made
