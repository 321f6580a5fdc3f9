"""What shuts a worker in: its own group, limits, then Landlock and seccomp. Linux knows it all.

The order matters. Everything here is irreversible and holds for what the bot starts too. Landlock
and seccomp bind the calling thread and what comes after it, so they come before any other thread.
Sources: landlock(7), seccomp(2), prctl(2), setrlimit(2).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import signal
import sys
import termios
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from ronda_arena.isolation import Limits

LINUX: Final = sys.platform == "linux"

_SET_PDEATHSIG: Final = 1
_SET_DUMPABLE: Final = 4
_SET_CHILD_SUBREAPER: Final = 36
_SET_NO_NEW_PRIVS: Final = 38

_CAPABILITIES_VERSION_3: Final = 0x20080522
_CAP_DAC_READ_SEARCH: Final = 2

_LIBRARIES: Final = {"seccomp": "libseccomp.so.2"}  # that of C is this process itself


def prctl(option: int, value: int) -> None:
    """Set an attribute of this process; `OSError` where the kernel refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def hide() -> None:
    """Let no other process of this user read this one's memory, environment or files."""
    if LINUX:
        prctl(_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Become the parent of whatever is left of a worker."""
    if LINUX:
        prctl(_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """End this process when its parent does, which is the process of this number."""
    if LINUX:
        prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it went before we had asked
        os._exit(1)


def end_first() -> None:
    """Be the first to go where the machine runs out of memory."""
    with suppress(OSError):  # one that hides may not be let near its own entry, or there is none
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def own_input() -> None:
    """Open an empty standard input: flags of one that all had in common would be a blackboard."""
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)


def limit(limits: Limits) -> None:
    """Set what this process may use, and let it gain no rights."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_size, limits.file_size))
    resource.setrlimit(resource.RLIMIT_NOFILE, (limits.open_files, limits.open_files))
    if LINUX:
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0))
        prctl(_SET_NO_NEW_PRIVS, 1)
        prctl(_SET_DUMPABLE, 0)


def drop_rights() -> None:
    """Give up what makes root more than a user, but for finding the files that it may read.

    What it may read is Landlock's to say. It is kept because Python and bots may be installed
    where only their owner may enter.
    """
    if not LINUX:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    head = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, twice 32 of them
    if libc.capget(head, sets):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    kept = sets[1] & 1 << _CAP_DAC_READ_SEARCH
    if libc.capset(head, (ctypes.c_uint32 * 6)(kept, kept)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def limit_processes(tasks: int) -> None:
    """Stop a fork bomb at so many tasks of this user, all that run already among them.

    It is a second line only: the kernel does not hold root to it.
    """
    if LINUX:
        resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))


def landlock_abi() -> int:
    """Return which Landlock the kernel has; 0: none."""
    if not LINUX:
        return 0
    import landlockpy  # noqa: PLC0415 -- Linux only

    with _libraries_known():
        return landlockpy.abi_version() if landlockpy.supported() else 0


@contextmanager
def _libraries_known() -> Iterator[None]:
    """Tell where C libraries are: whoever looks for them does it by starting other programs.

    The module that looks is not even imported, which would take as long as a bot's start.
    """
    name = "ctypes.util"
    module = types.ModuleType(name)
    vars(module)["find_library"] = _LIBRARIES.get
    before, sys.modules[name] = sys.modules.get(name), module
    vars(ctypes)["util"] = module
    try:
        yield
    finally:
        if before is None:
            del sys.modules[name], vars(ctypes)["util"]
        else:
            sys.modules[name] = vars(ctypes)["util"] = before


def see_only(paths: Iterable[str], listed: Iterable[str]) -> None:
    """Leave nothing of the file system but reading below `paths`, and names below `listed`.

    TCP, abstract sockets and signals to the outside go with it where the kernel knows how.
    """
    from landlockpy import AccessFS, Ruleset, Scope  # noqa: PLC0415 -- Linux only

    scope = Scope.ABSTRACT_UNIX_SOCKET | Scope.SIGNAL
    with Ruleset(scoped=scope) as rules:
        for path in paths:
            directory = os.path.isdir(path)  # noqa: PTH112 -- runs before each bot: no objects
            rights = AccessFS.READ_FILE | AccessFS.READ_DIR if directory else AccessFS.READ_FILE
            rules.allow_path(path, rights)
        for path in listed:
            rules.allow_path(path, AccessFS.READ_DIR)
        rules.restrict()


