"""What happens in a real terminal: a pseudo one, of a given size, that keys are sent to."""

from __future__ import annotations

import os
import re
import select
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from rich.cells import cell_len
from tests.cli.conftest import RECORDS, environment

if sys.platform == "win32":
    pytest.skip("needs a pseudo terminal", allow_module_level=True)

import fcntl
import pty
import termios

ON, OFF = "\x1b[?1049h", "\x1b[?1049l"
SHOW = "\x1b[?25h"


class Terminal:
    """A process in a terminal, and all that it has written there."""

    def __init__(self, *args: str, columns: int = 80, lines: int = 24, **env: str) -> None:
        self.master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.before = termios.tcgetattr(self._slave)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ronda_cli", *args],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env=environment(**{"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **env}),
            start_new_session=True,
        )
        self.written = ""

    def read_until(self, text: str) -> str:
        """Wait for a text; return what came since the last call."""
        start = len(self.written)
        deadline = time.monotonic() + 20
        while text not in self.written[start:]:
            if not select.select([self.master], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise AssertionError(f"{text!r} did not come; there is {self.written[start:]!r}")
            self.written += os.read(self.master, 65536).decode("utf-8", "replace")
        return self.written[start:]

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def end(self) -> int:
        """Wait for the process; return its code."""
        deadline = time.monotonic() + 20
        while self.process.poll() is None:
            assert time.monotonic() < deadline
            if select.select([self.master], [], [], 0.05)[0]:
                self.written += os.read(self.master, 65536).decode("utf-8", "replace")
        while select.select([self.master], [], [], 0.1)[0]:
            self.written += os.read(self.master, 65536).decode("utf-8", "replace")
        return self.process.returncode

    @property
    def restored(self) -> bool:
        """Whether the terminal is as it was: its modes, its own screen, its cursor."""
        modes = termios.tcgetattr(self._slave) == self.before
        return (
            modes
            and self.written.count(ON) == self.written.count(OFF)
            and (ON not in self.written or self.written.rindex(SHOW) > self.written.rindex(ON))
        )

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self._slave)


@contextmanager
def terminal(*args: str, columns: int = 80, lines: int = 24, **env: str) -> Iterator[Terminal]:
    opened = Terminal(*args, columns=columns, lines=lines, **env)
    try:
        yield opened
    finally:
        opened.close()


def screen(drawn: str) -> list[str]:
    """The lines of the last screen that was drawn."""
    last = drawn.rsplit("\x1b[H", 1)[1]
    return re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|[78])", "", last).replace("\r", "").split("\n")


REPLAY = ("replay", str(RECORDS), "--game", "3")


