"""Orders to the workers' template, and its answers, may be of any length."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest

from ronda_arena.fault import BotFaultError
from ronda_arena.isolation import Level, Limits
from ronda_arena.worker import nursery as nurseries
from ronda_arena.worker import wire
from ronda_arena.worker.nursery import Cradle, Nursery
from ronda_arena.worker.wire import Ask
from ronda_arena.worker.worker import Worker


def test_a_worker_may_be_given_thousands_of_files_to_read(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"{number:0>100}.py").touch()
    reads = tuple(sorted(str(file) for file in tmp_path.iterdir()))
    with Nursery() as nursery:
        nursery.start()
        level = Level.PROCESS if nursery.problem else Level.SANDBOX
        worker = Worker(nursery, Cradle(level, reads))
        question = wire.pack(((), "ronda_bots.greedy", "Greedy"))
        said, body = worker.ask(Ask.ABOUT, question, 10)
        assert (said, b"1.0.0" in bytes(body)) == (wire.Say.TEXT, True)
        worker.end()


def test_a_log_of_any_length_comes_back_whole(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text("print('x' * 300_000, 'end')\n")
    with Nursery(Limits(log_kept=1 << 20)) as nursery:
        worker = Worker(nursery, Cradle(Level.PROCESS))
        worker.ask(Ask.ABOUT, wire.pack(([str(tmp_path)], "loud", "Bot")), 10)
        assert worker.end().log == b"x" * 300_000 + b" end\n"


@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_an_order_is_read_whole_however_it_comes(size: int) -> None:
    data = wire.pack_order(["spawn", "x" * size])
    mine, its = socket.socketpair()

    def send() -> None:
        for at in range(0, len(data), 997):
            mine.sendall(data[at : at + 997])

    with mine, its:
        sender = threading.Thread(target=send)
        sender.start()
        assert wire.read_order(its, b"") == ["spawn", "x" * size]
        sender.join()


def test_an_order_that_ends_too_soon_is_none() -> None:
    mine, its = socket.socketpair()
    with mine, its:
        mine.sendall(wire.pack_order(["bury", 7])[:-1])
        mine.shutdown(socket.SHUT_WR)
        assert wire.read_order(its, b"") is None


def hung_up(nursery: Nursery, folder: Path, then: str) -> BotFaultError:
    """Return the fault of a bot that closes its socket when it is imported, and does `then`."""
    (folder / "rude.py").write_text(f"import os, time\nos.close(3)\n{then}\n")
    worker = Worker(nursery, Cradle(Level.PROCESS))
    with pytest.raises(BotFaultError) as caught:
        worker.ask(Ask.ABOUT, wire.pack(([str(folder)], "rude", "Bot")), 10)
    return caught.value


def test_while_one_that_has_hung_up_is_waited_for_others_are_born_and_buried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_end = nurseries._let_end
    asked: list[Worker] = []

    def meanwhile(pid: int) -> None:
        other = Worker(nursery, Cradle(Level.PROCESS))
        asked.append(other)
        other.ask(Ask.ABOUT, wire.pack(((), "ronda_bots.greedy", "Greedy")), 10)
        other.end()
        let_end(pid)

    monkeypatch.setattr(nurseries, "_let_end", meanwhile)
    with Nursery() as nursery:
        assert hung_up(nursery, tmp_path, "time.sleep(1000)").detail == "it hung up"
    assert len(asked) == 1


@pytest.mark.parametrize("told", [True, False], ids=["a handle", "no handle"])
def test_one_that_ends_after_it_has_hung_up_is_told_with_its_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: bool
) -> None:
    if not told:
        monkeypatch.delattr(os, "pidfd_open")
    with Nursery() as nursery:
        fault = hung_up(nursery, tmp_path, "os._exit(3)")
    assert fault.detail == "it ended with exit status 3"
