"""A ladder that is followed: a table that is drawn over, a line now and then, or data."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ronda_arena.ladder.rows import Row, in_order
from ronda_cli import ladder_told, text
from ronda_cli import output as out
from ronda_cli.ladder_client import About, Changed, Stands
from ronda_cli.look import look
from ronda_cli.stage import restoring

_LINE_SECONDS: Final = 10.0
_DRAW_SECONDS: Final = 0.1


class Shows:
    """Shows news of a ladder; by itself as data, a line of JSON for each."""

    def __init__(self) -> None:
        self.sequence = 0
        """The number of what was seen last."""
        self.about: About | None = None
        self.rows: dict[str, Row] = {}

    def take(self, news: Stands | Changed) -> None:
        """Take in what is new, and show it."""
        if isinstance(news, Stands):
            self.rows.clear()
        self.rows.update((row.bot, row) for row in news.rows)
        self.about, self.sequence = news.about, news.about.sequence
        self.show(news)

    def show(self, news: Stands | Changed) -> None:
        """Write what is new."""
        about = news.about
        told = {
            "kind": "standings" if isinstance(news, Stands) else "changes",
            "sequence": about.sequence,
            "state": about.state,
            "problem": about.problem,
            **about.data,
            "standings": [row.to_json() for row in news.rows],
        }
        out.line(out.as_json(told))

    def say(self, message: str) -> None:
        """Show a remark, such as a lost connection."""
        out.note(message)


class Lines(Shows):
    """A line that says how far it is and who is first, every ten seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._next = 0.0

    def show(self, news: Stands | Changed) -> None:
        """Write a line, if it is time to."""
        now = time.monotonic()
        if now < self._next or not news.about.sequence:
            return
        self._next = now + _LINE_SECONDS
        out.line(". ".join(_sentences(news.about, in_order(self.rows.values()))))


class Table(Shows):
    """A table on a terminal's other screen, drawn anew from the top left."""

    def __init__(self, plain: bool) -> None:
        super().__init__()
        self._plain = plain
        self._remark = ""
        self._next = 0.0

    def show(self, news: Stands | Changed) -> None:
        """Draw, if it is time to; what is left out comes with the next news."""
        self._remark = ""
        now = time.monotonic()
        if now >= self._next or isinstance(news, Stands):
            self._next = now + _DRAW_SECONDS
            self._draw()

    def say(self, message: str) -> None:
        """Draw with a remark in the last line."""
        self._remark = message
        self._draw()

    def _draw(self) -> None:
        shown = look(self._plain)
        lines = drawn(self.about, in_order(self.rows.values()), shown.width, shown.height - 1)
        lines.append(text.fit(text.one_line(self._remark or "Ctrl-C leaves."), shown.width))
        sys.stdout.write("\x1b[H" + "\x1b[K\n".join(lines) + "\x1b[K\x1b[J")
        sys.stdout.flush()


def drawn(about: About | None, rows: list[Row], width: int, height: int) -> list[str]:
    """Return a ladder in so many lines of such a width."""
    head = "nothing is known yet" if about is None else ". ".join(_sentences(about, ()))
    lines = [*text.wrapped(head, width), ""]
    table = list(ladder_told.lines(rows, False)) if rows else []
    if len(table) > len(rows) + 2:  # there is no room for a table: see `tables`
        table = [line for at, row in enumerate(rows, 1) for line in _narrow(at, row, width)]
    room = height - len(lines)
    if len(table) > room:
        table = [*table[: room - 1], "and more"]
    return [*lines, *table][:height]


def _narrow(at: int, row: Row, width: int) -> tuple[str, str]:
    place = "-" if row.provisional else str(at)
    games = "1 game" if row.games == 1 else f"{row.games} games"
    return (
        text.fit(text.one_line(f"{place} {row.bot}"), width),
        text.fit(f"  {_worth(row)}, {games}", width),
    )


def _sentences(about: About, rows: list[Row] | tuple[()]) -> Iterator[str]:
    data = about.data
    games = f"{data['games']} games in {data['blocks']} blocks"
    lost = f", {data['void']} blocks lost and played again" if data["void"] else ""
    yield f"{data['id']}: {data['rules']}, {data['players']} players: {games}{lost}"
    if about.state != "running":
        why = f": {about.problem}" if about.problem else ""
        yield f"It is {about.state}{why}"
    if rows:
        first = rows[0]
        yield text.one_line(f"First is {first.bot} at {_worth(first)}, {first.games} games")


def _worth(row: Row) -> str:
    if row.state == "anchor":
        return f"{row.rating:.1f} (pinned)"
    return f"{row.rating:.1f} (95 %: {row.low:.1f} to {row.high:.1f})"


@contextmanager
def shows(output: str, plain: bool) -> Iterator[Shows]:
    """Show a ladder where somebody looks, as what was asked for."""
    if output != "table":
        yield Shows()
    elif not look(plain).screen:
        yield Lines()
    else:
        with restoring():
            sys.stdout.write("\x1b[?1049h\x1b[2J\x1b[?25l")
            try:
                yield Table(plain)
            finally:
                sys.stdout.write("\x1b[?25h\x1b[?1049l")
                sys.stdout.flush()