class TestReplay:
    def test_keys_step_through_a_match(self) -> None:
        with terminal(*REPLAY) as seen:
            assert "1/" in screen(seen.read_until("1/"))[-1]
            seen.press("  \x1b[C")
            assert "4/" in screen(seen.read_until("4/"))[-1]
            seen.press("\x1b[D")
            seen.read_until("3/")
            seen.press("\x1b[B")
            assert "hand 2" in screen(seen.read_until("hand 2"))[0]
            seen.press("\x1b[F")
            assert "wins the match" in "\n".join(screen(seen.read_until("wins the match")))
            seen.press("\x1b[H")
            seen.read_until("1/")
            seen.press("xyz\x1b[5~q")
            assert seen.end() == 0
            assert seen.restored

    @pytest.mark.parametrize(
        ("columns", "lines"), [(40, 20), (60, 24), (80, 24), (120, 40), (200, 50)]
    )
    def test_a_screen_fills_the_terminal_and_no_more(self, columns: int, lines: int) -> None:
        with terminal(*REPLAY, "--hand", "2", "--play", "9", columns=columns, lines=lines) as seen:
            drawn = screen(seen.read_until("q leave"))
            assert len(drawn) == lines
            assert max(map(cell_len, drawn)) <= columns
            seen.press("q")
            assert seen.end() == 0

    def test_a_resized_terminal_is_drawn_anew(self) -> None:
        with terminal(*REPLAY) as seen:
            seen.read_until("1/")
            seen.resize(40, 20)
            assert len(screen(seen.read_until("q leave"))) == 20
            seen.press("q")
            assert seen.end() == 0

    @pytest.mark.parametrize(
        ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
    )
    def test_a_signal_leaves_the_terminal_as_it_was(self, number: int, code: int) -> None:
        with terminal(*REPLAY) as seen:
            seen.read_until("1/")
            os.kill(seen.process.pid, number)
            assert seen.end() == code
            assert seen.restored
            assert "Traceback" not in seen.written

    def test_suits_are_letters_and_colours(self) -> None:
        with terminal(*REPLAY) as seen:
            drawn = seen.read_until("q leave")
            for colour, letter in (("33", "O"), ("31", "C"), ("94", "E"), ("32", "B")):
                assert re.search(rf"\x1b\[[0-9;]*{colour}m[^\x1b]*\d{letter}", drawn)

    def test_no_color_draws_without(self) -> None:
        with terminal(*REPLAY, NO_COLOR="1") as seen:
            drawn = seen.read_until("q leave")
            assert not re.search(r"\x1b\[[0-9;]*(3[0-7]|9[0-7])m", drawn)
            assert "5B" in drawn

    @pytest.mark.parametrize("env", [{"ACCESSIBLE": "1"}, {"RONDA_PLAIN": "1"}, {"TERM": "dumb"}])
    def test_who_asks_for_sentences_gets_nothing_else_in_a_terminal(
        self, env: dict[str, str]
    ) -> None:
        with terminal(*REPLAY, **env) as seen:
            assert seen.end() == 0
            assert "wins the match" in seen.written
            assert not re.search(r"\x1b|[─-▟▪▸●\u222a†♣]", seen.written)


class TestPlay:
    def test_a_card_is_typed_below_the_table_and_leaving_restores_the_terminal(self) -> None:
        with terminal("play", "--seed", "4", "--pace", "0") as seen:
            seen.read_until("q leaves): ")
            seen.press("1\n")
            told = seen.read_until("q leaves): ")
            assert "You lay" in told or "You play" in told
            seen.press("q\n")
            assert seen.end() == 0
            assert seen.restored
            assert "nothing is lost but the game" in seen.written.rsplit(OFF, 1)[1]

    def test_ctrl_c_leaves_the_terminal_as_it_was(self) -> None:
        with terminal("play", "--seed", "4", "--pace", "0") as seen:
            seen.read_until("q leaves): ")
            os.kill(seen.process.pid, signal.SIGINT)
            assert seen.end() == 130
            assert seen.restored
            assert "Traceback" not in seen.written

    def test_a_signal_while_a_card_is_asked_is_no_crash_of_a_bot(self) -> None:
        with terminal("play", "--seed", "4", "--pace", "0") as seen:
            seen.read_until("q leaves): ")
            os.kill(seen.process.pid, signal.SIGTERM)
            assert seen.end() == 143
            assert seen.restored

    def test_the_end_stays_on_the_terminal(self) -> None:
        with terminal("play", "--seed", "4", "--pace", "0", "--rules", "arabic") as seen:
            for _ in range(18):
                seen.read_until("q leaves): ")
                seen.press("1\n")
            assert seen.end() == 0
            assert seen.restored
            left = seen.written.rsplit(OFF, 1)[1]
            assert re.search(r"wins? the match|without a winner", left)
            assert "pts" in left

    def test_an_impatient_enter_is_no_answer(self) -> None:
        with terminal("play", "--seed", "4", "--pace", "0.3") as seen:
            seen.read_until("q leaves): ")
            seen.press("1\n")
            seen.read_until("You ")
            seen.press("\n\n\n")
            seen.read_until("q leaves): ")
            seen.press("q\n")
            assert seen.end() == 0
            assert "is no card" not in seen.written
