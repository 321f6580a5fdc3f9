"""Bots that change what is not theirs: files, packages, the process that they are in."""

from __future__ import annotations

import os
from pathlib import Path

from ronda_zoo.visitor import WHERE, Prying, call, drop, server

import ronda_core


def _wrote(path: str | Path) -> int:
    fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        return os.write(fd, b"I was here")
    finally:
        os.close(fd)


class WritesToTmp(Prying):
    """Writes a file into /tmp."""

    def attack(self) -> object:
        return _wrote(f"/tmp/{WHERE['token']}")


class WritesToSharedMemory(Prying):
    """Writes a file into /dev/shm, where another bot could read it."""

    def attack(self) -> object:
        return _wrote(f"/dev/shm/{WHERE['token']}")


class WritesHere(Prying):
    """Writes a file into its working folder."""

    def attack(self) -> object:
        return _wrote(WHERE["token"])


class WritesToItsOwnFolder(Prying):
    """Writes a file beside its own code, for its next game."""

    def attack(self) -> object:
        return _wrote(Path(__file__).with_name("notes"))


class TampersWithARival(Prying):
    """Changes the code of another bot."""

    def attack(self) -> object:
        with (Path(__file__).parents[1] / "ronda_rival.py").open("a", encoding="utf-8") as file:
            return file.write("\n# tampered with\n")


class TampersWithRonda(Prying):
    """Opens ronda's own rules for writing."""

    def attack(self) -> object:
        os.close(os.open(Path(ronda_core.__path__[0], "rules.py"), os.O_WRONLY | os.O_APPEND))
        return True


class TampersWithPython(Prying):
    """Opens a module of Python for writing."""

    def attack(self) -> object:
        os.close(os.open(os.__file__, os.O_WRONLY | os.O_APPEND))
        return True


class PlantsAPth(Prying):
    """Plants a file that every Python with this folder runs at its start."""

    def attack(self) -> object:
        return _wrote(Path(__file__).parents[1] / "planted.pth")


class Truncates(Prying):
    """Cuts a file of the same user to nothing."""

    def attack(self) -> object:
        os.truncate(WHERE["prey"], 0)
        return True


class Removes(Prying):
    """Removes a file of the same user."""

    def attack(self) -> object:
        os.unlink(WHERE["prey"])
        return True


class Renames(Prying):
    """Renames a file of the same user."""

    def attack(self) -> object:
        os.rename(WHERE["prey"], drop("renamed"))
        return True


class Links(Prying):
    """Gives a file of the same user a second name."""

    def attack(self) -> object:
        os.link(WHERE["prey"], drop("linked"))
        return True


class LinksSoftly(Prying):
    """Makes a symbolic link."""

    def attack(self) -> object:
        os.symlink("/", drop("soft"))
        return True


class ChangesRights(Prying):
    """Lets everybody write to a file of the same user."""

    def attack(self) -> object:
        os.chmod(WHERE["prey"], 0o666)
        return True


class ChangesTimes(Prying):
    """Sets the times of a file, which another bot could read."""

    def attack(self) -> object:
        os.utime(WHERE["prey"], (1, 1))
        return True


class MakesAFolder(Prying):
    """Makes a folder."""

    def attack(self) -> object:
        os.mkdir(drop("folder"))
        return True


class MakesAPipe(Prying):
    """Makes a named pipe."""

    def attack(self) -> object:
        os.mkfifo(drop("pipe"))
        return True


class ChangesItsFolder(Prying):
    """Goes to another working folder."""

    def attack(self) -> object:
        os.chdir(WHERE["drop"])
        return True


class ChangesItsRoot(Prying):
    """Makes a folder its root."""

    def attack(self) -> object:
        os.chroot(WHERE["drop"])
        return True


class RaisesItsLimits(Prying):
    """Raises the limit of its open files."""

    def attack(self) -> object:
        import resource  # noqa: PLC0415 -- late imports work

        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        return True


class LimitsTheServer(Prying):
    """Lowers what the arena may use: it sets the limit that it has already."""

    def attack(self) -> object:
        import resource  # noqa: PLC0415 -- late imports work

        limits = resource.prlimit(server(), resource.RLIMIT_CORE)
        resource.prlimit(server(), resource.RLIMIT_CORE, limits)
        return True


class ShowsItself(Prying):
    """Lets other processes read its own memory again."""

    def attack(self) -> object:
        return call("prctl", 4, 1, 0, 0, 0) == 0


class LeavesItsSession(Prying):
    """Starts a session of its own, where no signal to its group would reach it."""

    def attack(self) -> object:
        os.setsid()
        return True


class HurriesItself(Prying):
    """Asks to run before all others."""

    def attack(self) -> object:
        os.setpriority(os.PRIO_PROCESS, 0, -5)
        return True


class SlowsTheServer(Prying):
    """Asks that the arena be run after all others: it sets the rank that it has."""

    def attack(self) -> object:
        rank = os.getpriority(os.PRIO_PROCESS, server())
        os.setpriority(os.PRIO_PROCESS, server(), rank)
        return True
