"""Rows for the terminal and lines for a spreadsheet: every number, and no name that does harm."""

from __future__ import annotations

import csv as reader
import io
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.arena.report import made_up

from ronda_arena.report import csv, names, reading, tables, words
from ronda_arena.report.summary import PairRow, Summary
from ronda_arena.statistics.estimate import Estimate
from ronda_cli.tables import lines
from ronda_core.match import Cause

PLAIN = made_up.tournament()
UNKNOWN = made_up.nothing_known()


def named(name: str) -> Summary:
    """Return a tournament in which a bot of this name played."""
    first = PLAIN.ratings[0]
    return replace(
        PLAIN,
        ratings=(replace(first, entrant=name),),
        pairs=(replace(PLAIN.pairs[0], first=name),),
    )


def read(text: str) -> list[dict[str, str]]:
    return list(reader.DictReader(io.StringIO(text, newline=""), strict=True))


class TestRows:
    def test_a_rating_has_its_interval_and_of_how_much_it_is_made(self) -> None:
        row = replace(PLAIN.ratings[0], margin=Estimate(1.904, 1.5, 2.3, 420), won=1234)
        assert tables.ratings(replace(PLAIN, ratings=(row,))) == [
            {
                "#": "1",
                "entrant": "solver@1.2.0",
                "points a game, 95 %": "+1.90 (+1.50..+2.30)",
                "Elo, 95 %": "+180 (+157..+204)",
                "blocks": "420",
                "W-D-L": "1,234-8-177",
                "faults": "",
            }
        ]

    def test_a_square_tells_each_pair_from_both_sides(self) -> None:
        pair = PairRow("a@1", "b@1", Estimate(2.0, 1.0, 3.5, 7), 9, 1, 4, 0.98)
        pairs = replace(
            PLAIN,
            ratings=tuple(
                replace(PLAIN.ratings[0], entrant=name) for name in ("b@1", "a@1", "c@1")
            ),
            pairs=(pair,),
        )
        assert [list(row.values()) for row in tables.cross(pairs)] == [
            ["1", "b@1", "", "-2.00 (-3.50..-1.00) 7 blocks", ""],
            ["2", "a@1", "+2.00 (+1.00..+3.50) 7 blocks", "", ""],
            ["3", "c@1", "", "", ""],
        ]
        turned = reading.meetings(pairs)["b@1", "a@1"]
        assert (turned.won, turned.drawn, turned.lost) == (4, 1, 9)
        assert turned.los == pytest.approx(0.02)

    def test_los_is_never_told_as_sure(self) -> None:
        told = [words.los(los) for los in (None, 0.0, 0.001, 0.5, 0.975, 0.9996, 1.0)]
        assert told == ["", "< 0.1 %", "0.1 %", "50.0 %", "97.5 %", "> 99.9 %", "> 99.9 %"]

    def test_faults_come_by_cause_and_the_worst_first(self) -> None:
        assert [(row["bot"], row["faults"]) for row in tables.faults(PLAIN)] == [
            ("meknes@2.0.0", "3"),
            ("kestrel@0.9.1", "1"),
        ]
        assert tables.faults(PLAIN)[0]["out of time"] == "2"
        assert tables.faults(PLAIN)[1]["illegal play"] == "1"

    def test_places_are_told_with_points_and_wins(self) -> None:
        first, second = tables.positions(PLAIN)
        assert first["place"] == "deals first"
        assert second["place"] == "plays first"
        assert first["points a game, 95 %"] == "+0.60 (+0.29..+0.91)"
        assert first["wins, 95 %"] == "52.0 % (50.8 %..53.2 %)"

    def test_what_is_not_known_is_said_in_words(self) -> None:
        for row in (*tables.ratings(UNKNOWN), *tables.positions(UNKNOWN)):
            assert row["points a game, 95 %"] == "too few blocks"
        assert tables.pairs(UNKNOWN) == []
        assert tables.faults(UNKNOWN) == []

    def test_ratings_fit_a_terminal_of_eighty_columns(self) -> None:
        rows = [{**row, "faults": ""} for row in tables.ratings(PLAIN)]
        assert len(list(lines(rows, 80, left=tables.LEFT))) == 1 + len(rows)

    @pytest.mark.parametrize("make", [tables.ratings, tables.pairs, tables.cross, tables.positions])
    def test_the_terminal_prints_them_as_they_are(self, make: object) -> None:
        rows = make(PLAIN)  # type: ignore[operator] # one of the functions above
        assert len(list(lines(rows, 10_000, left=tables.LEFT))) == 1 + len(rows)


