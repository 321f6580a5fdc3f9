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
from ronda_cli.picture import Picture, describe, describe_cards
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

    def ask(self, picture: Picture, question: str) -> None:
        """Show how it stands, and ask; the answer is for the caller to read."""

    def answered(self) -> None:
        """Stop asking: the answer is in."""

    def say(self, message: str) -> None:
        """Show a remark, such as a wrong answer or a lost connection."""


class Paper:
    """Sentences only. A picture is described where `show` is asked to, never repeated."""

    def __init__(self) -> None:
        self._described = False

    def tell(self, told: Told) -> None:
        """Write what happened."""
        output.line(told.linear)

    def show(self, picture: Picture, bottom: str = "") -> None:  # noqa: ARG002 -- for screens
        """Describe the first picture only: from there on, the story says it all."""
        if not self._described:
            self._described = True
            for sentence in describe(picture):
                output.line(sentence)

    def ask(self, picture: Picture, question: str) -> None:
        """Write what is needed to answer."""
        known, self._described = self._described, True
        for sentence in describe_cards(picture) if known else describe(picture):
            output.line(sentence)
        output.prompt(question)

    def answered(self) -> None:
        """Nothing to do: what is written stays."""

    def say(self, message: str) -> None:
        """Write a remark."""
        output.note(message)


class Screen:
    """A terminal's other screen, drawn anew from the top left, so that nothing flickers."""

    def __init__(self) -> None:
        self.story: deque[Told] = deque(maxlen=_REMEMBERED)
        self.picture: Picture | None = None
        self._bottom = ""
        self._asking = False
        self._size = (0, 0)

    def tell(self, told: Told) -> None:
        """Add to the story; the next picture brings it along."""
        self.story.append(told)

    def show(self, picture: Picture, bottom: str = "") -> None:
        """Draw. While an answer is typed, its line stays as it is."""
        self.picture = picture
        if not self._asking:
            self._bottom = bottom
        self.draw()

    def ask(self, picture: Picture, question: str) -> None:
        """Draw, with the question in the last line and the cursor behind it."""
        self._asking = False
        self.show(picture, question)
        self._asking = True

    def answered(self) -> None:
        """Give the last line free again."""
        self._asking = False

    def say(self, message: str) -> None:
        """Add a remark to the story, and draw."""
        self.story.append(Told((message,)))
        self.draw()

    def draw(self) -> None:
        """Draw again, in the size that the terminal has now."""
        from ronda_cli import render  # noqa: PLC0415 -- rich is for those who see it

        now = look()
        same = (now.width, now.height) == self._size
        self._size = (now.width, now.height)
        lines = ansi(render.frame(self.picture, list(self.story), now, self._bottom), now)
        if self._asking and same:
            drawn = "\x1b7\x1b[H" + "\x1b[K\n".join(lines[:-1]) + "\x1b[K\x1b8"
        else:
            drawn = "\x1b[H" + "\x1b[K\n".join(lines) + "\x1b[K\x1b[J"
        sys.stdout.write(drawn)
        sys.stdout.flush()

    @property
    def resized(self) -> bool:
        """Say whether the terminal has another size than what was drawn."""
        now = look()
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


def finale(picture: Picture, now: Look) -> None:
    """Leave how a match ended on the terminal, where the other screen took all else along."""
    for line in ansi(_lines(picture, now), now):
        output.line(line)


def _lines(picture: Picture, now: Look) -> list[Text]:
    from ronda_cli import render  # noqa: PLC0415 -- rich is for those who see it

    return render.picture_lines(picture, now)


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
    raise output.TerminatedError(number)
