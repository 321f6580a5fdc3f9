"""Who won a Swiss or a knockout: said first, shown as a table, and kept in the report as data."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.arena.report import made_up
from tests.arena.tournament.plans import plan

from ronda_arena.report import page, tables, winner
from ronda_arena.report.summary import Summary, to_json
from ronda_arena.tournament.formats import Encounter
from ronda_arena.tournament.formats.choice import format_of
from ronda_arena.tournament.formats.course import Course, rounds_to_one

LEVEL = (0.0, 1.0)


def met(*told: tuple[tuple[int, ...], float, float]) -> list[Encounter]:
    """Return encounters of two: who, by how much the first was ahead, and how many games it won."""
    return [Encounter(pairing, [ahead, -ahead], [won, 2.0 - won]) for pairing, ahead, won in told]


def course(played: list[list[Encounter]], bots: int, **asked: Any) -> tuple[Course, list[str]]:
    made = plan(bots, **asked)
    format_ = format_of(made)
    told = format_.course(played)
    assert told is not None
    return told, [made.entrants[at].name for at in format_.placings(played)]


def said(played: list[list[Encounter]], bots: int, **asked: Any) -> str:
    return next(winner.sentences(*course(played, bots, **asked), stopped=False))


def shown(played: list[list[Encounter]], bots: int, **asked: Any) -> Summary:
    told, placings = course(played, bots, **asked)
    return replace(made_up.tournament(), course=told, placings=tuple(placings))


KNOCKOUT = [
    met(((0, 3), 5.0, 2.0), ((1, 2), *LEVEL)),
    met(((1, 2), -3.0, 0.0)),
    met(((0, 2), 0.0, 1.5)),
]
SWISS = [met(((0, 1), 4.0, 2.0)), met(((0, 2), 0.0, 1.0)), met(((1, 2), -2.0, 0.0))]


def test_the_winner_of_a_knockout_is_said_first_with_how_a_level_final_was_decided() -> None:
    assert said(KNOCKOUT, 4, format="knockout") == (
        "bot0@1 won the knockout, level on margin in the final and ahead on games won; "
        "second bot2@1."
    )
    clear = [*KNOCKOUT[:2], met(((0, 2), -7.0, 1.0))]
    assert said(clear, 4, format="knockout") == "bot2@1 won the knockout; second bot0@1."
    level = [met(((0, 1), *LEVEL))] * 4
    assert said(level, 2, format="knockout") == (
        "bot0@1 won the knockout, level in the final and earlier in the list; second bot1@1."
    )


def test_a_knockout_without_a_winner_yet_says_who_is_still_in() -> None:
    assert said(KNOCKOUT[:1], 4, format="knockout") == (
        "The first round is not over yet: nobody is ahead."
    )
    assert said(KNOCKOUT[:2], 4, format="knockout") == (
        "After 1 of 2 rounds these are still in the knockout: bot0@1, bot2@1."
    )


def test_a_stop_rule_that_came_before_a_winner_is_said_first() -> None:
    told = list(winner.sentences(*course(SWISS[:1], 3, format="swiss"), stopped=True))
    assert told[0] == "The stop rule ended the tournament before anybody had won it."
    assert told[1].startswith("After 1 of 2 rounds bot0@1 leads the Swiss with 1 of 1 point; ")
    over = winner.sentences(*course(SWISS[:2], 3, format="swiss"), stopped=True)
    assert next(over).startswith("bot0@1 won the Swiss")


def test_a_replay_adds_to_its_encounter_and_is_counted_as_extra_blocks() -> None:
    told, _ = course(KNOCKOUT, 4, format="knockout")
    assert (told.rounds, told.played, told.over) == (2, 2, True)
    first, final = told.brackets
    assert [(tie.winner, tie.extra, tie.by) for tie in first.ties] == [
        ("bot0@1", 0, "margin"),
        ("bot2@1", 1, "margin"),
    ]
    assert first.ties[1].margins == (-3.0, 3.0)
    assert first.ties[1].won == (1.0, 3.0)
    assert [tie.by for tie in final.ties] == ["games"]


def test_byes_of_a_knockout_are_told() -> None:
    told, _ = course([met(((1, 2), 3.0, 2.0))], 3, format="knockout")
    assert told.brackets[0].byes == ("bot0@1",)
    rows = tables.placings(replace(made_up.tournament(), course=told))
    assert rows[1]["encounter"] == "bot0@1 (bye)"


@pytest.mark.parametrize(
    ("last", "sentence"),
    [
        (9.0, "bot0@1 won the Swiss with 1 of 1 point; second bot1@1 with 0."),
        (
            0.0,
            (
                "bot0@1 won the Swiss with 0.5 of 1 point; second bot1@1 with as many of "
                "everything, and later in the list."
            ),
        ),
    ],
)
def test_the_winner_of_a_swiss_is_said_first(last: float, sentence: str) -> None:
    assert said([met(((0, 1), last, 1.0))], 2, format="swiss") == sentence


def test_equal_points_of_a_swiss_say_what_told_the_place() -> None:
    told = said([met(((0, 2), 3.0, 2.0), ((1, 3), 5.0, 2.0))], 4, format="swiss")
    assert told == (
        "After 1 of 2 rounds bot1@1 leads the Swiss with 1 of 1 point; "
        "second bot0@1 with as many, behind on margin, 3 to 5."
    )
    drawn = [
        met(((0, 2), 3.0, 2.0), ((1, 3), 5.0, 2.0)),
        met(((0, 1), 0.0, 1.0), ((2, 3), 1.0, 1.0)),
    ]
    assert said(drawn, 4, format="swiss") == (
        "bot0@1 won the Swiss with 1.5 of 2 points; second bot1@1 with as many, behind on the "
        "points of those that each has met (Buchholz), 1.5 to 2.5."
    )


def test_the_table_of_a_swiss_has_points_buchholz_margin_and_byes() -> None:
    rows = tables.placings(shown(SWISS, 3, format="swiss", rounds=3))
    assert list(rows[0]) == ["place", "entrant", "points", "Buchholz", "margin", "byes"]
    assert [list(row.values()) for row in rows] == [
        ["1", "bot0@1", "2.5", "3.5", "+4", "1"],
        ["2", "bot2@1", "2.5", "3.5", "+2", "1"],
        ["3", "bot1@1", "1", "5", "-6", "1"],
    ]


def test_the_table_of_a_knockout_has_every_encounter_and_who_went_on() -> None:
    assert [
        list(row.values()) for row in tables.placings(shown(KNOCKOUT, 4, format="knockout"))
    ] == [
        ["1", "bot0@1 - bot3@1", "+5 / -5", "2 / 0", "", "bot0@1"],
        ["1", "bot1@1 - bot2@1", "-3 / +3", "1 / 3", "1", "bot2@1"],
        ["final", "bot0@1 - bot2@1", "0 / 0", "1.5 / 0.5", "", "bot0@1 (games)"],
    ]
    assert tables.placings(made_up.tournament()) == []


@pytest.mark.parametrize("format_", ["swiss", "knockout"])
def test_the_page_shows_the_same_and_is_well_formed(format_: str) -> None:
    summary = (
        shown(SWISS, 3, format="swiss", rounds=3)
        if format_ == "swiss"
        else shown(KNOCKOUT, 4, format="knockout")
    )
    part = ET.fromstring(page.render(summary)).find(".//section[@id='placings']")
    assert part is not None
    told = [["".join(cell.itertext()) for cell in row] for row in part.iterfind(".//tbody/tr")]
    if format_ == "swiss":
        assert told[2] == ["3 bot1@1", "1", "5", f"{page.MINUS}6", "1"]
    else:
        assert told[1] == [
            *("bot2@1", "1", "bot1 bot2", f"{page.MINUS}3 +3", "1 3", "1"),
        ]


def test_the_report_keeps_the_course_as_data() -> None:
    data = json.loads(json.dumps(to_json(shown(KNOCKOUT, 4, format="knockout"))))
    [tie] = data["course"]["brackets"][1]["ties"]
    assert tie["entrants"] == ["bot0@1", "bot2@1"]
    assert (tie["margins"], tie["won"], tie["extra"]) == ([0.0, 0.0], [1.5, 0.5], 0)
    assert (tie["winner"], tie["by"]) == ("bot0@1", "games")
    assert to_json(made_up.tournament())["course"] is None


@pytest.mark.parametrize(
    ("entrants", "table", "rounds"),
    [(2, 2, 1), (3, 2, 2), (4, 2, 2), (5, 2, 3), (200, 2, 8), (3, 3, 1), (9, 3, 2), (11, 3, 3)],
)
def test_so_many_rounds_leave_one(entrants: int, table: int, rounds: int) -> None:
    assert rounds_to_one(entrants, table) == rounds


@pytest.mark.parametrize("format_", ["swiss", "knockout"])
def test_what_a_run_leaves_begins_with_who_won_it(format_: str, tmp_path: Path) -> None:
    flags = f"--bots random,greedy,careful --format {format_} --blocks 1 --hands 1 --seed 1"
    command = [sys.executable, "-m", "ronda_cli", "tournament", "run", *flags.split()]
    done = subprocess.run(
        [*command, "--isolation", "trusted", f"--out={tmp_path}"],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["course"]["rounds"] == report["course"]["played"] == 2
    name = {"swiss": "Swiss", "knockout": "knockout"}[format_]
    assert report["sentences"][0].startswith(f"{report['placings'][0]} won the {name}")
    assert done.stdout.startswith(f"{report['placings'][0]} won the {name}")
