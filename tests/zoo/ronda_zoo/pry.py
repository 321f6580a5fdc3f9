"""Bots that read what is not for them."""

from __future__ import annotations

import ctypes
import importlib
import os
import resource
import time
from pathlib import Path

from ronda_zoo.visitor import WHERE, Prying, call, server, syscall, template


def _memory(pid: int) -> bytes:
    """Read a little of what a process has writable."""
    for line in Path(f"/proc/{pid}/maps").read_text("ascii").splitlines():
        span, rights, *_ = line.split()
        if rights.startswith("rw"):
            start = int(span.partition("-")[0], 16)
            with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
                memory.seek(start)
                return memory.read(16)
    return b""


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _remote(pid: int) -> int:
    """Read the memory of a process the way debuggers do, at an address that both have."""
    mine = ctypes.create_string_buffer(16)
    here = _Vector(ctypes.addressof(mine), 16)
    there = _Vector(id(None) & ~15, 16)
    return syscall(310, pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)


class ServersMemory(Prying):
    """Reads the memory of the arena through /proc."""

    def attack(self) -> object:
        return _memory(server())


class TemplatesMemory(Prying):
    """Reads the memory of the template through /proc."""

    def attack(self) -> object:
        return _memory(template())


class SiblingsMemory(Prying):
    """Reads the memory of another seat's worker through /proc."""

    def attack(self) -> object:
        told = Path(f"/proc/{template()}/task/{template()}/children").read_text("ascii")
        others = {int(pid) for pid in told.split()} - {os.getpid()}
        return any(_memory(pid) for pid in others)


class RemoteRead(Prying):
    """Reads the arena's memory with process_vm_readv."""

    def attack(self) -> object:
        return _remote(server()) > 0


class TemplateRemoteRead(Prying):
    """Reads the template's memory with process_vm_readv."""

    def attack(self) -> object:
        return _remote(template()) > 0


class TracesTheTemplate(Prying):
    """Attaches to the template as a debugger."""

    def attack(self) -> object:
        call("ptrace", 0x4206, template(), 0, 0)  # PTRACE_SEIZE stops nobody
        return True


class ServersEnvironment(Prying):
    """Reads the environment that the arena was started with."""

    def attack(self) -> object:
        return Path(f"/proc/{server()}/environ").read_bytes()


class TemplatesEnvironment(Prying):
    """Reads the environment that the template was started with."""

    def attack(self) -> object:
        return Path(f"/proc/{template()}/environ").read_bytes()


class ServersFiles(Prying):
    """Opens what the arena has open."""

    def attack(self) -> object:
        return _open_files(server())


class TemplatesFiles(Prying):
    """Opens what the template has open."""

    def attack(self) -> object:
        return _open_files(template())


def _open_files(pid: int) -> list[str]:
    return [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]


class TakesADescriptor(Prying):
    """Takes a descriptor out of the arena, by a handle of its process."""

    def attack(self) -> object:
        handle = syscall(434, server(), 0)  # pidfd_open
        return syscall(438, handle, 0, 0) >= 0  # pidfd_getfd


class OwnDescriptors(Prying):
    """Looks for descriptors that were left open for it."""

    def attack(self) -> object:
        return [fd for fd in range(4, 1024) if _is_open(fd)]


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


class OwnEnvironment(Prying):
    """Looks for a secret in its environment."""

    def attack(self) -> object:
        known = {"LANG", "MALLOC_ARENA_MAX", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH"}
        more = {"PYTHONHASHSEED", "LD_LIBRARY_PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"}
        return {*os.environ} - known - more - {"LC_CTYPE"}


class ListsProcesses(Prying):
    """Lists what runs on the machine."""

    def attack(self) -> object:
        return os.listdir("/proc")


class CommandLines(Prying):
    """Reads what the arena was called with."""

    def attack(self) -> object:
        return Path(f"/proc/{server()}/cmdline").read_bytes()


class KeyFile(Prying):
    """Reads the arena's key, a file of the same user."""

    def attack(self) -> object:
        return Path(WHERE["key"]).read_bytes()


class PasswordFile(Prying):
    """Reads the names of the machine's users."""

    def attack(self) -> object:
        return Path("/etc/passwd").read_bytes()


class ListsFolders(Prying):
    """Lists the folder that the key is in."""

    def attack(self) -> object:
        return os.listdir(Path(WHERE["key"]).parent)


class RivalsCode(Prying):
    """Reads the code of another bot, which is installed beside it and which it requires."""

    def attack(self) -> object:
        return (Path(__file__).parents[1] / "ronda_rival.py").read_bytes()


class ImportsARival(Prying):
    """Imports another bot, which it requires, to know its moves."""

    def attack(self) -> object:
        return importlib.import_module("ronda_rival").SECRET


class RivalsMetadata(Prying):
    """Reads what another bot says of itself when it is installed."""

    def attack(self) -> object:
        here = Path(__file__).parents[1]
        return (here / "ronda_rival-0.9.dist-info" / "METADATA").read_bytes()


class OthersProcessorTime(Prying):
    """Reads how long the arena has computed, to the nanosecond: it tells what others do."""

    def attack(self) -> object:
        return time.clock_gettime(~server() << 3 | 2)


class OthersLimits(Prying):
    """Reads the limits of the arena."""

    def attack(self) -> object:
        return resource.prlimit(server(), resource.RLIMIT_NOFILE)


class OthersProcessors(Prying):
    """Asks on which processors the arena may run."""

    def attack(self) -> object:
        return os.sched_getaffinity(server())


class MachinesLoad(Prying):
    """Reads how many tasks run on the machine and what memory is free: a way to hear others."""

    def attack(self) -> object:
        return syscall(99, ctypes.create_string_buffer(128)) == 0


class KernelsLog(Prying):
    """Reads the log of the kernel."""

    def attack(self) -> object:
        return syscall(103, 3, ctypes.create_string_buffer(4096), 4096) > 0
