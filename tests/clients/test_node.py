"""`clients/node` as its users meet it: built by npm, and playing on a real `ronda serve`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.cli.conftest import ROOT, environment, ronda
from tests.cli.processes import gone
from tests.cli.test_remote_bots import Operator, said
from tests.cli.test_service import Service
from tests.server.tables import TABLES

from ronda.v1 import match_service_pb2 as pb
from ronda.v1.bot_service_pb2 import ListBotsRequest
from ronda.v1.bot_service_pb2_grpc import BotServiceStub
from ronda.v1.match_service_pb2_grpc import MatchServiceStub
from ronda_cli.client import new_request_id

NODE, NPM = shutil.which("node"), shutil.which("npm")
OLDEST = (18, 3)

pytestmark = [pytest.mark.outside, pytest.mark.timeout(300)]

if sys.platform == "win32":
    pytest.skip("ends a process by signal", allow_module_level=True)
if not NODE or not NPM:
    pytest.skip("needs Node and npm", allow_module_level=True)
version = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=True).stdout
if tuple(map(int, version.strip().lstrip("v").split(".")[:2])) < OLDEST:
    pytest.skip(f"needs Node 18.3 or newer, not {version.strip()}", allow_module_level=True)


def npm(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [str(NPM), *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client, built from a copy as a stranger would build it."""
    top = tmp_path_factory.mktemp("tree")
    leave = shutil.ignore_patterns("node_modules", "dist", "gen", "released")
    shutil.copytree(ROOT / "proto", top / "proto", ignore=leave)
    leave = shutil.ignore_patterns("node_modules", "dist")
    folder = top / "clients" / "node"
    shutil.copytree(ROOT / "clients" / "node", folder, ignore=leave)
    npm(folder, "ci", "--no-audit", "--no-fund")
    npm(folder, "run", "build")
    return folder


async def start(
    database: Path, *words: str, listen: str = "127.0.0.1:0", more: str = ""
) -> Service:
    """Start a service with an admin listener, on free ports, with `more` to import from."""
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [env.get("PYTHONPATH", ""), more]))
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ronda_cli", "serve", "--listen", listen),
        *("--metrics-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"),
        *("--admin-listen", "127.0.0.1:0", "--database", str(database), *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=env,
    )
    assert child.stdout
    return Service(child, json.loads(await asyncio.wait_for(child.stdout.readline(), 30)))


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    # A hosted bot that takes its time leaves a match long enough to be interrupted.
    started = await start(tmp_path / "ronda.db", "--bot-delay", "0.02")
    try:
        yield started
        await started.stop()
    finally:
        await gone(started.child)


@pytest.fixture
async def key_file(service: Service, tmp_path: Path) -> Path:
    return await Operator(service, tmp_path).key(tmp_path / "my.key")


Run = Callable[..., Awaitable[asyncio.subprocess.Process]]


@pytest.fixture
async def run() -> AsyncIterator[Run]:
    """Start a command whose output is read; nothing of it is left at the end."""
    children = []

    async def begin(*command: str) -> asyncio.subprocess.Process:
        child = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(),
        )
        children.append(child)
        return child

    yield begin
    for child in children:
        await gone(child)


Bot = Callable[[], Awaitable[asyncio.subprocess.Process]]


@pytest.fixture
def node_bot(client: Path, service: Service, key_file: Path, run: Run) -> Bot:
    """Start the Node bot, and wait until it is connected."""

    async def begin() -> asyncio.subprocess.Process:
        where = ("--server", service.address, "--key-file", str(key_file))
        main = str(client / "dist" / "main.js")
        child = await run(str(NODE), main, *where, "--max-seats", "64")
        await said(child, "connected as node-greedy@")
        return child

    return begin


@pytest.fixture
async def python_bot(service: Service, key_file: Path, run: Run) -> None:
    """A remote bot in Python, connected."""
    where = ("--server", service.address, "--key-file", str(key_file))
    serve = ("bots", "serve", "greedy", "--as", "python-greedy", "--seats", "64")
    child = await run(sys.executable, "-m", "ronda_cli", *serve, *where)
    await said(child, "connected as python-greedy@")


class Matches:
    """A caller of MatchService."""

    def __init__(self, address: str) -> None:
        self.channel = grpc.aio.insecure_channel(address)
        self.stub = MatchServiceStub(self.channel)

    async def between(self, *bots: str, **settings: Any) -> str:
        """Create a match as soon as its bots are ready."""
        request = pb.CreateMatchRequest(
            seats=[pb.SeatOffer(bot=bot) for bot in bots], request_id=new_request_id(), **settings
        )
        async with asyncio.timeout(30):
            while True:
                try:
                    return (await self.stub.CreateMatch(request)).match.id
                except grpc.aio.AioRpcError as error:
                    if error.code() is not grpc.StatusCode.NOT_FOUND:
                        raise

    async def ready(self, name: str) -> None:
        """Wait until a bot can be given seats."""
        bots = BotServiceStub(self.channel)
        async with asyncio.timeout(30):
            while name not in {bot.name for bot in (await bots.ListBots(ListBotsRequest())).bots}:
                pass  # each look is a call to the server

    async def updates(self, match_id: str) -> AsyncIterator[pb.WatchMatchResponse]:
        async with asyncio.timeout(60):
            async for message in self.stub.WatchMatch(pb.WatchMatchRequest(match_id=match_id)):
                yield message

    async def record(self, match_id: str) -> str:
        """Wait for the end of a match and return its record."""
        async for _ in self.updates(match_id):
            pass
        got = await self.stub.GetRecord(pb.GetRecordRequest(match_id=match_id))
        return got.record.decode()


