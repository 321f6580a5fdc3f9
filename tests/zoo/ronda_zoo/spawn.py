"""Bots that start other processes, or end them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from typing import NoReturn

from ronda_zoo.visitor import Prying, Visitor, attempt, call, drop, server, syscall, template

from ronda_bots.api import Card, View


def _linger() -> NoReturn:
    """What a child does."""
    time.sleep(3600)  # never to answer
    os._exit(0)


class Forks(Prying):
    """Starts one child that stays."""

    def attack(self) -> object:
        child = os.fork()
        if child == 0:
            _linger()
        return child


class ForkBomb(Prying):
    """Starts children as fast as it can, forty at most for the sake of this machine."""

    def attack(self) -> object:
        for _ in range(40):
            if os.fork() == 0:
                _linger()
        return True


class ForksAndHangs(Visitor):
    """Starts a child that holds its socket and its log, and leaves without a word."""

    def play(self, view: View) -> Card:
        attempt(self._fork)
        os._exit(0)

    def _fork(self) -> object:
        if os.fork() == 0:
            _linger()
        return True


class RawFork(Prying):
    """Forks past every library, by the oldest of the calls for it."""

    def attack(self) -> object:
        child = syscall(57)
        if child == 0:
            _linger()
        return child


class Clone3(Prying):
    """Asks for a process by the newest of the calls for it, which hides what it asks for."""

    def attack(self) -> object:
        import ctypes  # noqa: PLC0415 -- late imports work

        words = (ctypes.c_uint64 * 11)()
        words[4] = signal.SIGCHLD
        child = syscall(435, ctypes.byref(words), 88)
        if child == 0:
            _linger()
        return child


class Daemonises(Prying):
    """Leaves a daemon behind: forked twice, in a session of its own, deaf to signals."""

    def attack(self) -> object:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
                drop("unborn").write_text(str(os.getpid()), "ascii")
                drop("unborn").rename(drop("daemon"))
                for fd in range(64):
                    try:
                        os.close(fd)
                    except OSError:
                        continue  # it was not open
                _linger()
            os._exit(0)
        while not drop("daemon").exists():
            time.sleep(0.001)  # it is what it waits for
        return False  # whether it lives on is for others to see


class RunsAShell(Prying):
    """Runs a shell."""

    def attack(self) -> object:
        done = subprocess.run(["/bin/sh", "-c", "echo run"], capture_output=True, check=True)
        return done.stdout


class BecomesAShell(Visitor):
    """Becomes a shell in its own process."""

    def play(self, view: View) -> Card:
        attempt(lambda: os.execv("/bin/sh", ["sh", "-c", "echo '[zoo] leak it is a shell'"]))
        return view.hand[0]


class SpawnsAProgram(Prying):
    """Starts a program without a fork of its own."""

    def attack(self) -> object:
        return os.posix_spawn("/bin/true", ["true"], {})


class SignalsTheServer(Prying):
    """Sends the arena a signal, for once a harmless one."""

    def attack(self) -> object:
        os.kill(server(), signal.SIGCONT)
        return True


class SignalsTheTemplate(Prying):
    """Sends the template a signal, for once a harmless one."""

    def attack(self) -> object:
        os.kill(template(), signal.SIGCONT)
        return True


class SignalsEverybody(Prying):
    """Asks whether it could kill all of this user's processes at once."""

    def attack(self) -> object:
        os.kill(-1, 0)
        return True


class KillsTheTemplate(Prying):
    """Kills the template, and with it all workers."""

    def attack(self) -> object:
        os.kill(template(), signal.SIGKILL)
        time.sleep(3600)  # never to answer
        return True


class StopsTheTemplate(Prying):
    """Stops the template, so that whoever asks it would wait for ever."""

    def attack(self) -> object:
        os.kill(template(), signal.SIGSTOP)
        return True


class KillsByHandle(Prying):
    """Signals the arena by a handle of its process."""

    def attack(self) -> object:
        handle = syscall(434, server(), 0)  # pidfd_open
        return syscall(424, handle, 0, 0, 0) == 0  # pidfd_send_signal


class JoinsTheTemplate(Visitor):
    """Joins the template's process group, where signals to its own do not reach it."""

    def play(self, view: View) -> Card:
        attempt(self._join)
        return view.hand[0]

    def _join(self) -> object:
        os.setpgid(0, template())
        return True


class OutlivesTheTemplate(Prying):
    """Asks not to be killed when the template ends."""

    def attack(self) -> object:
        return call("prctl", 1, 0, 0, 0, 0) == 0
