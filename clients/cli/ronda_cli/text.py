"""Names are hostile input: what of them may reach a terminal.

A name comes from a bot's author, a record or a stranger on a server. It may hold escape sequences,
line ends, controls that turn the reading direction, letters without a width and towers of
combining marks. What is left after `name` is one short line of visible characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

NAME_CELLS: Final = 40
_LONGEST: Final = 4096  # characters looked at; a name of ten thousand is cut long before

_ESCAPES: Final = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, ...
    r"|\x1b[ -/]*[0-~]?"
)
_BLANK: Final = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and symbols without ink
_SELECTORS: Final = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")


def printable(raw: str) -> str:
    """Return `raw` as one line without anything that steers a terminal or hides.

    Two marks stay on each letter, as many as vocalised Arabic needs.
    """
    kept: list[str] = []
    marks = 2  # nothing to stand on yet
    for char in _SELECTORS.sub("", _ESCAPES.sub("", raw)):
        kind = unicodedata.category(char)
        if char in "\t\n\r\v\f" or kind in ("Zs", "Zl", "Zp"):
            if kept and kept[-1] != " ":
                kept.append(" ")
            marks = 2
        elif kind in ("Mn", "Me"):
            if marks < 2:
                kept.append(char)
            marks += 1
        elif kind[0] != "C" and char not in _BLANK:
            kept.append(char)
            marks = 0
    return "".join(kept).strip()


def percent(share: float, digits: int = 0) -> str:
    """Return a share as it is told everywhere."""
    return f"{100 * share:.{digits}f} %"


def escaped(raw: bytes) -> str:
    """Return what was printed, in lines; what steers a terminal, hides or is no text, escaped."""
    text = raw.decode("utf-8", "backslashreplace").rstrip("\n")
    return "".join(
        char if char == "\n" or char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )


def indented(raw: str) -> str:
    """Return a line of source or of a log as `printable`, but where it stands."""
    bare = raw.lstrip(" ")
    return " " * (len(raw) - len(bare)) + printable(bare)


def name(raw: str, cells: int = NAME_CELLS, *, otherwise: str = "?") -> str:
    """Return a name as it may be shown, at most `cells` wide."""
    return fit(printable(raw[:_LONGEST]), cells) or otherwise


def fit(shown: str, cells: int) -> str:
    """Return `shown`, cut with a mark if it is wider than `cells`."""
    if shown.isascii():
        return shown if len(shown) <= cells else shown[: max(cells - 2, 0)] + ".."[:cells]
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 -- not for every start

    if cell_len(shown) <= cells:
        return shown
    return set_cell_size(shown, max(cells - 2, 0)).rstrip() + ".."[:cells]


def width(shown: str) -> int:
    """Return how many cells a terminal gives to `shown`."""
    if shown.isascii():
        return len(shown)
    from rich.cells import cell_len  # noqa: PLC0415 -- not for every start

    return cell_len(shown)


def wrapped(told: str, cells: int, indent: str = "", below: str = "  ") -> list[str]:
    """Return a text in lines of at most so many cells, those after the first `below` the others."""
    import textwrap  # noqa: PLC0415 -- not for every start

    return textwrap.wrap(
        told,
        cells,
        initial_indent=indent,
        subsequent_indent=indent + below,
        break_on_hyphens=False,  # such as those of options
    )


def one_line(message: str, longest: int = 600) -> str:
    """Return a message that quotes input as one line of bounded length."""
    shown = printable(message[:_LONGEST])
    return shown if len(shown) <= longest else shown[: longest - 2] + ".."


def counted(number: int, noun: str) -> str:
    """Return a number with what was counted."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def labels(names: Sequence[str], you: int | None = None) -> tuple[str, ...]:
    """Return a name to show for each seat: clean, all different, and `you` for the viewer.

    A bot's version goes where the name alone says who it is.
    """
    clean = [name(raw, otherwise=f"seat {seat}") for seat, raw in enumerate(names)]
    short = [shown.partition("@")[0] or shown for shown in clean]
    told = [
        full if short.count(one) > 1 and clean.count(full) == 1 else one
        for one, full in zip(short, clean, strict=True)
    ]
    folded = [shown.casefold() for shown in told]
    return tuple(
        "you"
        if seat == you
        else f"{fit(shown, NAME_CELLS - 3)} #{seat}"
        if folded.count(folded[seat]) > 1 or _plays_another(folded[seat], seat)
        else shown
        for seat, shown in enumerate(told)
    )


def _plays_another(shown: str, seat: int) -> bool:
    """Say whether a name could pass for the viewer, another seat or a numbered namesake."""
    return "#" in shown or shown == "you" or (shown.startswith("seat ") and shown != f"seat {seat}")