@pytest.fixture
async def matches(service: Service) -> AsyncIterator[Matches]:
    made = Matches(service.address)
    yield made
    await made.channel.close()


def proven(lines: Iterable[str], file: Path) -> list[dict[str, Any]]:
    """Return what records say, once `ronda verify` has proven them and nobody was at fault."""
    file.write_text("".join(f"{line}\n" for line in lines))
    done = ronda("verify", str(file), "-o", "jsonl")
    verdicts = [json.loads(line)["verdict"] for line in done.stdout.splitlines()]
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert verdicts == ["proven"] * len(records), done.stderr
    assert not any(record.get("fault") for record in records)
    return records


def test_the_client_type_checks_and_passes_its_own_tests(client: Path) -> None:
    npm(client, "run", "check")
    assert "fail 0" in npm(client, "test")


def test_the_bot_that_its_readme_shows_type_checks(client: Path) -> None:
    [source] = re.findall(
        r"^```ts\n(.*?)^```", (client / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    mine = client / "src" / "mine.ts"
    mine.write_text(source)
    try:
        npm(client, "run", "check")
    finally:
        mine.unlink()


def test_its_lock_names_no_place_that_packages_come_from() -> None:
    lock = json.loads((ROOT / "clients" / "node" / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert not any("resolved" in package for package in packages.values())
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())


@pytest.mark.usefixtures("python_bot")
async def test_it_plays_every_preset_with_a_python_bot_and_a_plugin(
    matches: Matches, node_bot: Bot, tmp_path: Path
) -> None:
    bot = await node_bot()
    pool = ("node-greedy", "python-greedy", "node-greedy", "careful")
    length = {rules: {} if rules == "arabic" else {"length": 2} for rules, _ in TABLES}
    ids = [
        await matches.between(*bots, rules=rules, **length[rules])
        for rules, players in TABLES
        for bots in {pool[:players], pool[-players:]}
    ]
    records = proven([await matches.record(match_id) for match_id in ids], tmp_path / "r.jsonl")
    level = {"node-greedy@1.0.0": "remote", "python-greedy@1.0.0": "remote"}
    for record in records:
        seats = record["seats"]
        assert "node-greedy@1.0.0" in seats
        assert record["isolation"] == [level.get(seat, "trusted") for seat in seats]
    os.kill(bot.pid, signal.SIGTERM)
    out, err = await asyncio.wait_for(bot.communicate(), 30)
    assert (bot.returncode, out) == (130, b"")
    assert b"dropped" not in err
    assert err.count(b" is over: ") == sum(r["seats"].count("node-greedy@1.0.0") for r in records)


async def _until_it_has_played(matches: Matches, match_id: str, seat: int) -> None:
    async for message in matches.updates(match_id):
        event = message.event
        if event.WhichOneof("kind") == "card_played" and event.card_played.play.seat == seat:
            return
    raise AssertionError("the match is over")


async def test_kill_9_in_the_middle_of_a_match_and_a_new_start_lose_nothing(
    matches: Matches, node_bot: Bot, tmp_path: Path
) -> None:
    first = await node_bot()
    match_id = await matches.between("careful", "node-greedy", rules="cafe", length=6)
    await _until_it_has_played(matches, match_id, 1)
    os.kill(first.pid, signal.SIGKILL)
    await first.wait()
    second = await node_bot()
    await said(second, f"{match_id}: seat 1, cafe against careful@1.0.0")
    [record] = proven([await matches.record(match_id)], tmp_path / "r.jsonl")
    assert record["outcome"] == "length"
    await said(second, f"{match_id}: seat 1 is over: length")


async def test_it_outlives_a_restart_of_the_service_in_the_middle_of_a_match(
    matches: Matches, node_bot: Bot, service: Service, tmp_path: Path
) -> None:
    bot = await node_bot()
    match_id = await matches.between("careful", "node-greedy", rules="cafe", length=6)
    await _until_it_has_played(matches, match_id, 1)
    assert await service.stop() == 0
    again = await start(tmp_path / "ronda.db", listen=service.address)
    try:
        await said(bot, "the server restarts: trying again")
        await said(bot, "connected as node-greedy@")
        after = Matches(again.address)
        [record] = proven([await after.record(match_id)], tmp_path / "r.jsonl")
        await after.channel.close()
        assert record["outcome"] == "length"
        await again.stop()
    finally:
        await gone(again.child)


async def test_a_second_one_takes_over_and_the_first_ends_with_4(node_bot: Bot) -> None:
    first = await node_bot()
    await node_bot()
    await said(first, "taken over")
    assert await asyncio.wait_for(first.wait(), 30) == 4


async def test_a_match_is_watched_to_its_end(
    client: Path, matches: Matches, node_bot: Bot, service: Service, run: Run
) -> None:
    bot = await node_bot()
    await matches.ready("node-greedy")
    os.kill(bot.pid, signal.SIGSTOP)  # connected, and slow: nothing is over before it is watched
    match_id = await matches.between("careful", "node-greedy", rules="arabic")
    watch = (str(NODE), str(client / "dist" / "watch.js"), "--server", service.address)
    child = await run(*watch, match_id)
    assert child.stdout
    first = await asyncio.wait_for(child.stdout.readline(), 30)
    os.kill(bot.pid, signal.SIGCONT)
    out, err = await asyncio.wait_for(child.communicate(), 60)
    assert (child.returncode, err) == (0, b"")
    lines = (first + out).decode().splitlines()
    numbers = [int(line.partition(":")[0]) for line in lines]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert sum(" plays " in line for line in lines) >= 35
    assert "over by hand" in lines[-1]
