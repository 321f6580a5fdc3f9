from __future__ import annotations

import re

import pytest
from rich.cells import cell_len
from rich.text import Text
from tests.cli import golden
from tests.cli.games import SCENES, Game

from ronda_cli import render
from ronda_cli.look import ASCII, UNICODE, Look
from ronda_cli.picture import describe
from ronda_core.cards import PACK, RANKS, SUITS

SIZES = [(40, 20), (60, 24), (80, 24), (120, 40)]


def plain(lines: list[Text]) -> str:
    return "".join(line.plain.rstrip() + "\n" for line in lines)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_a_screen_looks_as_it_was_approved(name: str, width: int, height: int) -> None:
    scene = SCENES[name]()
    look = Look(width, height)
    screen = render.frame(scene.picture, scene.story, look, "q leaves")
    golden.check(f"{name} {width}x{height}", plain(screen))


@pytest.mark.parametrize("name", SCENES)
def test_a_screen_in_ascii_looks_as_it_was_approved(name: str) -> None:
    scene = SCENES[name]()
    screen = render.frame(scene.picture, scene.story, Look(80, 24, unicode=False), "q leaves")
    golden.check(f"{name} ascii", plain(screen))


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("width", [40, 41, 47, 59, 60, 79, 80, 100, 109, 110, 120, 160, 200])
@pytest.mark.parametrize("height", [10, 20, 24, 60])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_is_wider_than_the_terminal_and_none_too_many(
    name: str, width: int, height: int, unicode: bool
) -> None:
    scene = SCENES[name]()
    screen = render.frame(scene.picture, scene.story, Look(width, height, unicode), "q leaves")
    assert len(screen) == height
    assert max(cell_len(line.plain) for line in screen) <= width
    assert screen[-1].plain == "q leaves"


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_every_point_every_pile_and_every_card_is_on_the_picture(name: str, width: int) -> None:
    picture = SCENES[name]().picture
    told = plain(render.picture_lines(picture, Look(width)))
    head, rows = told.split("pts", 1)[1].split("\n", 1)[0], told.split("pts", 1)[1].split("\n")[1:]
    rows = rows[: picture.players]
    assert "took" in head
    for side, (points, pile) in enumerate(zip(picture.scores, picture.piles, strict=False)):
        found = [row for row in rows if picture.side_of(int(row[4])) == side]
        numbers = re.findall(r"\d+", re.sub(r"[█░▪]", " ", found[0][5:]))
        assert numbers[:2] == [str(points), str(pile)]
    if picture.phase != "over":
        assert all(str(card) in told for card in (*picture.table, *picture.hand))


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_every_glyph_is_one_cell_wide_and_no_emoji(glyphs: object) -> None:
    for glyph in "".join(getattr(glyphs, name) for name in type(glyphs).__slots__):
        assert cell_len(glyph) == 1
        assert ord(glyph) < 0x2F00
        assert glyph != "\ufe0f"


def test_the_suit_is_always_told_by_its_letter_and_by_a_colour() -> None:
    for card in PACK:
        text = render.card_text(card, Look())
        assert text.plain.endswith(str(card))
        assert str(text.style) == render.COLOURS[card.suit]
    assert len(set(render.COLOURS.values())) == len(SUITS)
    assert len({render.card_text(card, Look()).plain for card in PACK}) == len(RANKS) * len(SUITS)


def test_colours_are_never_all_there_is() -> None:
    scene = SCENES["own hand of two"]()
    console = render.console(Look(80, 24, colour=False))
    with console.capture() as captured:
        for line in render.picture_lines(scene.picture, Look(80, 24)):
            console.print(line)
    assert "\x1b" not in captured.get()


@pytest.mark.parametrize("name", SCENES)
def test_a_picture_in_words_has_neither_boxes_nor_colours(name: str) -> None:
    scene = SCENES[name]()
    sentences = [*describe(scene.picture), *(told.linear for told in scene.story)]
    golden.check(f"{name} in words", "\n".join(sentences) + "\n")
    for sentence in sentences:
        assert "\n" not in sentence
        assert not re.search(r"[\x00-\x1f\x7f-\x9f─-▟▪▸●\u222a†♣]", sentence)


def test_a_hostile_name_is_drawn_as_any_other_of_its_length() -> None:
    honest = Game("playtash", 2, names=("a" * 38 + "..", "b")).scene(15)
    hostile = Game("playtash", 2, names=("\x1b[2J\u202e\n" + "a" * 10_000, "b")).scene(15)
    for width in (40, 60, 80, 120):
        one, two = (
            render.frame(scene.picture, scene.story, Look(width, 24), "")
            for scene in (honest, hostile)
        )
        assert plain(one) == plain(two)
