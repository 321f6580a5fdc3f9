"""How `--help` is laid out: from 40 columns up, and no option or file broken at its hyphens."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from typing import Final

import click

from ronda_cli.look import NARROWEST

_NARROW: Final = 58
"""Below so many columns names stand above what they mean, where they are long."""
_HYPHEN: Final = re.compile(r"(?<=\S)-(?=\S)|(?<!\S)--(?=\S)")
_GLUED: Final = "\u2011"
"""A hyphen at which no line is broken, as long as a text is laid out."""


class HelpFormatter(click.HelpFormatter):
    """Lays out a help text."""

    def __init__(
        self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None
    ) -> None:
        columns = min(shutil.get_terminal_size().columns, max_width or 80)
        super().__init__(indent_increment, width or max(columns, NARROWEST) - 2, max_width)

    def write(self, string: str) -> None:
        """Write what is laid out."""
        super().write(string.replace(_GLUED, "-"))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the line of the usage, as one line where it has room."""
        whole = f"{prefix or 'Usage: '}{prog} {args}"
        if len(whole) <= self.width:
            self.write(f"{whole}\n")
        else:
            super().write_usage(prog, args, prefix)

    def write_text(self, text: str) -> None:
        """Write a paragraph."""
        super().write_text(_glue(text))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        """Write names, each with what it means."""
        if self.width < _NARROW:
            col_max = self.width // 4
        room = self.width - self.current_indent
        super().write_dl(
            [(self._fit(name, room), _glue(means)) for name, means in rows], col_max, col_spacing
        )

    def _fit(self, name: str, room: int) -> str:
        """Return an option with its values below it, where it has no room for them beside it."""
        option, space, values = name.rpartition(" ")
        if len(name) <= room or not space:
            return name
        return f"{option}\n{' ' * (self.current_indent + 2)}{values}"


class HelpContext(click.Context):
    """The context of every command."""

    formatter_class = HelpFormatter


def _glue(text: str) -> str:
    return _HYPHEN.sub(lambda found: _GLUED * len(found[0]), text)
