"""What the terminal can do, asked once, and the glyphs that follow from it."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, fields
from typing import Final, TextIO

import click

from ronda_cli.output import is_terminal

NARROWEST: Final = 40
WIDEST: Final = 200


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Characters of width 1 only: no emoji, no variation selectors."""

    suits: str
    """In the order O, C, E, B; blanks where the letter must do."""
    turn: str
    back: str
    bar: str
    gap: str
    rule: str
    wall: str
    corners: str
    """Of a box: top left, top right, bottom left, bottom right."""
    dot: str
    team: str
    """Two brackets that hold the rows of a team together."""


UNICODE: Final = Glyphs(
    suits="●∪†♣",  # noqa: RUF001 -- a cup
    turn="▸",
    back="▪",
    bar="█",
    gap="░",
    rule="─",
    wall="│",
    corners="╭╮╰╯",
    dot="·",
    team="╭╰",
)
ASCII: Final = Glyphs(
    suits="    ",
    turn=">",
    back="#",
    bar="=",
    gap=".",
    rule="-",
    wall="|",
    corners="++++",
    dot="-",
    team="/\\",
)


@dataclass(frozen=True, slots=True)
class Look:
    """How to draw for one stream."""

    width: int = 80
    height: int = 24
    unicode: bool = True
    colour: bool = False
    screen: bool = False
    """The stream is a terminal that may be drawn over."""
    plain: bool = False
    """Sentences only, one under the other."""

    @property
    def glyphs(self) -> Glyphs:
        """The characters to draw with."""
        return UNICODE if self.unicode else ASCII


def look(plain: bool = False, stream: TextIO | None = None) -> Look:
    """Return how to draw on `stream`, stdout if none is given."""
    stream = stream or sys.stdout
    plain = plain or wants_plain()
    size = shutil.get_terminal_size()
    dumb = os.environ.get("TERM") == "dumb"
    terminal = is_terminal(stream)
    return Look(
        width=min(max(size.columns, NARROWEST), WIDEST),
        height=max(size.lines, 10),
        unicode=speaks_unicode(stream),
        colour=terminal and not plain and not dumb and not os.environ.get("NO_COLOR"),
        screen=terminal and not plain and not dumb,
        plain=plain,
    )


def wants_plain() -> bool:
    """Say whether the environment or `ronda --plain` asks for sentences only."""
    if os.environ.get("ACCESSIBLE", "0") not in ("", "0"):
        return True
    ctx = click.get_current_context(silent=True)
    return bool(ctx and ctx.find_root().params.get("plain"))


def speaks_unicode(stream: TextIO) -> bool:
    """Say whether `stream` can encode every glyph."""
    glyphs = "".join(getattr(UNICODE, field.name) for field in fields(Glyphs))
    try:
        glyphs.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
