"""Bots that reach for the network, and for the less known doors of the kernel."""

from __future__ import annotations

import array
import ctypes
import os
import socket

from ronda_zoo.visitor import WHERE, Prying, call, drop, syscall


class ConnectsOut(Prying):
    """Opens a TCP connection."""

    def attack(self) -> object:
        return socket.create_connection(("127.0.0.1", WHERE["tcp"]), timeout=5)


class Listens(Prying):
    """Listens on a TCP port."""

    def attack(self) -> object:
        return socket.create_server(("127.0.0.1", 0))


class SendsADatagram(Prying):
    """Sends a UDP datagram."""

    def attack(self) -> object:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        return sock.sendto(b"7O 12E", ("127.0.0.1", WHERE["udp"]))


class PathSocket(Prying):
    """Connects to a service by a socket that has a path, as databases have."""

    def attack(self) -> object:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect(WHERE["unix"])
        return True


class AbstractSocket(Prying):
    """Connects to a socket that is in no file system."""

    def attack(self) -> object:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.connect("\0" + WHERE["abstract"])
        return True


class DatagramFromAPair(Prying):
    """Sends a datagram to a path by one end of a pair, which needs no call to make a socket."""

    def attack(self) -> object:
        one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        return one.sendto(b"7O 12E", WHERE["datagrams"])


class StreamPairSendsAway(Prying):
    """Sends to a path by one end of the pair of streams that an event loop may have."""

    def attack(self) -> object:
        one, _ = socket.socketpair()
        return one.sendto(b"7O 12E", WHERE["datagrams"])


class PassesADescriptor(Prying):
    """Hands the arena a descriptor through its own socket."""

    def attack(self) -> object:
        sock = socket.socket(fileno=os.dup(3))
        fds = array.array("i", [0])
        return sock.sendmsg([b""], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)]) >= 0


class Netlink(Prying):
    """Asks the kernel for the machine's network."""

    def attack(self) -> object:
        return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)


class RawPackets(Prying):
    """Listens to all that goes over the network."""

    def attack(self) -> object:
        return socket.socket(socket.AF_PACKET, socket.SOCK_RAW)


class SysVSharedMemory(Prying):
    """Makes memory that any process may attach by a number."""

    def attack(self) -> object:
        made = call("shmget", 0, 4096, 0o1600)
        call("shmctl", made, 0, None)
        return True


class SysVMessages(Prying):
    """Makes a queue of messages that any process may read by a number."""

    def attack(self) -> object:
        made = call("msgget", 0, 0o1600)
        call("msgctl", made, 0, None)
        return True


class PosixQueue(Prying):
    """Makes a queue of messages by name."""

    def attack(self) -> object:
        name = f"/{WHERE['token']}".encode()
        librt = ctypes.CDLL(None, use_errno=True)
        attributes = (ctypes.c_long * 8)(0, 1, 8)
        opened = librt.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, ctypes.byref(attributes))
        if opened == -1:
            raise OSError(ctypes.get_errno(), "mq_open")
        librt.mq_unlink(name)
        return True


class IoUring(Prying):
    """Asks for a ring, through which calls go that no filter sees."""

    def attack(self) -> object:
        return syscall(425, 4, ctypes.create_string_buffer(120)) >= 0


class UserFaults(Prying):
    """Asks to handle page faults, the favourite tool of those who attack kernels."""

    def attack(self) -> object:
        return syscall(323, 1) >= 0


class Bpf(Prying):
    """Makes a map for programs in the kernel."""

    def attack(self) -> object:
        words = (ctypes.c_uint32 * 32)(2, 4, 4, 1)
        return syscall(321, 0, ctypes.byref(words), ctypes.sizeof(words)) >= 0


class PerfEvents(Prying):
    """Counts what the processor does."""

    def attack(self) -> object:
        words = (ctypes.c_uint32 * 32)(1, 128)
        return syscall(298, ctypes.byref(words), 0, -1, -1, 0) >= 0


class Keyring(Prying):
    """Leaves a note in a keyring of the kernel."""

    def attack(self) -> object:
        note = ctypes.create_string_buffer(b"ronda-zoo")
        return syscall(248, note_type(), note, note, 4, -2) > 0  # add_key, for this process


def note_type() -> ctypes.Array[ctypes.c_char]:
    """The kind of key that holds any bytes."""
    return ctypes.create_string_buffer(b"user")


class Unshares(Prying):
    """Makes itself root of a user namespace, where much more of the kernel can be reached."""

    def attack(self) -> object:
        return syscall(272, 0x10000000) == 0


class Mounts(Prying):
    """Mounts a file system, in a namespace of its own."""

    def attack(self) -> object:
        syscall(272, 0x00020000)
        none = ctypes.create_string_buffer(b"none")
        root = ctypes.create_string_buffer(b"/")
        syscall(165, none, root, none, 0x44000, none)  # nothing of it goes to other namespaces
        place = ctypes.create_string_buffer(str(drop("")).encode())
        kind = ctypes.create_string_buffer(b"tmpfs")
        return syscall(165, none, place, kind, 0, none) == 0


class OldAbi(Prying):
    """Makes a socket by the number that the x32 ABI has for it, which some filters forget."""

    def attack(self) -> object:
        return syscall(0x40000000 + 41, 1, 1, 0) >= 0


class Watches(Prying):
    """Watches a folder for what others do in it."""

    def attack(self) -> object:
        watch = call("inotify_init")
        return call("inotify_add_watch", watch, WHERE["drop"].encode(), 0xFFF) >= 0


class NewFilter(Prying):
    """Puts a filter of its own over the calls, so as to be asked about each."""

    def attack(self) -> object:
        program = (ctypes.c_uint64 * 1)(0x7FFF000000000006)
        words = (ctypes.c_uint64 * 2)(1, ctypes.addressof(program))
        return syscall(317, 1, 0, ctypes.byref(words)) == 0


class TypesIntoTheTerminal(Prying):
    """Types a command into the terminal that the arena may have."""

    def attack(self) -> object:
        import fcntl  # noqa: PLC0415 -- late imports work
        import termios  # noqa: PLC0415 -- late imports work

        fcntl.ioctl(0, termios.TIOCSTI, b"\n")
        return True


class Personality(Prying):
    """Makes its memory lie where it can be guessed."""

    def attack(self) -> object:
        return call("personality", 0x0040000) >= 0


class PinsItself(Prying):
    """Chooses the processors that it runs on: to hear by their caches, or to crowd somebody out."""

    def attack(self) -> object:
        os.sched_setaffinity(0, os.sched_getaffinity(0))
        return True
