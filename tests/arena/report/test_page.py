"""The page: well-formed, all of the numbers, nothing from elsewhere, and the same bytes again."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest
from tests.arena.report import made_up

from ronda_arena.report import page, words
from ronda_arena.report.ink import SERIES
from ronda_arena.report.summary import Verdict
from ronda_arena.tournament.formats.course import Course, Standing
from ronda_core.match import Cause

HOSTILE = (
    "<script>alert(1)</script>@1",
    '"><img src=x onerror=alert(1)>',
    "=cmd|' /C calc'!A0",
    "\u202egnp.tob\u202c@1.0",
    "بوت الرندة@2.0",
    "電脳" * 40,
    "$\\frac{1}{0}$",
    "{{ 7 * 7 }} {% raw %}",
    "§0§",
    "a\u0300\u0301\u0302\u0303\u0304" * 30,
    "\x1b[31mred\x1b[0m\r\n",
    " ",
)
SUMMARIES = {
    "two": made_up.tournament(made_up.many(2)),
    "three players": made_up.tournament(made_up.many(5), players=3, length=6),
    "eight": made_up.tournament(),
    "teams": made_up.tournament(("a@1+b@2", "a@1", "b@2+c@1.0.3"), players=4),
    "forty": made_up.tournament(made_up.many(40)),
    "two hundred": made_up.tournament(made_up.many(200)),
    "nothing known": made_up.nothing_known(),
    "hostile": made_up.tournament(HOSTILE),
    "decided": replace(
        made_up.tournament(
            made_up.many(2),
            verdict=Verdict("sequential", "bot0 is stronger", 23, made_up.estimate(1.5, 0.75, 23)),
        ),
        placings=("bot0@1.0.0", "bot1@1.1.0"),
    ),
}
EVERY = pytest.mark.parametrize("name", SUMMARIES)
PICTURE = ".//figure//svg"


@cache
def rendered(name: str) -> str:
    return page.render(SUMMARIES[name])


@cache
def tree(name: str) -> ET.Element:
    return ET.fromstring(rendered(name))


def text(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).replace(page.MINUS, "-").split())


def section(name: str, key: str) -> ET.Element:
    found = tree(name).find(f".//section[@id='{key}']")
    assert found is not None
    return found


def rows(name: str, key: str) -> list[list[str]]:
    return [[text(cell) for cell in row] for row in section(name, key).iterfind(".//tbody/tr")]


@EVERY
def test_the_page_is_well_formed_as_html_and_as_xml(name: str) -> None:
    class Nesting(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.open: list[str] = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert self.open.pop() == tag

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            pass

    parser = Nesting()
    parser.feed(rendered(name))
    parser.close()
    assert not parser.open
    assert [child.tag for child in tree(name)] == ["head", "body"]
    ids = [element.get("id") for element in tree(name).iter() if element.get("id")]
    assert len(ids) == len(set(ids))


@EVERY
def test_nothing_comes_from_elsewhere_and_nothing_runs(name: str) -> None:
    for element in tree(name).iter():
        assert element.tag not in {
            "script",
            "link",
            "iframe",
            "object",
            "img",
            "form",
            "foreignObject",
        }
        for key, value in element.attrib.items():
            assert key != "style"
            assert key != "src"
            assert not key.startswith("on")
            if key == "href":
                assert value.startswith(("#", "data:image/png;base64,"))
            elif "url(" in value:
                assert value.startswith("url(#")
    style = tree(name).findtext("head/style")
    assert style
    assert "url(" not in style
    assert "@import" not in style


def test_its_own_policy_allows_its_own_style_and_nothing_else() -> None:
    style = re.search(r"<style>(.*?)</style>", rendered("eight"), re.DOTALL)
    policy = tree("eight").find("head/meta[@http-equiv='Content-Security-Policy']")
    assert style is not None
    assert policy is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy.get("content") == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


@EVERY
def test_links_and_ids_belong_together(name: str) -> None:
    ids = {element.get("id") for element in tree(name).iter()}
    targets = re.findall(r'(?:href="|url\()#([\w.-]+)', rendered(name))
    assert targets
    assert set(targets) <= ids


@EVERY
def test_who_does_not_see_the_pictures_misses_nothing(name: str) -> None:
    for drawing in tree(name).iterfind(PICTURE):
        assert drawing.get("role") == "img"
        assert len(drawing.get("aria-label") or "") > 40
    for table in tree(name).iterfind(".//table"):
        assert text(table.find("caption") or table)
        assert all(head.get("scope") == "col" for head in table.iterfind("thead/tr/th"))
        assert all(row[0].get("scope") == "row" for row in table.iterfind("tbody/tr"))
        widths = {len(row) for row in table.iterfind(".//tr")}
        assert len(widths) == 1
    for region in tree(name).iterfind(".//div[@role='region']"):
        assert region.get("tabindex") == "0"
        assert region.get("aria-label")
    headings = [element.tag for element in tree(name).iter() if re.fullmatch(r"h\d", element.tag)]
    assert headings[0] == "h1"
    assert set(headings[1:]) == {"h2"}
    assert tree(name).get("lang") == "en"


@EVERY
def test_no_number_is_nan_infinite_or_missing(name: str) -> None:
    body = tree(name).find("body")
    assert body is not None
    assert not re.search(r"\b(nan|inf|Infinity|NaN|None|null|undefined)\b", text(body))


@EVERY
def test_every_rating_is_there_with_its_interval_and_counts(name: str) -> None:
    found = rows(name, "ratings")
    assert len(found) == len(SUMMARIES[name].ratings)
    for rank, (row, cells) in enumerate(zip(SUMMARIES[name].ratings, found, strict=True), 1):
        assert cells[0].startswith(f"{rank} " if row.margin.known else "- ")
        record = words.record(row.won, row.drawn, row.lost).replace("-", "\N{EN DASH}")
        assert cells[2:4] == [words.count(row.blocks), record]
        assert cells[5:] == [words.count(row.games), words.count(row.faults)]
        for cell, estimate, form in (
            (cells[1], row.margin, words.points),
            (cells[4], row.elo, words.elo),
        ):
            told = words.value(estimate, form) + words.interval(estimate, form)
            assert cell.startswith(told)


@pytest.mark.parametrize("name", sorted(set(SUMMARIES) - {"two hundred", "nothing known"}))
def test_every_pair_is_there_both_ways_with_its_interval_and_blocks(name: str) -> None:
    order = [row.entrant for row in SUMMARIES[name].ratings]
    square = [cells[1:] for cells in rows(name, "pairs")]
    for row in SUMMARIES[name].pairs:
        at, against = order.index(row.first), order.index(row.second)
        value, low, high, blocks = row.margin
        assert value is not None
        assert low is not None
        assert high is not None
        assert row.los is not None
        for cell, los, numbers in (
            (square[at][against], row.los, (value, low, high)),
            (square[against][at], 1 - row.los, (-value, -high, -low)),
        ):
            one, least, most = map(words.points, numbers)
            sure = f"LOS {words.los(los)}"
            assert cell == f"{one}{least} to {most}{sure}{words.counted(blocks, 'block')}"


def test_who_is_not_known_has_no_rank_in_the_square_of_pairs_either() -> None:
    plain = SUMMARIES["three players"]
    last = replace(plain.ratings[-1], margin=made_up.UNKNOWN)
    told = page.render(replace(plain, ratings=(*plain.ratings[:-1], last)))
    square = ET.fromstring(told).find(".//section[@id='pairs']//table")
    assert square is not None
    assert text(square.findall("tbody/tr")[-1][0]).startswith("- ")
    assert text(square.findall("thead/tr/th")[-1]).startswith("- ")
    assert text(square.findall("thead/tr/th")[1]).startswith("1 ")


def test_only_who_is_surely_ahead_or_behind_has_a_colour() -> None:
    order = [row.entrant for row in SUMMARIES["eight"].ratings]
    square = [row[1:] for row in section("eight", "pairs").iterfind(".//tbody/tr")]
    shades = Counter[str]()
    for row in SUMMARIES["eight"].pairs:
        at, against = order.index(row.first), order.index(row.second)
        _, low, high, _ = row.margin
        assert low is not None
        assert high is not None
        letter = "w" if low > 0 else "l"
        told, back = square[at][against].get("class") or "", square[against][at].get("class") or ""
        shades[told] += 1
        if low <= 0 <= high:
            assert (told, back) == ("l0", "l0")
        else:
            assert (told[0], told[1] > "0") == (letter, True)
            assert (back[0], back[1]) == ("l" if letter == "w" else "w", told[1])
    assert {"l0", "w2", "w4"} <= set(shades)


@pytest.mark.parametrize("name", ["two", "three players", "teams"])
def test_places_luck_faults_and_thoughts_are_there(name: str) -> None:
    summary = SUMMARIES[name]
    for row, cells in zip(summary.positions, rows(name, "places"), strict=True):
        assert words.value(row.margin, words.points) in cells[1]
        assert words.interval(row.margin, words.points) in cells[1]
        assert words.interval(row.share, words.share) in cells[2]
        assert words.counted(row.share.blocks, "block") in cells[2]
    assert [cells[1] for cells in rows(name, "luck")] == ["412", "204", "88.1"]
    assert f"margin of {words.counted(summary.luck.games, 'game')}" in text(section(name, "luck"))
    faults = {cells[0]: cells[1:] for cells in rows(name, "faults")}
    assert len(faults) == sum(bool(row.causes) for row in summary.faults)
    for fault in summary.faults:
        if fault.causes:
            assert faults[fault.bot][:2] == [
                words.count(fault.games),
                words.count(sum(fault.causes.values())),
            ]
    thoughts = {cells[0]: cells[1:] for cells in rows(name, "timing")}
    for thought in summary.timing.thoughts:
        assert thoughts[thought.bot] == [
            words.seconds(thought.mean),
            words.seconds(thought.longest),
            words.count(thought.decisions),
            words.count(sum(thought.counts)),
        ]


@EVERY
def test_the_page_begins_with_what_can_be_said(name: str) -> None:
    head = tree(name).find("body/header")
    assert head is not None
    lead = head.find("p[@class='lead']")
    assert lead is not None
    if name == "nothing known":
        assert "too few blocks" in text(lead)
        assert text(head).count("too few blocks") == 1
        return
    for sentence in SUMMARIES[name].sentences:
        if name != "hostile":
            assert sentence in text(head)


def test_it_says_what_was_played_and_how_to_prove_it() -> None:
    told = text(section("eight", "played"))
    for fact in ("round-robin", "playtash, 2 players", "a match to 41 points", "1,680 of 1,680"):
        assert fact in told
    assert SUMMARIES["eight"].commitment in told
    assert "ronda verify records.jsonl" in told
    assert "unproven" not in told
    assert "unproven" in text(section("nothing known", "played"))


def test_the_version_that_counted_and_the_rounds_that_were_decided_are_told() -> None:
    course = Course(3, 3, standings=(Standing("bot0@1.0.0", 3.0, 4.0, 5.0, 0),))
    plan = {**SUMMARIES["two"].plan, "format": "swiss"}
    told = ET.fromstring(
        page.render(replace(SUMMARIES["two"], plan=plan, course=course, ronda="1.2.3"))
    )
    assert "swiss, 3 rounds" in text(told)
    assert "By ronda tournament of ronda 1.2.3, from the results alone" in text(told)


def test_a_verdict_and_placings_have_parts_of_their_own() -> None:
    told = text(section("decided", "verdict"))
    assert "bot0 is stronger" in told
    assert "+1.50 (95 %: +0.75 to +2.25, 23 blocks)" in told
    assert "Decided after24 blocks" in told
    assert text(section("decided", "placings")) == "Placings bot0@1.0.0 bot1@1.1.0"
    assert tree("eight").find(".//section[@id='verdict']") is None
    assert tree("eight").find(".//section[@id='placings']") is None


def test_only_the_part_of_timing_knows_of_timing() -> None:
    plain = SUMMARIES["eight"]
    slow = replace(plain, timing=replace(plain.timing, seconds=1e6, lost=9, late=4, thoughts=()))

    def without(told: str) -> str:
        return re.sub(r'<section id="timing".*?</section>', "", told, flags=re.DOTALL)

    again = page.render(slow)
    assert again != rendered("eight")
    assert without(again) == without(rendered("eight"))


def test_the_same_summary_gives_the_same_bytes_whatever_is_set_for_matplotlib() -> None:
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.facecolor": "red"}):
        assert page.render(made_up.tournament()) == rendered("eight")
        assert mpl.rcParams["font.size"] == 30


def test_names_are_text_and_nothing_more() -> None:
    told = rendered("hostile")
    for markup in ("<script", "<img", "\u202e", "\x1b", "\u0301\u0302\u0303"):
        assert markup not in told
    shown = [cells[0] for cells in rows("hostile", "ratings")]
    assert shown[0] == "1 <script>alert(1)</script>@1"
    assert "$\\frac{1}{0}$" in shown[6]
    assert "{{ 7 * 7 }} {% raw %}" in shown[7]
    labels = [text(label) for label in section("hostile", "ratings").iterfind(".//figure//text")]
    assert "§0§" in labels
    assert "$\\frac{1}{0}$" in labels


def test_pictures_have_the_colours_of_the_page_in_light_and_in_dark() -> None:
    style = tree("eight").findtext("head/style") or ""
    used = Counter[str]()
    for root in (one for name in ("eight", "two hundred") for one in tree(name).iterfind(PICTURE)):
        inside = {part for defs in root.iter("defs") for part in defs.iter()}
        drawn = ET.tostring(root, encoding="unicode")
        assert not re.search(r"#[0-9a-f]{6}\b|rgb\(|black|white", drawn)
        for element in root.iter():
            used.update((element.get("class") or "").split())
            painted = {"rect", "path", "use", "text"} & {element.tag}
            assert not painted or element in inside or element.get("class")
    assert used["fill-accent"] > 10
    assert used["fill-ink"] > 10
    roles = {name for name in used if name.startswith(("fill-", "stroke-"))}
    for role in roles:
        assert f".{role} {{" in style
    dark = style.split("(prefers-color-scheme: dark)")[1].split("}")[0]
    for variable in set(re.findall(r"var\((--[\w-]+)\)", style)):
        assert style.count(f"{variable}:") >= 2, variable
        assert f"{variable}:" in dark


def test_a_table_that_scrolls_shows_at_its_edges_that_there_is_more() -> None:
    style = tree("eight").findtext("head/style") or ""
    paint = re.search(r"\.scroll \{[^}]*?background:([^;]*);", style)
    assert paint is not None
    layers = [layer.split() for layer in paint[1].split(",\n")]
    # What moves along with the table is drawn above what stays at the edges.
    assert [layer[-1] for layer in layers] == [*["local"] * 3, *["scroll"] * 3]
    assert ["--shade" in " ".join(layer) for layer in layers] == [*[False] * 3, *[True] * 3]
    # Left, right and below: above, the head stays.
    edges = [layer[layer.index("/") - 1] for layer in layers]
    assert edges == ["left", "right", "bottom"] * 2


def test_every_cause_has_a_colour_of_its_own() -> None:
    assert len(set(SERIES)) == len(words.CAUSES) == len(Cause)


def test_what_was_not_measured_or_not_taken_off_is_not_told() -> None:
    plain = SUMMARIES["two"]
    same = page.render(replace(plain, luck=replace(plain.luck, taken=0.0)))
    assert "88.1" not in same
    assert "reference bot" not in same
    assert section("nothing known", "luck").find(".//table") is None


def test_a_stop_rule_without_an_estimate_tells_none() -> None:
    unknown = Verdict("precision", "every rating is known well enough", 40, made_up.UNKNOWN)
    told = ET.fromstring(page.render(replace(SUMMARIES["two"], verdict=unknown)))
    verdict = told.find(".//section[@id='verdict']")
    assert verdict is not None
    assert "every rating is known well enough" in text(verdict)
    assert "ahead" not in text(verdict)


def test_a_match_draws_no_pictures() -> None:
    code = """
import sys
from ronda_cli.main import cli
try:
    cli.main(["match", "random", "random", "--rules", "arabic"])
except SystemExit as ended:
    assert not ended.code
print({"matplotlib", "jinja2", "markupsafe"} & set(sys.modules), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stderr.decode().endswith("set()\n")


def test_bots_of_mixed_teams_have_a_part_of_their_own() -> None:
    found = rows("teams", "bots")
    assert {cells[0].partition(" ")[2] for cells in found} == {"a@1", "b@2", "c@1.0.3"}
    assert tree("eight").find(".//section[@id='bots']") is None


def test_two_hundred_entrants_make_no_page_that_cannot_be_opened() -> None:
    assert len(rendered("two hundred").encode()) < 1_000_000
    assert len(rows("two hundred", "pairs")) == page.MOST_CROSSED
    assert "all 19,900 pairs are in report.json" in text(section("two hundred", "pairs"))
    assert section("two hundred", "pairs").find(".//image") is not None
    drawn = section("two hundred", "ratings").findall(".//figure//svg")
    assert all(len([one for one in svg.iter("text") if "bot" in text(one)]) == 200 for svg in drawn)
