"""What a tournament came to, at terminals of every width."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.arena.report import made_up

from ronda_arena.report.summary import Summary
from ronda_cli import tournament_told
from ronda_cli.tables import fit, lines

TEAMS = (
    *("careful@1.0.0+sampler@1.1.0", "sampler@1.1.0", "solver@1.2.0"),
    *("greedy@1.0.0", "counter@1.0.0+random@1.0.0", "random@1.0.0"),
)
Told = Callable[[Summary, int], list[str]]
WITHOUT = "Names stand without versions where that says who it is."


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    def tell(summary: Summary, width: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        tournament_told.tell(replace(summary, sentences=()), "table", False)
        return capsys.readouterr().out.splitlines()

    return tell


@pytest.mark.parametrize("width", [60, 72, 80, 100])
def test_six_teams_with_faults_stay_tables_from_sixty_columns_on(told: Told, width: int) -> None:
    found = told(made_up.tournament(TEAMS, players=4), width)
    assert max(map(len, found)) <= width
    assert sum(line.startswith("#  entrant") for line in found) == 1
    [first] = [line for line in found if line.startswith("1  ")]
    assert first.startswith("1  careful+sampler  +")
    assert sum(line.startswith("bot   ") for line in found) == 1
    assert WITHOUT in found


def test_a_wide_terminal_leaves_nothing_out(told: Told) -> None:
    found = told(made_up.tournament(TEAMS, players=4), 140)
    assert any(line.startswith("1  careful@1.0.0+sampler@1.1.0  +") for line in found)
    assert "W-D-L" in next(line for line in found if line.startswith("#  entrant"))
    assert WITHOUT not in found
    assert not any(line.startswith("Left out") for line in found)


def test_what_is_left_out_is_said_below_its_table(told: Told) -> None:
    found = told(made_up.tournament(TEAMS, players=4), 80)
    head = next(at for at, line in enumerate(found) if line.startswith("#  entrant"))
    assert "W-D-L" not in found[head]
    assert found[head + 7] == "Left out for want of room: W-D-L."


def test_below_sixty_columns_each_row_is_a_block_that_has_everything(told: Told) -> None:
    found = told(made_up.tournament(TEAMS, players=4), 50)
    assert not any(line.startswith("Left out") for line in found)
    assert sum(line.startswith("W-D-L ") for line in found) >= 6
    assert max(map(len, found)) <= 60


def test_versions_stay_where_the_name_alone_could_be_two(told: Told) -> None:
    two = ("solver@1.2.0", "solver@1.1.0", "random@1.0.0", *TEAMS[:2], "greedy@1.0.0")
    found = told(made_up.tournament(two, players=4), 62)
    entrants = [line.split()[1] for line in found if line[:1].isdigit()]
    assert entrants[:3] == ["solver@1.2.0", "solver@1.1.0", "random"]


def test_columns_give_way_in_order_and_only_as_many_as_must() -> None:
    rows = [{"who": "a" * 30, "one": "b" * 20, "two": "c" * 20, "three": "d" * 10}]
    spare = ("two", "one")
    assert fit(rows, 86)
    assert len(list(lines(rows, 86, spare=spare))) == 2
    assert not fit(rows, 85)
    assert list(lines(rows, 85, spare=spare))[-1] == "Left out for want of room: two."
    assert list(lines(rows, 63, spare=spare))[-1] == "Left out for want of room: two; one."
    blocks = list(lines([{**rows[0], "who": "a" * 90}], 63, spare=spare))
    assert [line.split()[0] for line in blocks] == ["who", "one", "two", "three"]


def test_what_the_table_of_pairs_leaves_out_is_said(told: Told) -> None:
    names = made_up.many(60)
    summary = made_up.tournament(names)
    gauntlet = replace(
        summary,
        plan={**summary.plan, "format": "gauntlet", "challengers": 1},
        entrants=(names[0], *(name for name in summary.entrants if name != names[0])),
    )
    found = told(gauntlet, 120)
    assert found[-1] == "The table of pairs leaves out 19: they are in report.json."
    head = next(at for at, line in enumerate(found) if line.startswith("first "))
    assert found[head + 41] == ""