def seccomp_filter() -> Any:
    """Build the filter of system calls, once for all workers; `OSError` where there is no library.

    It is a list of what is allowed: a call that nobody thought of is refused.
    """
    try:
        with _libraries_known():
            import pyseccomp  # noqa: PLC0415 -- Linux only
    except (ImportError, RuntimeError, TypeError) as problem:
        raise OSError(errno.ENOSYS, "libseccomp is not there") from problem
    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))
    for name in _ALLOWED.split():
        _allow(pyseccomp, rules, name)
    argument = pyseccomp.Arg
    equal, masked = pyseccomp.EQ, pyseccomp.MASKED_EQ
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | _O_TMPFILE
    _allow(pyseccomp, rules, "open", argument(1, masked, writes, 0))
    _allow(pyseccomp, rules, "openat", argument(2, masked, writes, 0))
    _allow(pyseccomp, rules, "clone", argument(0, masked, _CLONE_THREAD, _CLONE_THREAD))
    # What asks for limits may not set any, and asks for its own: others' tell what runs here.
    _allow(pyseccomp, rules, "prlimit64", argument(0, equal, 0), argument(2, equal, 0))
    _allow(pyseccomp, rules, "sched_getaffinity", argument(0, equal, 0))
    # A negative clock is the processor time of another process, to the nanosecond.
    for name in ("clock_gettime", "clock_getres", "clock_nanosleep"):
        _allow(pyseccomp, rules, name, argument(0, masked, 0xFFFFFFF0, 0))
    # Who shares a file with another bot could ask how many wait there, and so be told something:
    # what is not private to the process may be waited for, as joining a thread does, and no more.
    _allow(pyseccomp, rules, "futex", argument(1, masked, _FUTEX_PRIVATE, _FUTEX_PRIVATE))
    for operation in (_FUTEX_WAIT, _FUTEX_WAIT_BITSET):
        _allow(pyseccomp, rules, "futex", argument(1, masked, _FUTEX_OPERATION, operation))
    # A pair of streams for an event loop, but no datagram, which could be sent elsewhere.
    stream = argument(1, masked, 0xF, 1)
    _allow(pyseccomp, rules, "socketpair", argument(0, equal, 1), stream)
    _allow(pyseccomp, rules, "sendto", argument(4, equal, 0))
    for request in (termios.TCGETS, termios.FIONREAD, termios.FIOCLEX, termios.FIONBIO):
        _allow(pyseccomp, rules, "ioctl", argument(1, equal, request))
    for command in (
        fcntl.F_DUPFD,
        fcntl.F_DUPFD_CLOEXEC,
        fcntl.F_GETFD,
        fcntl.F_SETFD,
        fcntl.F_GETFL,
        fcntl.F_SETFL,
    ):
        _allow(pyseccomp, rules, "fcntl", argument(1, equal, command))
    for name in ("clone3", "openat2"):  # libraries then fall back to what is looked at above
        _rule(pyseccomp, rules, pyseccomp.ERRNO(errno.ENOSYS), name)
    return rules


def _allow(library: Any, rules: Any, name: str, *arguments: Any) -> None:
    _rule(library, rules, library.ALLOW, name, *arguments)


def _rule(library: Any, rules: Any, action: int, name: str, *arguments: Any) -> None:
    try:
        library.resolve_syscall(library.system_arch(), name)
    except (OSError, ValueError):
        return  # this architecture has no such call
    rules.add_rule(action, name, *arguments)


_CLONE_THREAD: Final = 0x10000
_O_TMPFILE: Final = 0x400000
_FUTEX_PRIVATE: Final = 0x80
_FUTEX_OPERATION: Final = 0x7F
_FUTEX_WAIT: Final = 0
_FUTEX_WAIT_BITSET: Final = 9

_ALLOWED: Final = """
read write readv writev pread64 close lseek
stat lstat fstat newfstatat statx access faccessat faccessat2
readlink readlinkat getcwd getdents64 fadvise64
mmap mprotect munmap mremap madvise brk
rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall
set_robust_list rseq set_tid_address sched_yield membarrier
getpid gettid getppid getuid geteuid getgid getegid getpgrp
nanosleep gettimeofday time times
getrandom getrlimit getrusage uname getcpu
pipe pipe2 dup dup2 dup3 poll ppoll select pselect6
epoll_create1 epoll_ctl epoll_wait epoll_pwait eventfd2
timerfd_create timerfd_settime timerfd_gettime
recvfrom getsockopt getsockname shutdown
arch_prctl exit exit_group
"""
