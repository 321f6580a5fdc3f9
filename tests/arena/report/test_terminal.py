"""What a tournament came to, at terminals of every width."""

from __future__ import annotations

import csv as reader
import io
import json
from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

import pytest
from rich.cells import cell_len
from tests.arena.report import made_up

from ronda_arena.report import csv as made
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
    def tell(summary: Summary, width: int, *sentences: str) -> list[str]:
        summary = replace(summary, sentences=sentences)
        monkeypatch.setenv("COLUMNS", str(width))
        tournament_told.tell(summary, "table", False)
        return capsys.readouterr().out.splitlines()

    return tell


@pytest.mark.parametrize("width", [60, 72, 80, 100])
def test_six_teams_with_faults_stay_tables_from_sixty_columns_on(told: Told, width: int) -> None:
    found = told(made_up.tournament(TEAMS, players=4), width)
    assert max(map(len, found)) <= width
    assert sum(line.startswith("#  entrant") for line in found) == 1
    first, strongest = [line for line in found if line.startswith("1  ")]
    assert first.startswith("1  careful+sampler  +")
    assert len(strongest) == found[found.index(strongest) - 1].index("blocks") + len("blocks")
    assert sum(line.startswith("bot   ") for line in found) == 1
    assert sum(line.startswith("#  bot   ") for line in found) == 1
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
    assert [line.split()[0] for line in blocks] == ["who", "a" * 59 + "..", "one", "two", "three"]


def test_what_the_table_of_pairs_leaves_out_is_said(told: Told) -> None:
    names = made_up.many(60)
    summary = made_up.tournament(names)
    gauntlet = replace(
        summary,
        plan={**summary.plan, "format": "gauntlet", "challengers": 1},
        entrants=(names[0], *(name for name in summary.entrants if name != names[0])),
    )
    found = told(gauntlet, 120)
    assert found[-1] == (
        "1,730 pairs are left out here: ronda tournament show --table pairs tells all."
    )
    head = next(at for at, line in enumerate(found) if line.startswith("first "))
    assert found[head + 41] == ""


@pytest.mark.parametrize(("count", "left"), [(2, 0), (8, 0), (9, 36), (12, 66)])
def test_a_terminal_without_its_table_of_pairs_says_so(told: Told, count: int, left: int) -> None:
    found = told(made_up.tournament(made_up.many(count)), 100)
    said = [line for line in found if "--table pairs" in line]
    assert said == [
        f"{left} pairs are left out here: ronda tournament show --table pairs tells all."
    ] * bool(left)
    assert any(line.startswith("first ") for line in found) == (2 < count < 9)


LONG = ("a" * 60 + "@1.0.0-rc1", "\u96fb\u8133" * 20, "solver@1.2.0", "random@1", "b" * 38)


@pytest.mark.parametrize("width", [40, 44, 50, 60, 72, 80, 100])
@pytest.mark.parametrize("players", [2, 3, 4])
@pytest.mark.parametrize("names", [LONG, TEAMS, made_up.many(12)], ids=["long", "teams", "many"])
def test_no_line_is_wider_than_the_terminal(
    told: Told, names: tuple[str, ...], players: int, width: int
) -> None:
    summary = made_up.tournament(names, players=players, length=6 * (players == 3))
    found = told(summary, width, f"{names[0]} is ahead of {names[1]} by 5 %.")
    assert max(map(cell_len, found)) <= width
    if width >= 60:
        assert sum(line.lstrip().startswith("#  entrant") for line in found) == 1


@pytest.mark.parametrize("width", [60, 80])
def test_one_long_name_is_cut_and_the_table_stays_one(told: Told, width: int) -> None:
    found = told(made_up.tournament(("a" * 60, *made_up.EIGHT[:3])), width)
    [row] = [line for line in found if line.startswith("1  ")]
    assert row.startswith("1  aaaaaa")
    assert "Long names are cut: -o json and -o csv have them whole." in found
    [other] = [line for line in found if line.startswith("2  ")]
    assert other.split()[1] == "solver"


def test_a_long_name_gives_way_before_a_column_does(told: Told) -> None:
    found = told(made_up.tournament(("a" * 60, *made_up.EIGHT[:3])), 110)
    [head] = [line for line in found if line.startswith("#  entrant")]
    assert "W-D-L" in head
    [row] = [line for line in found if line.startswith("1  ")]
    assert row.split()[1].startswith("a" * 12)


class TestOneTable:
    SUMMARY = made_up.tournament(TEAMS, players=4)
    ROWS = MappingProxyType(
        {"ratings": 6, "pairs": 15, "bots": len(SUMMARY.bots), "seats": 3, "faults": 6}
    )

    @pytest.fixture
    def tell(self, capsys: pytest.CaptureFixture[str]) -> Callable[[str, str], str]:
        def told(output: str, table: str) -> str:
            tournament_told.tell(self.SUMMARY, output, False, table)
            return capsys.readouterr().out

        return told

    @pytest.mark.parametrize("table", ROWS)
    def test_it_has_all_of_its_rows_in_every_output(
        self, table: str, tell: Callable[[str, str], str]
    ) -> None:
        csv = list(reader.DictReader(io.StringIO(tell("csv", table), newline="")))
        jsonl = [json.loads(line) for line in tell("jsonl", table).splitlines()]
        assert json.loads(tell("json", table)) == {table: jsonl}
        assert len(csv) == len(jsonl) == self.ROWS[table]
        key, field = {
            "pairs": ("first", "first"),
            "bots": ("bot", "bot"),
            "seats": ("position", "position"),
            "faults": ("bot", "bot"),
        }.get(table, ("entrant", "entrant"))
        assert [row[field] for row in csv] == [str(row[key]) for row in jsonl]

    @pytest.mark.parametrize("table", ROWS)
    def test_a_terminal_shows_it_alone(self, table: str, tell: Callable[[str, str], str]) -> None:
        head = {"ratings": "#  entrant", "pairs": "first", "bots": "#  bot", "seats": "place"}
        found = tell("table", table).splitlines()
        assert found[0].startswith(head.get(table, "bot"))
        rows = 2 if table == "faults" else self.ROWS[table]
        assert "" not in found[: rows + 1]

    def test_a_spreadsheet_has_every_number_of_bots_seats_and_faults(self) -> None:
        bots = list(reader.DictReader(io.StringIO(made.bots(self.SUMMARY), newline="")))
        for row, bot in zip(self.SUMMARY.bots, bots, strict=True):
            assert float(bot["margin_low"]) == pytest.approx(row.margin.low, abs=1e-6)
            assert float(bot["elo"]) == pytest.approx(row.elo.value, abs=1e-6)
        seats = list(reader.DictReader(io.StringIO(made.positions(self.SUMMARY), newline="")))
        assert [one["place"] for one in seats] == ["deals first", "plays first", "plays second"]
        assert float(seats[0]["share_high"]) == pytest.approx(0.532, abs=1e-6)
        faults = list(reader.DictReader(io.StringIO(made.faults(self.SUMMARY), newline="")))
        guilty = {one["bot"]: one for one in faults if one["faults"] != "0"}
        assert {one["faults"] for one in guilty.values()} == {"1", "3"}
        assert sorted(one["time"] for one in guilty.values()) == ["0", "2"]


@pytest.mark.parametrize("table", ["pairs", "bots", "seats", "faults"])
def test_a_table_in_which_nothing_stands_says_why(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = replace(made_up.nothing_known(), positions=())
    tournament_told.tell(empty, "table", False, table)
    assert capsys.readouterr().out.startswith("No b")
