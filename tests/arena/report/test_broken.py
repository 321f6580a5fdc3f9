"""Who breaks off games that it is losing is seen, whatever its margins say."""

from __future__ import annotations

from dataclasses import replace

from tests.arena.report.test_gather import gathered, planned

from ronda_arena.report import broken
from ronda_arena.report.summary import RatingRow
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.tournament.results import Blame, Block, Game
from ronda_core.match import Cause


def row(name: str, points: float, elo: float, faults: int = 0) -> RatingRow:
    margin = Estimate(points, points - 0.1, points + 0.1, 50)
    return RatingRow(
        name, margin, Estimate(elo, elo - 20, elo + 20, 50), 50, 100, 50, 0, 50, faults
    )


def told(*rows: RatingRow) -> list[str]:
    return list(broken.sentences(rows))


def test_who_stands_above_in_points_and_below_in_wins_by_faults_is_named() -> None:
    (said,) = told(row("leaver", 0.4, -50, 40), row("honest", -0.4, 50))
    assert said.startswith("Points flatter leaver: it broke off 40 games of 100")
    assert "behind honest, which stands below it" in said


def test_nobody_is_named_without_faults_or_where_wins_do_not_say_so_surely() -> None:
    assert not told(row("lucky", 0.4, -50), row("honest", -0.4, 50))
    assert not told(row("leaver", 0.4, 30, 40), row("honest", -0.4, 50))
    assert not told(row("strong", 0.4, 50, 40), row("weak", -0.4, -50))
    unknown = replace(row("new", -0.4, 50), elo=Estimate(None, None, None, 1))
    assert not told(row("leaver", 0.4, -50, 40), unknown)


def test_a_bot_that_leaves_at_the_last_card_is_seen_in_a_whole_report() -> None:
    """It breaks off while it is a point ahead, and of what it plays to the end it wins less."""
    blocks = []
    for number in range(200):
        left = Game(0, 0, 1, (3, 2), 1, Blame(0, Cause.CRASH))
        played = Game(1, 0, 1, (2, 4), 1) if number % 20 < 9 else Game(1, 0, 1, (3, 2), 0)
        blocks.append(Block(number, (0, 1), (left, played)))
    summary = gathered(planned("leaver@1 honest@1"), blocks)
    assert summary.ratings[0].entrant == "leaver@1"
    assert summary.ratings[0].won == 90
    assert summary.sentences[0].startswith("Points flatter leaver@1: it broke off 200 games of 400")
