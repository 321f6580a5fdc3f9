"""The process that workers are forked from: clean, warm, and the one that buries them.

It is started afresh, so it holds nothing of the server's memory, and it never runs a bot's code.
It has what every worker needs imported already, so that a worker is there in a few milliseconds.
It reads what workers print, and keeps a little of it. When its own parent goes, in whatever way,
its socket ends: then it ends every worker and everything that is left of them, and goes too.
"""

from __future__ import annotations

import errno
import gc
import os
import select
import signal
import socket
import sys
import sysconfig
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import ronda_arena
import ronda_bots
import ronda_core
from ronda_arena.isolation import Level, Limits
from ronda_arena.worker import canaries, child, confine, wire

__all__ = ["canaries", "main"]  # a probe's canaries come with the fork, as they read no file

_MOST: Final = 1 << 20
_WATCH_SECONDS: Final = 0.1
_SYSTEM: Final = (
    "/usr/lib",
    "/lib",
    "/lib64",
    "/usr/local/lib",
    "/usr/share/zoneinfo",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/dev/null",
    "/dev/urandom",
)
"""What a bot's libraries may read of the system."""


class Order(NamedTuple):
    """What a worker is to be like."""

    level: str
    reads: list[str]
    """Files and folders of the bot and of what it needs."""
    listed: list[str]
    """Folders of which it may see names."""


class _Log:
    """What a worker prints: the beginning and the end, and how much."""

    def __init__(self, pipe: int, limits: Limits) -> None:
        self.pipe = pipe
        self.total = 0
        self._half = limits.log_kept // 2
        self._head = b""
        self._tail = b""

    def read(self) -> bool:
        """Take in what is there now; return whether more may come."""
        data = os.read(self.pipe, 1 << 16)
        self.total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail = (self._tail + data[max(room, 0) :])[-self._half :]
        return bool(data)

    def kept(self) -> bytes:
        left_out = self.total - len(self._head) - len(self._tail)
        gap = b"\n[%d bytes left out]\n" % left_out if left_out > 0 else b""
        return self._head + gap + self._tail


class _Template:
    def __init__(self, control: socket.socket, limits: Limits) -> None:
        self._control = control
        self._limits = limits
        self._logs: dict[int, _Log] = {}
        self._excess: dict[int, str] = {}
        self._workers: set[int] = set()
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._by_pipe: dict[int, int] = {}
        self._filter: Any = None
        self._base: list[str] = []
        self._split: list[str] = []
        self.problem = ""
        self._prepare()

    def _prepare(self) -> None:
        if not confine.LINUX:
            self.problem = "only Linux has Landlock and seccomp"
            return
        try:
            self._filter = confine.seccomp_filter()
        except OSError:
            self.problem = "the library libseccomp is not installed"
        if not confine.landlock_abi():
            self.problem = "the kernel has no Landlock"
        self._base, self._split = _readable(sys.path)

    def greet(self) -> None:
        """Say that it is ready, and what it can do."""
        self._control.sendall(wire.pack_order((confine.landlock_abi(), self.problem)))

    def run(self) -> None:
        """Do what is asked until whoever asks is gone."""
        watched = time.monotonic()
        while True:
            wait = _WATCH_SECONDS * 1000 if self._workers else None
            for pipe, _ in self._poll.poll(wait):
                # A pipe may be in neither: its worker was buried in the same round.
                if pipe in self._by_pipe:
                    self._listen(pipe)
                elif pipe == self._control.fileno() and not self._obey():
                    return
            if time.monotonic() - watched >= _WATCH_SECONDS:
                self._count_threads()
                watched = time.monotonic()

    def _listen(self, pipe: int) -> None:
        pid = self._by_pipe[pipe]
        log = self._logs[pid]
        if not log.read():
            self._hang_up(pipe)
        elif log.total > self._limits.log_most:
            _kill(pid)

    def _count_threads(self) -> None:
        """End who has started too many threads."""
        for pid in self._workers:
            with suppress(OSError):  # it has ended, or this user may not know
                if os.stat(f"/proc/{pid}/task").st_nlink - 2 > self._limits.threads:  # noqa: PTH116 -- often
                    self._excess[pid] = "it started more threads than it may"
                    _kill(pid)

    def _hang_up(self, pipe: int) -> None:
        self._poll.unregister(pipe)
        os.close(pipe)
        del self._by_pipe[pipe]

    def _obey(self) -> bool:
        try:
            data, passed, _, _ = socket.recv_fds(self._control, _MOST, 1)
            order = wire.read_order(self._control, data) if data else None
        except ConnectionError:  # it went without reading the last answer
            return False
        if order is None:
            return False
        what, *details = order
        answer: object
        if what == "spawn":
            answer = self._try_to_spawn(Order(*details), passed)
        else:
            answer = self._bury(*details)
        try:
            self._control.sendall(wire.pack_order(answer))
        except ConnectionError:  # it went without waiting for it
            return False
        return True

    def _try_to_spawn(self, order: Order, passed: Sequence[int]) -> int | str:
        """Start a worker, or say why that is not possible: the others go on."""
        if not passed:
            return os.strerror(errno.EMFILE)  # its socket has not even arrived
        try:
            return self._spawn(order, passed[0])
        except OSError as problem:
            return os.strerror(problem.errno or 0)
        finally:
            os.close(passed[0])

    def _spawn(self, order: Order, sock: int) -> int:
        out, into = os.pipe()
        me = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            os.close(out)
            os.close(into)
            raise
        if pid == 0:
            try:
                self._become(order, me, sock, into)
                child.serve()
            except BaseException:  # noqa: BLE001 -- told in its log, below
                sys.excepthook(*sys.exc_info())
            os._exit(70)
        os.close(into)
        self._workers.add(pid)
        self._logs[pid] = _Log(out, self._limits)
        self._by_pipe[out] = pid
        self._poll.register(out, select.POLLIN)
        return pid

    def _become(self, order: Order, template: int, sock: int, log: int) -> None:
        """Turn this fork into a worker; see `confine` for the order."""
        os.setsid()  # a session is given its share of the processor as one: a hog starves itself
        confine.own_input()
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.dup2(sock, child.SOCKET)
        os.closerange(child.SOCKET + 1, 1 << 16)
        confine.die_with(template)
        confine.end_first()
        confine.limit(self._limits)
        confine.drop_rights()
        if order.level == Level.PROCESS:
            confine.limit_processes(_tasks_of_mine() + 2 * self._limits.threads)
        else:
            confine.see_only([*self._base, *order.reads], [*self._split, *order.listed])
            self._filter.load()

    def _bury(self, pid: int) -> tuple[int | None, float, int, bytes, str]:
        """End a worker and its tree; return how it ended, what it used and what it said.

        One that ended by itself keeps its own status.
        """
        log = self._logs.pop(pid)
        gone = _has_ended(pid)
        _kill(pid)
        _, status, usage = os.wait4(pid, 0)
        self._workers.remove(pid)
        self._sweep()
        if log.pipe in self._by_pipe:
            os.set_blocking(log.pipe, False)
            with suppress(BlockingIOError):  # somebody of its tree may still hold the other end
                while log.total <= self._limits.log_most and log.read():
                    pass
            self._hang_up(log.pipe)
        ended = os.waitstatus_to_exitcode(status) if gone else None
        excess = self._excess.pop(pid, "")
        if log.total > self._limits.log_most:
            excess = "it printed more than is taken in"
        return ended, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, log.kept(), excess

    def _sweep(self) -> None:
        """End whatever a worker has left behind: orphans come to this process."""
        while strangers := _children() - self._workers:
            for pid in strangers:
                with suppress(ProcessLookupError):  # it has ended meanwhile
                    os.kill(pid, signal.SIGKILL)
                with suppress(ChildProcessError):  # somebody else's, or reaped already
                    os.waitpid(pid, 0)

    def close(self) -> None:
        """End everybody."""
        for pid in self._workers:
            _kill(pid)
        for pid in self._workers:
            os.waitpid(pid, 0)
        self._workers = set()
        self._sweep()


