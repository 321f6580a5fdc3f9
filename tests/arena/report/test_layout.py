"""What of the page is in sight: no row is hidden without a word, and what matters first fits."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from tests.arena.report import made_up
from tests.arena.report.test_page import rendered, text, tree
from tests.arena.report.test_winner import course, met

from ronda_arena.report import canvas, page, winner, words
from ronda_arena.report.comparison import Comparison, compared
from ronda_arena.report.verdict import Verdict
from ronda_cli import tournament_told


def part(root: ET.Element, key: str) -> ET.Element:
    found = root.find(f".//section[@id='{key}']")
    assert found is not None
    return found


def made(name: str) -> str:
    style = tree(name).findtext("head/style")
    assert style
    return style


@pytest.mark.parametrize("count", [12, 60])
def test_a_table_of_sixty_rows_or_fewer_is_as_tall_as_its_rows(count: int) -> None:
    root = ET.fromstring(page.render(made_up.tournament(made_up.many(count))))
    assert not [one for one in root.iter("div") if "tall" in (one.get("class") or "").split()]
    assert "rows: scroll" not in text(root)
    tall = re.search(r"^\.scroll \{.*?\}", made("eight"), re.DOTALL | re.MULTILINE)
    assert tall is not None
    assert "max-height" not in tall[0]


def test_a_table_that_scrolls_by_itself_says_of_how_many_rows() -> None:
    region = part(tree("two hundred"), "ratings").find(".//div[@role='region']")
    assert region is not None
    assert region.get("class") == "scroll tall"
    assert "200 rows: scroll." in text(region.find(".//caption") or region)
    assert ".tall { max-height:" in rendered("two hundred")


WIDE = ("W" * 20 + "@1", "@@@@MMMMMM@2.0", "\u96fb\u8133" * 20, "\u092c\u094b\u091f" * 9, "i" * 60)


@pytest.mark.parametrize("width", [canvas.NARROW, canvas.WIDE])
def test_names_of_wide_letters_have_the_room_that_they_take(width: int) -> None:
    labels = canvas.labels(WIDE, width)
    assert all(canvas.pixels(label) + 14 <= canvas.room(labels) <= width / 2 for label in labels)
    assert canvas.pixels("WWWW") > 1.5 * canvas.pixels("aaaa") > 3 * canvas.pixels("iiii")
    assert canvas.pixels("\u96fb") == 12
    assert canvas.pixels("a\u0301") == canvas.pixels("a")
    # Names of wide letters alone are cut shorter for it.
    assert len(labels[0]) < 16 if width == canvas.NARROW else len(labels[0]) <= 30
    assert labels[4].count("i") == (15 if width == canvas.NARROW else 29)


def test_no_name_of_a_panel_reaches_into_the_next() -> None:
    assert all(canvas.pixels(label) <= 140 for label in canvas.fitted(WIDE, 20, 140))


def test_heads_of_the_square_of_pairs_stay_on_one_line_and_its_cells_apart() -> None:
    root = ET.fromstring(page.render(made_up.tournament(("a" * 60, "b" * 60, "c@1"))))
    heads = part(root, "pairs").findall(".//thead//bdi")
    assert [len(text(head)) for head in heads] == [12, 12, 1]
    style = made("eight")
    assert ".cross td, .cross thead th.of { border-inline-start: 1px solid" in style
    assert ".cross thead .rank { display: block; }" in style
    [head] = re.findall(r"^\.cross thead th\.of \{(.*)\}", style, re.MULTILINE)
    assert "white-space" not in head


def test_the_picture_of_pairs_has_a_frame_a_diagonal_and_a_legend() -> None:
    pairs = part(tree("two hundred"), "pairs")
    caption = pairs.find(".//figcaption")
    assert caption is not None
    assert text(caption) == "the row is ahead behind could be either, or they did not meet"
    for drawing in pairs.iterfind(".//figure//svg"):
        lines = [one for one in drawing.iter("path") if one.get("class") == "stroke-muted"]
        assert len(lines) == 5  # four sides and the diagonal
        told = [text(one) for one in drawing.iter("text")]
        assert "entrant, by place in the ratings" in told
        assert [one for one in told if one.isdigit()] == ["1", "50", "100", "150", "200"] * 2


def test_many_pairs_are_said_to_have_some_colours_by_chance() -> None:
    assert "among 28 pairs of equals about 1 would have a colour by chance" in text(
        part(tree("eight"), "pairs")
    )
    assert "by chance" not in text(part(tree("three players"), "pairs"))


def test_before_the_first_block_no_table_stands_empty() -> None:
    root = ET.fromstring(page.render(replace(made_up.nothing_known(), positions=())))
    for table in root.iter("table"):
        assert table.findall("tbody/tr"), text(table)
    assert text(part(root, "places")).endswith("No block is over yet.")


def test_a_run_that_was_interrupted_is_not_called_running() -> None:
    state = tree("nothing known").find(".//p[@class='state']")
    assert state is not None
    assert text(state).startswith("Not over yet: numbers will change")


def test_thousands_stand_apart_wherever_a_number_is_written() -> None:
    """In sentences, tables and at the ticks of axes: the same number looks the same."""
    summary = made_up.tournament(made_up.many(12), blocks=600)
    far = replace(
        summary,
        ratings=tuple(
            replace(row, elo=made_up.estimate(40.0 * (row.elo.value or 0), 90.0, 600))
            for row in summary.ratings
        ),
        sentences=(),
    )
    root = ET.fromstring(page.render(far))
    body = root.find("body")
    assert body is not None
    told = [one.text for one in body.iter() if one.text and one.tag != "code"]
    assert not [one for one in told if re.search(r"(?<![\w.@-])\d{4,}", one)]
    ticks = [text(one) for one in root.iterfind(".//figure//text")]
    assert {"1,000", "2,000", "3,000"} <= set(ticks)


def test_thousands_stand_apart_in_sentences_and_rows_too() -> None:
    one = Comparison("a", "b", made_up.estimate(1234.5, 9.0, 4321), 1200)
    assert compared(one, "game") == (
        "a is stronger than b by 1,234.5 points a game (95 %: 1,225.5 to 1,243.5; 4,321 blocks of "
        "one or the other, 1,200 of them against each other)."
    )
    assert winner.signed(1234.5) == "+1,234.5"
    assert words.record(1234, 0, 5678) == "1,234-0-5,678"


def test_what_matters_first_of_a_rating_stands_where_a_phone_shows_it() -> None:
    heads = [text(one) for one in part(tree("eight"), "ratings").iterfind(".//thead/tr/th")]
    assert heads[:4] == ["Entrant", "Points a game", "Blocks", "W\N{EN DASH}D\N{EN DASH}L"]


def test_entrants_of_an_encounter_stand_one_under_the_other() -> None:
    told, placings = course([met(((0, 1), 5.0, 2.0))], 2, format="knockout")
    summary = replace(made_up.tournament(), course=told, placings=tuple(placings))
    cells = part(ET.fromstring(page.render(summary)), "placings").findall(".//tbody/tr/td")
    lines = [[text(line) for line in cell.iterfind("bdi[@class='line']")] for cell in cells]
    assert lines == [[], ["bot0", "bot1"], ["+5", "-5"], ["2", "0"], []]
    assert ".line { display: block; }" in made("eight")


@pytest.mark.parametrize("rule", ["sequential", "sprt", "precision"])
def test_numbers_that_do_not_allow_for_the_looks_of_a_stop_rule_say_so(
    rule: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = Verdict(rule, "a is stronger", 23, made_up.estimate(1.5, 0.75, 23))
    summary = made_up.tournament(made_up.many(2), verdict=verdict)
    root = ET.fromstring(page.render(summary))
    naive = rule != "precision"
    for key in ("ratings", "pairs", "progress"):
        assert ("without allowing for the looks of the stop rule" in text(part(root, key))) == naive
    tournament_told.tell(summary, "table", True)
    told = " ".join(capsys.readouterr().out.split())
    assert ("without allowing for the looks of the stop rule" in told) == naive