class TestSpreadsheet:
    def test_each_line_has_every_number_of_its_rating(self) -> None:
        for rank, (row, line) in enumerate(
            zip(PLAIN.ratings, read(csv.ratings(PLAIN)), strict=True), 1
        ):
            assert (line["rank"], line["entrant"]) == (str(rank), row.entrant)
            for head, estimate in (("margin", row.margin), ("elo", row.elo)):
                told = [float(line[one]) for one in (head, f"{head}_low", f"{head}_high")]
                assert told == pytest.approx(estimate[:3], abs=1e-6)
                assert line[f"{head}_blocks"] == str(estimate.blocks)
            for count in ("blocks", "games", "won", "drawn", "lost", "faults"):
                assert line[count] == str(getattr(row, count))

    def test_each_two_that_met_have_a_line(self) -> None:
        found = read(csv.pairs(PLAIN))
        assert [(line["first"], line["second"], line["won"]) for line in found] == [
            (row.first, row.second, str(row.won)) for row in PLAIN.pairs
        ]
        assert [float(line["los"]) for line in found] == [
            pytest.approx(row.los, abs=1e-6) for row in PLAIN.pairs
        ]

    def test_what_is_not_known_is_left_empty_and_zero_is_not(self) -> None:
        rows = (
            replace(UNKNOWN.ratings[0], margin=Estimate(0.0, -1e-9, 0.5, 3)),
            UNKNOWN.ratings[1],
        )
        known, unknown = read(csv.ratings(replace(UNKNOWN, ratings=rows)))
        assert [known[head] for head in ("margin", "margin_low", "margin_high")] == [
            *("0.0", "0.0", "0.5"),
        ]
        assert [unknown[head] for head in ("margin", "elo_low", "elo_high")] == ["", "", ""]

    def test_lines_end_as_the_standard_says(self) -> None:
        assert csv.pairs(PLAIN).count("\r\n") == 1 + len(PLAIN.pairs)
        assert csv.pairs(PLAIN).count("\n") == 1 + len(PLAIN.pairs)

    @given(st.text(max_size=200) | st.from_regex(r"\s*[=+\-@].{0,20}", fullmatch=True))
    def test_no_name_becomes_a_formula_or_another_line(self, name: str) -> None:
        for text, key in ((csv.ratings(named(name)), "entrant"), (csv.pairs(named(name)), "first")):
            told = read(text)[0][key]
            assert told[0] not in "=+-@\t\r"
            assert told.removeprefix("'") == names.shown(name) or told == names.shown(name)
            assert len(read(text)) + 1 == text.count("\r\n")


class TestNames:
    @given(st.text(max_size=2000))
    def test_what_is_shown_is_visible_short_and_on_one_line(self, raw: str) -> None:
        shown = names.shown(raw)
        assert shown
        assert names.width(shown) <= names.LONGEST
        assert not any(unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") for char in shown)
        assert names.shown(shown) == shown

    @given(st.text(st.sampled_from("ab \u0300\u0301\u0651\u064f\u20dd"), max_size=40))
    def test_marks_stand_on_letters_and_in_no_towers(self, raw: str) -> None:
        shown = names.shown(raw)
        marks = "".join("m" if unicodedata.category(char)[0] == "M" else "x" for char in shown)
        assert "mmm" not in marks
        assert marks[0] == "x"
        assert names.shown(shown) == shown

    @given(st.lists(st.text(max_size=60), max_size=6), st.integers(8, 40))
    def test_labels_are_as_short_as_asked(self, raw: list[str], cells: int) -> None:
        made = names.labels(raw, cells)
        assert len(made) == len(raw)
        assert all(0 < names.width(label) <= cells for label in made)

    def test_versions_are_left_out_where_names_alone_tell_who_it_is(self) -> None:
        told = names.labels(["a@1", "b@1", "b@2", "a@1+c@3", "c@3+a@1"], 20)
        assert told == ("a", "b@1", "b@2", "a+c", "c+a")
        assert names.labels(["a@1.0+x", "a@1.0+x+b@2+y"], 20) == ("a", "a+b")

    def test_long_names_keep_both_ends(self) -> None:
        first, second = names.labels([f"{'x' * 40}@1.0", f"{'x' * 40}@1.1"], 12)
        assert first == "xxxxxx…x@1.0"
        assert second == "xxxxxx…x@1.1"


class TestNumbers:
    @pytest.mark.parametrize(
        ("number", "told"),
        [
            (0.0, "0 s"),
            (0.0000421, "42.1 µs"),
            (0.00123, "1.23 ms"),
            (0.9999, "1 s"),
            (12.34, "12.3 s"),
            (99.6, "1 min 40 s"),
            (5025, "1 h 23 min"),
            (3599.9, "1 h 00 min"),
        ],
    )
    def test_times_are_told_as_a_person_says_them(self, number: float, told: str) -> None:
        assert words.seconds(number) == told

    def test_signs_and_rounding(self) -> None:
        assert [words.points(number) for number in (1.005, -0.004, 0.004, -1234.5)] == [
            *("+1.00", "0.00", "0.00", "-1,234.50"),
        ]
        assert words.elo(-0.4) == "0"
        assert words.share(0.5) == "50.0 %"

    def test_no_number_is_told_without_its_interval(self) -> None:
        assert words.told(Estimate(1.5, None, None, 1), words.points) == "too few blocks (1)"
        assert words.told(Estimate(1.5, 1.0, 2.0, 1), words.points) == (
            "+1.50 (95 %: +1.00 to +2.00, 1 block)"
        )

    def test_every_cause_has_words(self) -> None:
        assert list(words.CAUSES) == list(Cause)
