"""A picture and its story as lines of coloured text, for widths from 40 to 200 cells.

Numbers come first in a row and names last: a name in letters of an unexpected width, or written
from the right, then cannot push a number out of its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from ronda_cli.look import Look
from ronda_cli.picture import Picture
from ronda_cli.story import Told
from ronda_cli.text import fit
from ronda_core.cards import SUITS, Card

COLOURS: Final = {"O": "yellow", "C": "red", "E": "bright_blue", "B": "green"}
_BOX: Final = 6
"""Cells of a card in a box, the gap to the next included."""
_WIDE: Final = 110
"""From here on the story stands beside the picture."""
_NAME: Final = 14
"""Cells that a name has at least before there are bars."""
_PICTURE: Final = 66
"""The widest picture."""
_MEASURE: Final = Console(width=200, color_system=None, force_terminal=False)
"""What rich wants for wrapping; nothing is printed with it."""


def console(look: Look) -> Console:
    """Return a console on stdout that draws as `look` says and guesses nothing."""
    return Console(
        width=look.width,
        height=look.height,
        force_terminal=look.screen or look.colour,
        color_system="auto" if look.colour else None,
        no_color=not look.colour,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        safe_box=False,
    )


def card_text(card: Card, look: Look, *, style: str = "") -> Text:
    """Return a card on one line: its glyph and its letters."""
    glyph = look.glyphs.suits[SUITS.index(card.suit)]
    return Text(f"{glyph}{card}".strip(), f"{COLOURS[card.suit]} {style}".strip())


def picture_lines(picture: Picture, look: Look) -> list[Text]:
    """Return a picture as lines that fit `look.width`."""
    width = min(look.width, _PICTURE if look.width >= _WIDE else 100)
    boxes = _has_room(picture, look)
    lines = [*_title(picture, look, width), *_seats(picture, look, width)]
    playing = picture.phase in ("declare", "play")
    if playing:
        lines += [
            Text(),
            _caption("table"),
            *_cards(picture.table, look, width, boxes, mark=picture.just_laid),
        ]
    if playing and picture.seat is not None:
        lines += [_caption("your hand"), *_cards(picture.hand, look, width, boxes, numbered=True)]
    return lines + _notes(picture, look, width)


def _has_room(picture: Picture, look: Look) -> bool:
    """Say whether cards may be boxes: where the story stands below, it needs some lines too."""
    story = 3 if look.width >= _WIDE else 7
    needed = 9 + picture.players + (6 if picture.seat is not None else 0) + story
    return look.width >= 60 and look.height >= needed


def told_lines(told: Told, look: Look, width: int) -> list[Text]:
    """Return one thing that happened: the sentence, and its points in front of their reasons."""
    sentence = Text(style="bold" if told.heading else "")
    for part in told.parts:
        sentence.append_text(card_text(part, look) if isinstance(part, Card) else Text(part))
    lines = _hang(sentence, width)
    for gain in told.gains:
        row = Text().append(f"{gain.points:+4} ", "bold bright_magenta")
        row.append(gain.who, "bold")
        row.append(f"  {gain.why}", "dim")
        lines += _hang(row, width, indent=5)
    return lines


def frame(picture: Picture | None, story: Sequence[Told], look: Look, bottom: str) -> list[Text]:
    """Return a whole screen: the picture, the end of the story, and a line at the bottom."""
    if picture and story and story[-1].sentence == picture.result:
        picture = replace(picture, result="")  # once is enough
    drawn = picture_lines(picture, look) if picture else []
    beside = look.width >= _WIDE
    rows = look.height - 1
    if beside:
        log = _tail(story, look, look.width - _PICTURE - 3, rows)
        empty = [Text()] * rows
        body = [
            _pad(left.copy(), _PICTURE).append(f" {look.glyphs.wall} ", "dim").append_text(right)
            for left, right in zip((drawn + empty)[:rows], log + empty, strict=False)
        ]
    else:
        body = drawn[:rows]
        left = rows - len(body) - 1
        if left > 0:
            body += [Text(look.glyphs.rule * look.width, "dim")]
            body += _tail(story, look, look.width, left)
    body += [Text()] * (rows - len(body))
    return [*body, Text(fit(bottom, look.width - 1), "dim")]


def _tail(story: Sequence[Told], look: Look, width: int, rows: int) -> list[Text]:
    """Return the end of the story: whole happenings, or the start of the last if it is longer."""
    lines: list[Text] = []
    for told in reversed(story):
        block = told_lines(told, look, width)
        if lines and len(lines) + len(block) > rows:
            break
        lines = block + lines
    return lines[:rows]


def _title(picture: Picture, look: Look, width: int) -> list[Text]:
    rules = picture.rules
    if picture.target:
        rules += f" to {picture.target}"
    elif picture.length:
        rules += f", {picture.length} hand" + "s" * (picture.length > 1)
    parts = [rules]
    if picture.hand_number:
        parts += [f"hand {picture.hand_number}", f"batch {picture.batch} of {picture.batches}"]
        parts.append(f"{picture.stock} in the pack" if picture.stock else "the pack is empty")
    lines = [Text()]
    if picture.match:
        parts.insert(0, fit(picture.match, width))
    for part in parts:
        gap = f" {look.glyphs.dot} " if lines[-1] else ""
        if lines[-1] and cell_len(lines[-1].plain + gap + part) > width:
            lines.append(Text())
            gap = ""
        lines[-1].append(gap, "dim").append(part, "bold" if part == rules else "")
    return [*lines, Text(look.glyphs.rule * width, "dim")]


def _seats(picture: Picture, look: Look, width: int) -> list[Text]:
    shown = 11 if picture.open_hands else 3
    room = width - shown - (26 if width >= 60 else 20) - _NAME
    bar = max((size for size in (20, 10) if picture.target and size + 2 <= room), default=0)
    head = f"      pts{' ' * (bar + 2 if bar else 0)}  took  {'hand'.ljust(shown)}"
    lines = [Text(head.rstrip(), "dim")]
    order = sorted(range(picture.players), key=lambda seat: (picture.side_of(seat), seat))
    for place, seat in enumerate(order):
        lines.append(_seat(picture, look, seat, place, bar, shown, width))
    return lines


def _seat(
    picture: Picture, look: Look, seat: int, place: int, bar: int, shown: int, width: int
) -> Text:
    glyphs = look.glyphs
    side = picture.side_of(seat)
    waits = seat in picture.waits_for
    row = Text().append(f"{glyphs.turn if waits else ' '} ", "bold bright_magenta")
    team = picture.players == 4
    row.append(glyphs.team[place % 2] if team else " ", "dim").append(f" {seat}", "dim")
    if team and place % 2:
        row.append(" " * (4 + (bar + 2 if bar else 0) + 6))
    else:
        row.append(f"{picture.scores[side]:4}", "bold")
        if bar:
            full = min(round(bar * picture.scores[side] / picture.target), bar)
            row.append("  ").append(glyphs.bar * full, "bright_magenta")
            row.append(glyphs.gap * (bar - full), "dim")
        row.append(f"{picture.piles[side]:6}")
    row.append("  ")
    if picture.open_hands:
        hand = Text(" ").join(
            Text(str(card), COLOURS[card.suit]) for card in picture.open_hands[seat]
        )
        row.append_text(_pad(hand, shown))
    else:
        row.append((glyphs.back * picture.hand_sizes[seat]).ljust(shown))
    deals = seat == picture.dealer and picture.hand_number
    row.append(
        ("  dealer " if width >= 60 else " D ") if deals else " " * (9 if width >= 60 else 3)
    )
    name = fit(picture.names[seat], width - cell_len(row.plain))
    return row.append(name, "bold" if waits or seat == picture.seat else "")


def _cards(
    cards: Sequence[Card],
    look: Look,
    width: int,
    boxes: bool,
    *,
    numbered: bool = False,
    mark: Card | None = None,
) -> list[Text]:
    if not cards:
        return [Text("  (none)", "dim")] + [Text()] * (_box_height(look) - 1 if boxes else 0)
    if boxes and 2 + _BOX * len(cards) <= width:
        return _boxes(cards, look, numbered, mark)
    lines = [Text(" ")]
    for number, card in enumerate(cards, 1):
        token = Text(f" {number}:" if numbered else " ", "dim")
        token.append_text(card_text(card, look, style="underline" if card == mark else ""))
        if cell_len(lines[-1].plain) + cell_len(token.plain) + 1 > width:
            lines.append(Text(" "))
        lines[-1].append_text(token).append(" ")
    for line in lines:
        line.rstrip()
    return lines


def _box_height(look: Look) -> int:
    return 4 if look.unicode else 3


def _boxes(cards: Sequence[Card], look: Look, numbered: bool, mark: Card | None) -> list[Text]:
    glyphs = look.glyphs
    left_top, right_top, left_bottom, right_bottom = list(glyphs.corners)
    rows = [Text("  ") for _ in range(_box_height(look) + numbered)]
    for number, card in enumerate(cards, 1):
        edge = "bold" if card == mark else "dim"
        face = [str(card).ljust(3)]
        if look.unicode:
            face.append(f" {glyphs.suits[SUITS.index(card.suit)]} ")
        rows[0].append(f"{left_top}{glyphs.rule * 3}{right_top} ", edge)
        for row, text in zip(rows[1:], face, strict=False):
            row.append(glyphs.wall, edge).append(text, f"bold {COLOURS[card.suit]}")
            row.append(f"{glyphs.wall} ", edge)
        rows[len(face) + 1].append(f"{left_bottom}{glyphs.rule * 3}{right_bottom} ", edge)
        if numbered:
            rows[-1].append(f"  {number}   ", "dim")
    for row in rows:
        row.rstrip()
    return rows


def _notes(picture: Picture, look: Look, width: int) -> list[Text]:
    notes: list[Text] = []
    if picture.may_declare:
        note = Text("you hold a set:")
        for card in picture.same_cards():
            note.append(" ").append_text(card_text(card, look))
        notes.append(note)
    if picture.declared:
        told = ", ".join(f"{picture.names[seat]} a {kind}" for seat, kind in picture.declared)
        notes.append(Text(f"declared: {told}"))
    if picture.chain_link and picture.phase == "play":
        points, nth = ((5, "third"), (10, "fourth"))[min(picture.chain_link, 2) - 1]
        note = Text(f"a {nth} {picture.chain_rank} in a row now pays {points}")
        if picture.pack:
            note.append(" and takes back")
            for card in picture.pack:
                note.append(" ").append_text(card_text(card, look))
        notes.append(note)
    if picture.phase == "declare" and picture.hand_number:
        waited = ", ".join(picture.names[seat] for seat in picture.waits_for)
        notes.append(Text(f"declaring, waiting for {waited}"))
    if picture.phase == "waiting":
        notes.append(Text("waiting for the seats to be taken"))
    if picture.result:
        notes.append(Text(picture.result, "bold"))
    return [line for note in notes for line in _hang(note, width)]


def _caption(words: str) -> Text:
    return Text(f"  {words}", "dim")


def _hang(text: Text, width: int, indent: int = 2) -> list[Text]:
    """Wrap a text; what does not fit on the first line is indented."""
    if cell_len(text.plain) <= width:
        return [text]
    first = text.wrap(_MEASURE, width)[0]
    rest = text[len(first.plain) :]
    first.rstrip()
    rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]
    lines = [first]
    for line in rest.wrap(_MEASURE, width - indent):
        line.rstrip()
        lines.append(Text(" " * indent).append_text(line))
    return lines


def _pad(text: Text, width: int) -> Text:
    text.pad_right(max(width - cell_len(text.plain), 0))
    return text
