"""Names are hostile input: what of an entrant's name is shown, and how short.

A name comes from a bot's author or from a stranger on a server. What is left here is one line of
visible characters without anything that turns the reading direction; each form of the report
escapes it as its own syntax asks.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ronda_arena.tournament.entrants import TEAM, members

Called = Callable[[str], str]
"""What stands for a name: `shown`, or something shorter."""

LONGEST: Final = 120
"""Characters of a name that are told anywhere."""

_MARKS: Final = 2
"""On a letter, as many as vocalised Arabic needs: towers of them would cover other lines."""
_CUT: Final = "…"


def shown(raw: str, longest: int = LONGEST) -> str:
    """Return a name, or a text with names in it, as it may be shown: visible, on one line."""
    kept: list[str] = []
    marks = _MARKS  # nothing to stand on yet
    for char in unicodedata.normalize("NFC", raw[: 10 * longest]):
        kind = unicodedata.category(char)
        if kind[0] == "Z" or char in "\t\r\n":
            kept.append(" ")
            marks = _MARKS
        elif kind[0] == "M":
            kept += char * (marks < _MARKS)
            marks += 1
        elif kind[0] != "C":
            kept.append(char)
            marks = 0
    line = unicodedata.normalize("NFC", " ".join("".join(kept).split()))
    return _cut(line, longest) or "?"


def labels(names: Sequence[str], cells: int) -> tuple[str, ...]:
    """Return a short label for each name, at most `cells` wide, for pictures and heads of columns.

    Versions are left out where the bots' names alone tell who it is; long names lose their middle.
    """
    clean = [shown(name) for name in names]
    bare = [_without_versions(name) for name in clean]
    often = Counter(bare)
    return tuple(
        _cut(short if often[short] == 1 else whole, cells)
        for short, whole in zip(bare, clean, strict=True)
    )


def without_versions(names: Iterable[str]) -> dict[str, str]:
    """Return what each name may be called where there is little room: as in `labels`, uncut."""
    all_names = sorted(set(names))
    return dict(zip(all_names, labels(all_names, LONGEST), strict=True))


def _without_versions(name: str) -> str:
    bare = [bot.partition("@")[0] for bot in members(name)]
    return TEAM.join(bare) if all(bare) else name


def _cut(text: str, cells: int) -> str:
    """Cut the middle out of what is wider than `cells`: the ends tell versions apart."""
    if width(text) <= cells:
        return text
    tail = _fitting(text[::-1], (cells - 1) // 2)[::-1]
    while tail and unicodedata.category(tail[0])[0] == "M":
        tail = tail[1:]  # a mark whose letter is cut would stand on the sign of the cut
    return _fitting(text, cells - 1 - width(tail)) + _CUT + tail


def _fitting(text: str, cells: int) -> str:
    taken = 0
    for at, char in enumerate(text):
        taken += width(char)
        if taken > cells:
            return text[:at]
    return text


def width(text: str) -> int:
    """Return how many letters' room a text takes: characters of East Asia take two."""
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )
