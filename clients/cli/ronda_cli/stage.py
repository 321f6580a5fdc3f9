"""Where a match is shown: a screen that is drawn over, or sentences one under the other."""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from ronda_cli import output
from ronda_cli.look import Look, look
from ronda_cli.picture import Picture, describe
from ronda_cli.story import Told

if TYPE_CHECKING:
    from rich.text import Text

_REMEMBERED = 200  # happenings; more than any screen shows


class Stage(Protocol):
    """Shows what happens as it happens."""

    def tell(self, told: Told) -> None:
        """Add something that happened."""

    def show(self, picture: Picture, bottom: str = "") -> None:
        """Show how it stands now, and a line about what can be done."""

    def say(self, message: str) -> None:
        """Show a remark, such as a wrong answer or a lost connection."""


class Paper:
    """Sentences only. A picture is described where `show` is asked to, never repeated."""

    def __init__(self) -> None:
        self.described: int | None = None

    def tell(self, told: Told) -> None:
        """Write what happened."""
        output.line(told.linear)

    def show(self, picture: Picture, bottom: str = "") -> None:
        """Describe the first picture only: from there on, the story says it all."""
        if self.described is None:
            self.described = picture.sequence
            for sentence in describe(picture):
                output.line(sentence)

    def say(self, message: str) -> None:
        """Write a remark."""
        output.note(message)


class Screen:
    """A terminal's other screen, drawn anew from the top left, so that nothing flickers."""

    def __init__(self, plain: bool = False) -> None:
        self._plain = plain
        self.story: deque[Told] = deque(maxlen=_REMEMBERED)
        self.picture: Picture | None = None
        self.bottom = ""
        self._size = (0, 0)

    def tell(self, told: Told) -> None:
        """Add to the story; the next picture brings it along."""
        self.story.append(told)

    def show(self, picture: Picture, bottom: str = "") -> None:
        """Draw."""
        self.picture = picture
        self.bottom = bottom
        self.draw()

    def say(self, message: str) -> None:
        """Draw, with a remark in the last line."""
        self.bottom = message
        self.draw()

    def draw(self) -> None:
        """Draw again, in the size that the terminal has now."""
        from ronda_cli import render  # noqa: PLC0415 -- rich is for those who see it

        now = look(self._plain)
        self._size = (now.width, now.height)
        lines = render.frame(self.picture, list(self.story), now, self.bottom)
        sys.stdout.write("\x1b[H" + "\x1b[K\n".join(ansi(lines, now)) + "\x1b[K\x1b[J")
        sys.stdout.flush()

    @property
    def resized(self) -> bool:
        """Say whether the terminal has another size than what was drawn."""
        now = look(self._plain)
        return (now.width, now.height) != self._size

    @contextmanager
    def open(self, cursor: bool = False) -> Iterator[Screen]:
        """Switch to the other screen, and back whatever happens."""
        with restoring():
            sys.stdout.write("\x1b[?1049h\x1b[2J" + ("" if cursor else "\x1b[?25l"))
            try:
                yield self
            finally:
                sys.stdout.write("\x1b[?25h\x1b[?1049l")
                sys.stdout.flush()


def ansi(lines: Sequence[Text], now: Look) -> list[str]:
    """Return lines as a terminal wants them."""
    from ronda_cli import render  # noqa: PLC0415 -- rich is for those who see it

    console = render.console(now)
    drawn = []
    for line in lines:
        with console.capture() as captured:
            console.print(line, end="", no_wrap=True, overflow="crop", crop=True)
        drawn.append(captured.get())
    return drawn


@contextmanager
def restoring() -> Iterator[None]:
    """Let a polite end by signal run every `finally`, so that the terminal is left as it was."""
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), _leave) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
