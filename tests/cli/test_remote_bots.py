"""`ronda admin` and `ronda bots serve` as their users meet them: processes on a real service."""

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
from tests.cli.conftest import environment
from tests.cli.processes import gone, process
from tests.cli.test_service import Service

from ronda_cli.channel import Target
from ronda_cli.client import Client, new_request_id
from ronda_cli.updates import RefusedError

if sys.platform == "win32":
    pytest.skip("ends a process by signal", allow_module_level=True)

Bot = Callable[..., Awaitable[asyncio.subprocess.Process]]


async def start(database: Path, listen: str = "127.0.0.1:0") -> Service:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ronda_cli", "serve", "--listen", listen),
        *("--metrics-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"),
        *("--admin-listen", "127.0.0.1:0"),
        *("--database", str(database), "--drain-seconds", "1"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment(),
    )
    assert child.stdout
    return Service(child, json.loads(await asyncio.wait_for(child.stdout.readline(), 30)))


class Operator:
    """Whoever runs a service."""

    def __init__(self, service: Service, folder: Path) -> None:
        self.service = service
        self.key_file = folder / "ronda.db.admin-key"

    async def run(self, *words: str, key_file: Path | None = None) -> tuple[int, str, str]:
        where = ("--server", self.service.addresses["admin_listen"])
        key = ("--admin-key-file", str(key_file or self.key_file))
        return await process("admin", *words, *where, *key)

    async def key(self, file: Path, account: str = "ann") -> Path:
        code, out, err = await self.run("keys", "create", account, "--key-file", str(file))
        assert (code, out) == (0, ""), err
        return file


@pytest.fixture
async def operator(tmp_path: Path) -> AsyncIterator[Operator]:
    service = await start(tmp_path / "ronda.db")
    try:
        yield Operator(service, tmp_path)
        await service.stop()
    finally:
        await gone(service.child)


@pytest.fixture
async def key_file(operator: Operator, tmp_path: Path) -> Path:
    return await operator.key(tmp_path / "my.key")


@pytest.fixture
async def serve(operator: Operator, key_file: Path) -> AsyncIterator[Bot]:
    """Start `ronda bots serve` and wait until it says that it is connected."""
    children = []

    async def begin(*words: str, wait_for: str = "connected") -> asyncio.subprocess.Process:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "ronda_cli", "bots", "serve", *words),
            *("--server", operator.service.address, "--key-file", str(key_file)),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment(),
        )
        children.append(child)
        await said(child, wait_for)
        return child

    yield begin
    for child in children:
        await gone(child)


async def said(child: asyncio.subprocess.Process, what: str) -> str:
    """Read what a process says up to the line that holds `what`, and return that line."""
    assert child.stderr
    async with asyncio.timeout(30):
        while line := (await child.stderr.readline()).decode():
            if what in line:
                return line
    raise AssertionError(f"it never said {what!r}")


async def text_of(file: Path) -> str:
    return await asyncio.to_thread(file.read_text)


class Door:
    """A caller of the service."""

    def __init__(self, service: Service) -> None:
        self.client = Client(Target(service.address, False, service.address))

    async def between(self, *bots: str, target: int = 0) -> str:
        """Create a match as soon as its bots are ready."""
        async with asyncio.timeout(30):
            while True:
                try:
                    rules = "cafe" if target else "arabic"
                    made = self.client.create_between(rules, target, bots, new_request_id())
                    return await made
                except RefusedError as error:
                    if error.why.reason != "BOT_NOT_FOUND":
                        raise

    async def outcome(self, match_id: str) -> str:
        """Wait for the end of a match and return its record."""
        async with asyncio.timeout(60):
            async for _ in self.client.watch(match_id, 0):
                pass
        return await self.client.record(match_id)


@pytest.fixture
async def door(operator: Operator) -> AsyncIterator[Door]:
    made = Door(operator.service)
    yield made
    await made.client.close()


