"""The service as its users meet it: `ronda serve` as a process, `play` and `watch` against it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from tests.cli.conftest import environment, ronda
from tests.cli.processes import gone, process

if sys.platform == "win32":
    pytest.skip("ends a process by signal", allow_module_level=True)


class Service:
    """A running `ronda serve`."""

    def __init__(self, child: asyncio.subprocess.Process, addresses: dict[str, str]) -> None:
        self.child = child
        self.addresses = addresses

    @property
    def address(self) -> str:
        return self.addresses["listen"]

    async def stop(self) -> int:
        if self.child.returncode is None:
            os.kill(self.child.pid, signal.SIGTERM)
        await asyncio.wait_for(self.child.communicate(), 30)
        assert self.child.returncode is not None
        return self.child.returncode


async def start(database: Path, listen: str = "127.0.0.1:0") -> Service:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ronda_cli", "serve", "--listen", listen),
        *("--metrics-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"),
        *("--database", str(database), "--drain-seconds", "1"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment(),
    )
    assert child.stdout
    line = await asyncio.wait_for(child.stdout.readline(), 30)
    return Service(child, json.loads(line))


Player = Callable[..., Awaitable[asyncio.subprocess.Process]]


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    started = await start(tmp_path / "ronda.db")
    try:
        yield started
        await started.stop()
    finally:
        await gone(started.child)


async def answer(
    child: asyncio.subprocess.Process, until: str = "", stop_after: int = 10_000
) -> str:
    """Answer every question of `ronda play`: the first card, and no declaration."""
    assert child.stdin
    assert child.stderr
    told = asked = ""
    count = 0
    while count < stop_after and (data := await asyncio.wait_for(child.stderr.read(4096), 60)):
        told += data.decode()
        asked += data.decode()
        while found := re.search(r"(Card|Enter plays|Declare|No set)[^:]*: ", asked):
            asked = asked[found.end() :]
            count += 1
            child.stdin.write(b"1\n" if found[1] == "Card" else b"\n")
            await child.stdin.drain()
        if until and until in told:
            break
    return told


@pytest.fixture
async def player() -> AsyncIterator[Player]:
    """Start `ronda play`; whoever still sits there after a test is sent away."""
    children = []

    async def start(*args: str, command: str = "play") -> asyncio.subprocess.Process:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ronda_cli", command, *args),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(),
        )
        children.append(child)
        return child

    yield start
    for child in children:
        await gone(child)


async def test_ready_is_one_line_of_json_with_every_address(service: Service) -> None:
    assert set(service.addresses) == {"listen", "health_listen", "metrics_listen"}
    assert all(re.fullmatch(r"127\.0\.0\.1:[1-9]\d*", one) for one in service.addresses.values())


async def test_a_polite_end_is_0(service: Service) -> None:
    assert await service.stop() == 0


@pytest.mark.parametrize("rules", ["cafe", "arabic"])
async def test_a_person_plays_a_whole_match_and_others_watch_it(
    service: Service, player: Player, rules: str
) -> None:
    target = ["--target", "21"] if rules == "cafe" else []
    child = await player("--server", service.address, "--bots", "greedy", "--rules", rules, *target)
    told = await answer(child, stop_after=2)
    match_id = re.search(r"--match (\S+)", told)
    assert match_id
    watching = asyncio.create_task(process("watch", match_id[1], "--server", service.address))
    await answer(child)
    assert child.stdout
    out = (await child.stdout.read()).decode()
    assert await child.wait() == 0
    assert re.search(r"wins? the match|without a winner", out.splitlines()[-1])
    code, seen, err = await watching
    assert (code, err) == (0, "")
    score = re.findall(r"\d+", out.splitlines()[-1])
    assert re.findall(r"\d+", seen.splitlines()[-1])[-2:] == score[-2:]
    assert "You hold" not in seen


async def test_a_match_that_is_over_can_still_be_looked_at(
    service: Service, player: Player
) -> None:
    child = await player("--server", service.address, "--bots", "greedy", "--rules", "arabic")
    told = await answer(child)
    assert child.stdout
    await child.stdout.read()
    await child.wait()
    match_id = re.search(r"--match (\S+)", told)
    assert match_id
    code, out, _ = await process("watch", match_id[1], "--server", service.address)
    assert code == 0
    assert re.search(r"wins? the match|without a winner", out)


async def test_who_leaves_comes_back_to_the_same_seat(service: Service, player: Player) -> None:
    child = await player("--server", service.address, "--bots", "greedy", "--rules", "arabic")
    told = await answer(child, stop_after=3)
    assert child.stdin
    child.stdin.write(b"q\n")
    await child.stdin.drain()
    _, rest = await asyncio.wait_for(child.communicate(), 60)
    assert child.returncode == 0
    again = re.search(r"ronda play (--server \S+ --match \S+)", told + rest.decode())
    assert again
    back = await player(*again[1].split())
    await answer(back)
    assert back.stdout
    out = (await back.stdout.read()).decode()
    assert await back.wait() == 0
    assert re.search(r"wins? the match|without a winner", out.splitlines()[-1])


async def test_a_watcher_outlives_the_server(tmp_path: Path, player: Player) -> None:
    first = await start(tmp_path / "ronda.db")
    child = await player("--server", first.address, "--bots", "greedy", "--rules", "arabic")
    told = await answer(child, stop_after=2)
    match_id = re.search(r"--match (\S+)", told)
    assert match_id
    watching = await player(match_id[1], "--server", first.address, command="watch")
    assert watching.stdout
    assert b"Match" in await watching.stdout.readline()
    assert await first.stop() == 0
    second = await start(tmp_path / "ronda.db", first.address)
    try:
        await answer(child)
        assert child.stdout
        out = (await child.stdout.read()).decode()
        assert await child.wait() == 0
        seen, err = await asyncio.wait_for(watching.communicate(), 30)
        assert watching.returncode == 0
        assert b"connected again" in err
        assert (
            re.findall(r"\d+", seen.decode().splitlines()[-1])[-2:]
            == re.findall(r"\d+", out.splitlines()[-1])[-2:]
        )
    finally:
        await second.stop()


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["--listen", "nonsense"], "host:port"),
        (["--listen", "0.0.0.0:0"], "--allow-plaintext"),
        (["--database", "mysql://x/y"], "SQLite"),
        (["--listen", "192.0.2.1:1", "--allow-plaintext"], "cannot listen"),
    ],
)
def test_a_service_that_cannot_start_says_why_in_one_line(
    args: list[str], word: str, tmp_path: Path
) -> None:
    quiet = ["--metrics-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"]
    database = [] if "--database" in args else ["--database", str(tmp_path / "x.db")]
    done = ronda("serve", *quiet, *database, *args)
    assert done.returncode == 2
    assert done.stdout == b""
    (line,) = [one for one in done.stderr.decode().splitlines() if one.startswith("ronda")]
    assert word in line
    assert b"Traceback" not in done.stderr
