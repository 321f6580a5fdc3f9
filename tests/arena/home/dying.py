"""Installs and uninstalls, and dies at the n-th thing that it asks of the file system.

Run as a program: `python dying.py HOME WHEEL install|uninstall how` forks for every n, lets the
fork die (`killed`) or be refused (`full`) there, and looks at what is left; it prints how many
points there were. Whatever is left, the next install must come through.
"""

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path

from tests.arena.home.wheels import NOW, ask

from ronda_arena.home.found import found
from ronda_arena.home.install import install, uninstall
from ronda_arena.home.shelf import HomeError, installations
from ronda_arena.home.standing import enable

_EVENTS = ("open", "os.mkdir", "os.rename", "os.chmod", "os.remove", "os.rmdir", "shutil.rmtree")


def main(home: Path, wheel: Path, what: str, how: str) -> int:
    """Return how many points there were."""
    point = 0
    while True:
        shutil.rmtree(home, ignore_errors=True)
        if what == "uninstall":
            put(home, wheel)
            enable(home, "mine@1.0", enabled=False)
        name = next((one.place.name for one in installations(home)[0]), "")
        pid = os.fork()
        if pid == 0:
            try:
                reached = run(home, wheel, name, how, point)
            except OSError as error:
                os._exit(0 if error.errno == errno.ENOSPC else 1)
            except HomeError:
                os._exit(0)  # it says which file it cannot read
            # What was refused may have been there already, as a folder: then nothing is amiss.
            os._exit(0 if reached else 3)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status == 3:
            check(home, wheel, what, over=True)
            return point
        assert status == 0, (point, status)
        check(home, wheel, what, over=False)
        point += 1


def run(home: Path, wheel: Path, name: str, how: str, point: int) -> bool:
    """Take `name` away, or install if it is empty, until `point`; say whether that was reached."""
    left = point

    def count(event: str, args: tuple[object, ...]) -> None:
        nonlocal left
        if event not in _EVENTS or not str(args[0]).startswith(str(home)):
            return
        left -= 1
        if left >= 0:
            return
        if how == "killed":
            os._exit(0)
        if left == -1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    sys.addaudithook(count)
    if name:
        uninstall(home, name)
    else:
        put(home, wheel)
    return left < 0


def check(home: Path, wheel: Path, what: str, *, over: bool) -> None:
    """Whole or not at all; and the same again comes to its end."""
    there, damaged = installations(home)
    assert not damaged
    assert len(there) <= 1
    assert not there or not there[0].damage()
    kept = found(home)
    assert not kept.broken
    if what == "install":
        assert not over or len(kept.bots) == 1
    else:
        assert not kept.bots, "what was disabled never plays, however its uninstalling ended"
        assert not over or not there
        for one in there:
            uninstall(home, one.place.name)
    put(home, wheel)
    kept = found(home)
    assert [bot.identity for bot in kept.bots] == ["mine@1.0"]
    assert not kept.broken
    hidden = {one.name for one in home.iterdir() if one.name.startswith(".")}
    assert hidden == {".lock"}, "what was left half done is swept away"


def put(home: Path, wheel: Path) -> None:
    """Install it."""
    install(home, [wheel], ask, now=lambda: NOW)


if __name__ == "__main__":
    os.fsync = lambda _: None  # what dies here is a process: the machine stays
    print(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