async def test_a_key_is_made_told_once_listed_and_revoked(
    operator: Operator, tmp_path: Path
) -> None:
    code, out, err = await operator.run("keys", "create", "ann", "--label", "my laptop")
    assert code == 0
    assert re.fullmatch(r"rnd_k_[a-z2-7]{8}_[A-Za-z0-9_-]{43}_[0-9A-Za-z]{6}\n", out)
    assert "not told again" in err
    assert out.strip() not in err
    key_id = out.split("_")[2]
    code, out, err = await operator.run("keys", "create", "bob", "-o", "json")
    made = json.loads(out)
    assert set(made) == {"id", "account", "label", "created", "revoked", "key"}
    code, out, err = await operator.run("keys", "list", "-o", "jsonl")
    assert [json.loads(line)["id"] for line in out.splitlines()] == [key_id, made["id"]]
    assert made["key"] not in out
    code, out, err = await operator.run("keys", "revoke", key_id)
    assert (code, out, err) == (0, "", f"revoked: {key_id} of ann\n")
    code, out, err = await operator.run("keys", "revoke", key_id)
    assert (code, out) == (0, "")
    assert f"{key_id} of ann was revoked already, at 2" in err
    code, out, err = await operator.run("keys", "list", "-o", "json")
    keys = json.loads(out)["keys"]
    assert [key["revoked"] is None for key in keys] == [False, True]
    assert keys[0]["label"] == "my laptop"
    code, out, err = await operator.run("keys", "list")
    assert "my laptop" in out
    code, out, err = await operator.run("keys", "revoke", "aaaaaaaa")
    assert (code, out) == (4, "")
    assert "keys list" in err


async def test_a_name_of_a_bot_is_freed_once_nobody_is_there(
    operator: Operator, serve: Bot
) -> None:
    free = ("bots", "free", "far", "--account", "ann")
    child = await serve("greedy", "--as", "far")
    code, out, err = await operator.run(*free)
    assert (code, out) == (4, "")
    assert "keys revoke" in err
    await gone(child)
    async with asyncio.timeout(30):
        while (await operator.run(*free))[0]:
            pass  # until the server has seen that its stream is over
    where = ("--server", operator.service.addresses["admin_listen"])
    key = ("--admin-key-file", str(operator.key_file))
    code, out, err = await process("admin", "bots", *where, *key, *free[1:])
    assert (code, out) == (4, "")
    assert "the account ann has no name far" in err
    await serve("greedy", "--as", "far")
    code, out, _ = await operator.run("bots", "-o", "json")
    assert [bot["identity"] for bot in json.loads(out)["bots"]] == ["far@1.0.0"]


async def test_a_key_goes_into_a_file_that_only_its_owner_reads(
    operator: Operator, key_file: Path
) -> None:
    mode = await asyncio.to_thread(lambda: key_file.stat().st_mode)
    assert mode & 0o777 == 0o600
    assert (await text_of(key_file)).startswith("rnd_k_")
    code, _, err = await operator.run("keys", "create", "ann", "--key-file", str(key_file))
    assert code == 2
    assert "exists" in err


@pytest.mark.thorough
async def test_who_has_another_key_is_refused_and_who_finds_no_server_is_told(
    operator: Operator, key_file: Path, tmp_path: Path
) -> None:
    code, _, err = await operator.run("keys", "list", key_file=key_file)
    assert code == 4
    assert "--admin-key-file" in err
    code, _, err = await operator.run("keys", "list", key_file=tmp_path / "none")
    assert code == 2
    assert f"the admin key file {tmp_path / 'none'} cannot be read" in err
    assert "beside the server's database" in err
    assert "--admin-key-file" in err
    code, _, err = await process(
        *("admin", "bots", "--server", "127.0.0.1:1", "--admin-key-file", str(operator.key_file))
    )
    assert code == 3


async def test_an_installed_bot_plays_on_the_service_until_its_matches_are_over(
    operator: Operator, door: Door, serve: Bot
) -> None:
    child = await serve("greedy", "--as", "far", "--matches", "2")
    code, out, _ = await operator.run("bots", "-o", "json")
    [bot] = json.loads(out)["bots"]
    assert (code, bot["identity"], bot["account"]) == (0, "far@1.0.0", "ann")
    assert (bot["connected"], bot["matches"]) == (True, [])
    code, out, _ = await operator.run("bots")
    assert "far@1.0.0" in out
    records = [await door.outcome(await door.between("far", "greedy")) for _ in range(2)]
    out_, err = await asyncio.wait_for(child.communicate(), 30)
    assert child.returncode == 0
    assert out_ == b""
    for line in records:
        record = json.loads(line)
        assert record["seats"] == ["far@1.0.0", "greedy@1.0.0"]
        assert record["isolation"] == ["remote", "trusted"]
        assert record["outcome"] == "hand"
        assert f"{record['id']}: seat 0 is over: hand" in err.decode()


async def test_a_name_of_an_installed_bot_is_refused_and_what_to_do_is_said(
    serve: Bot,
) -> None:
    child = await serve("greedy", wait_for="--as")
    assert await asyncio.wait_for(child.wait(), 30) == 4