def _has_ended(pid: int) -> bool:
    """Say whether a worker has ended by itself; it is not reaped by that."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill(pid: int) -> None:
    """Kill a worker that is not reaped yet, and its group."""
    with suppress(ProcessLookupError):  # it has no group yet, or no more
        os.killpg(pid, signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)


def _children() -> set[int]:
    """Return the processes whose parent is this one."""
    me = os.getpid()
    try:
        told = Path(f"/proc/{me}/task/{me}/children").read_text(encoding="ascii")
    except OSError:  # no such kernel option, or no /proc: whoever has died can be found still
        return set()
    return set(map(int, told.split()))


def _tasks_of_mine() -> int:
    """Return how many tasks this user has: the limit of processes counts all, threads too."""
    me = os.getuid()
    count = 0
    with os.scandir("/proc") as entries:
        for entry in entries:
            with suppress(OSError):  # it has ended meanwhile
                if entry.name.isdigit() and entry.stat().st_uid == me:
                    count += sum(1 for _ in Path(entry.path, "task").iterdir())
    return count


def _readable(path: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what of the system, Python and ronda a bot may read, and folders that it may list.

    Nothing of it is what others have installed: a folder with one of `path` in it is left to its
    other entries, each of them alone.
    """
    standard = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    ours = [package.__path__[0] for package in (ronda_core, ronda_bots, ronda_arena)]
    pythons = [*standard, *(str(Path(folder, "lib-dynload")) for folder in standard)]
    others = {str(Path(folder).resolve()) for folder in path} - {
        str(Path(folder).resolve()) for folder in pythons
    }
    read: list[str] = []
    split: list[str] = []
    for one in dict.fromkeys([*_SYSTEM, *standard]):
        if Path(one).exists():
            _read_around(Path(one), others, read, split)
    return [*read, *ours], split


def _read_around(place: Path, others: set[str], read: list[str], split: list[str]) -> None:
    """Add `place` to `read`, or where some of the `others` lie in it, what lies beside them."""
    inside = f"{place.resolve()}/"
    if not any(other.startswith(inside) for other in others):
        read.append(str(place))
        return
    split.append(str(place))
    for entry in place.iterdir():
        if str(entry.resolve()) not in others:
            _read_around(entry, others, read, split)


def main(control: int, limits: Sequence[Any]) -> None:
    """Run a template; `control` is the number of its socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is its parent's to judge
    confine.hide()
    confine.adopt_orphans()
    template = _Template(socket.socket(fileno=control), Limits(*limits))
    gc.freeze()  # what is here now is shared with every worker
    gc.enable()  # it was off until now: to look through all this takes as long as a bot's start
    try:
        with suppress(ConnectionError):  # whoever has started it is gone, and so it goes too
            template.greet()
            template.run()
    finally:
        template.close()
