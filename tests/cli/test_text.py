from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ronda_cli import text

HOSTILE = {
    "colours": "\x1b[31mred\x1b[0m",
    "a title": "\x1b]0;owned\x07name",
    "a title in C1": "\x9d0;owned\x9cname",
    "cursor": "\x1b[2J\x1b[Hname",
    "C1 cursor": "\x9b2Jname",
    "lines": "a\nb\r\nc\x0b\x0cd\x85e\u2028f\u2029g",
    "override": "\u202egreedy\u202c",
    "isolates": "\u2066a\u2067b\u2068c\u2069",
    "no width": "g\u200br\u200ce\u200de\ufeffdy\u2060\u00ad",
    "tags": "a\U000e0041\U000e007f",
    "selectors": "a\ufe0f\u2694\ufe0f",
    "a tower": "z" + "\u0335\u0310\u0326" * 500,
    "marks alone": "\u0301\u0302\u0303",
    "blanks": "\u3164\uffa0\u115f\u2800",
    "surrogate": "a\ud800b",
    "long": "x" * 10_000,
    "long and wide": "漢" * 10_000,
    "nothing": "",
    "spaces": " \t \u3000 ",
}


def harmless(shown: str) -> bool:
    marks = 0
    for char in shown:
        kind = unicodedata.category(char)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if kind[0] == "C" or kind in ("Zl", "Zp") or marks > 2:
            return False
    return "\n" not in shown and "\r" not in shown


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_name_becomes_one_short_visible_line(raw: str) -> None:
    shown = text.name(raw)
    assert harmless(shown)
    assert shown
    assert shown == shown.strip()
    assert cell_len(shown) <= text.NAME_CELLS


@given(st.text(max_size=60))
def test_no_text_at_all_becomes_a_name_that_steers_a_terminal(raw: str) -> None:
    shown = text.name(raw)
    assert harmless(shown)
    assert cell_len(shown) <= text.NAME_CELLS


@given(st.text(max_size=60))
def test_a_name_that_was_cleaned_stays_as_it_is(raw: str) -> None:
    once = text.printable(raw)
    assert text.printable(once) == once


def test_escape_sequences_go_as_a_whole() -> None:
    assert text.printable("\x1b[1;31mred\x1b[0m") == "red"
    assert text.printable("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\") == "link"


def test_a_sequence_without_an_end_takes_no_time_to_find() -> None:
    assert text.printable("\x1b[" * 4000 + "m") is not None


def test_arabic_keeps_its_vowels() -> None:
    vowelled = "مُحَمَّد"
    assert text.name(vowelled) == vowelled


def test_a_name_without_anything_visible_gets_a_stand_in() -> None:
    assert text.name("\u200b\u202e", otherwise="seat 2") == "seat 2"


@pytest.mark.parametrize("cells", range(12))
def test_a_cut_name_is_never_wider_than_asked(cells: int) -> None:
    for raw in ("abcdefghijklmnop", "漢字漢字漢字漢字", "a漢b字c"):
        assert cell_len(text.fit(raw, cells)) <= cells


class TestLabels:
    def test_a_version_goes_where_the_name_says_enough(self) -> None:
        assert text.labels(["greedy@1.0.0", "careful@2.0"]) == ("greedy", "careful")

    def test_versions_stay_where_they_make_the_difference(self) -> None:
        assert text.labels(["greedy@1.0", "greedy@2.0"]) == ("greedy@1.0", "greedy@2.0")

    def test_the_same_bot_twice_is_told_apart_by_seat(self) -> None:
        assert text.labels(["a@1", "b@1", "a@1"]) == ("a #0", "b", "a #2")

    def test_the_viewer_is_you_and_nobody_else_can_be(self) -> None:
        assert text.labels(["you", "You@1", "x"], you=2) == ("you #0", "You #1", "you")

    def test_nobody_passes_for_another_seat_or_a_numbered_namesake(self) -> None:
        labels = text.labels(["seat 1", "", "a #3", "a"])
        assert labels == ("seat 1 #0", "seat 1 #1", "a #3 #2", "a")

    @given(st.lists(st.text(max_size=45), min_size=2, max_size=4), st.integers(0, 1))
    def test_labels_differ_whatever_the_names(self, names: list[str], you: int) -> None:
        labels = text.labels(names, you)
        assert len({label.casefold() for label in labels}) == len(names)
        assert all(cell_len(label) <= text.NAME_CELLS for label in labels)