@pytest.mark.thorough
async def test_a_key_that_is_revoked_ends_it_with_4(
    operator: Operator, serve: Bot, key_file: Path
) -> None:
    child = await serve("greedy", "--as", "far")
    await operator.run("keys", "revoke", (await text_of(key_file)).split("_")[2])
    await said(child, "revoked")
    assert await asyncio.wait_for(child.wait(), 30) == 4
    late = await serve("greedy", "--as", "far", wait_for="--key-file")
    assert await asyncio.wait_for(late.wait(), 30) == 4


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_with_130_and_the_command_that_goes_on(
    operator: Operator, door: Door, serve: Bot, key_file: Path, number: signal.Signals
) -> None:
    child = await serve("greedy", "--as", "far")
    await door.between("far", "greedy", target=41)
    os.kill(child.pid, number)
    _, err = await asyncio.wait_for(child.communicate(), 30)
    assert child.returncode == 130
    last = err.decode().splitlines()[-1]
    assert f"ronda bots serve greedy --server {operator.service.address}" in last
    assert f"--key-file {key_file} --as far --seats 16" in last
    assert b"Traceback" not in err


@pytest.mark.thorough
async def test_kill_9_of_the_bot_frees_its_stream_at_once_and_its_matches_wait_for_it(
    operator: Operator, door: Door, serve: Bot
) -> None:
    child = await serve("greedy", "--as", "far")
    seat = await door.client.create("cafe", 41, 0, ["far"], new_request_id())
    other = await door.between("careful", "greedy")
    await door.client.join(seat, "Fatima", new_request_id())
    os.kill(child.pid, signal.SIGKILL)
    await child.wait()
    async with asyncio.timeout(30):
        while json.loads((await operator.run("bots", "-o", "json"))[1])["bots"][0]["connected"]:
            pass  # each look is a process of its own
    assert json.loads(await door.outcome(other))["outcome"] == "hand"
    await serve("greedy", "--as", "far", wait_for=seat)
    _, out, _ = await operator.run("bots", "-o", "json")
    assert json.loads(out)["bots"][0]["matches"] == [seat]


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_it_outlives_the_end_of_the_service_in_the_middle_of_a_match(
    tmp_path: Path, operator: Operator, serve: Bot, door: Door, number: signal.Signals
) -> None:
    child = await serve("careful", "--as", "far", "--matches", "2")
    match_id = await door.between("far", "far", target=41)
    await said(child, match_id)
    address = operator.service.address
    os.kill(operator.service.child.pid, number)
    await asyncio.wait_for(operator.service.child.wait(), 30)
    second = await start(tmp_path / "ronda.db", address)
    try:
        after = Door(second)
        record = json.loads(await after.outcome(match_id))
        assert record["outcome"] == "target"
        assert "fault" not in record or record["fault"] is None
        await after.client.close()
        _, err = await asyncio.wait_for(child.communicate(), 60)
        assert child.returncode == 0
        assert b"Traceback" not in err
    finally:
        await second.stop()


async def test_drain_ends_the_service_as_sigterm_does(operator: Operator) -> None:
    code, out, _ = await operator.run("drain", "-o", "json")
    assert (code, json.loads(out)) == (0, {"open_matches": 0})
    assert await asyncio.wait_for(operator.service.child.wait(), 30) == 0


@pytest.mark.thorough
async def test_a_bot_without_a_log_is_told_without_a_flag_that_is_not_there(
    operator: Operator,
) -> None:
    code, out, err = await operator.run("log", "nosuch")
    assert (code, out) == (4, "")
    assert "no bot nosuch has left a log on the server; remote bots keep their own" in err
    assert "--bots" not in err


async def test_what_is_wrong_on_the_command_line_is_told_before_any_server_is_asked(
    tmp_path: Path,
) -> None:
    where = ("bots", "serve", "greedy", "--server", "127.0.0.1:1")
    none = tmp_path / "none"
    code, _, err = await process(*where, "--key-file", str(none))
    assert code == 2
    assert f"the key file {none} cannot be read" in err
    code, _, err = await process(*where, "--key-file", str(none), "--as", "bad name")
    assert code == 2
    assert "a bot's name has 1 to 64 letters, digits, - and _: --as 'bad name'" in err


async def test_isolation_is_told(operator: Operator) -> None:
    code, out, _ = await operator.run("isolation", "-o", "json")
    told = json.loads(out)
    weak = told["granted"] == "process"  # as far as this machine can
    assert code == weak
    assert told["wanted"] == "sandbox"
    assert weak or told["granted"] == "sandbox"
    assert weak is any(not check["ok"] for check in told["checks"])
    code, out, _ = await operator.run("isolation")
    assert code == weak
    assert out.startswith(f"wanted sandbox, granted {told['granted']}\n")
    assert all(check["name"] in out for check in told["checks"])
