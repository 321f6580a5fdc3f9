"""What is fetched from a server: the record of a match, and the bots that it can seat."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.cli.conftest import RECORDS, Run
from tests.cli.processes import gone, process
from tests.cli.scripted import Scripted, serving
from tests.cli.test_service import Service, start

from ronda.v1 import match_service_pb2 as pb
from ronda_cli.channel import target
from ronda_cli.client import Client, new_request_id

if sys.platform == "win32":
    pytest.skip("ends a process by signal", allow_module_level=True)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    started = await start(tmp_path / "ronda.db")
    try:
        yield started
        await started.stop()
    finally:
        await gone(started.child)


async def test_the_record_of_a_match_that_is_over_can_be_verified_and_replayed(
    service: Service, tmp_path: Path
) -> None:
    client = Client(target(service.address))
    match_id = await client.create_between("cafe", 41, ["greedy", "random"], new_request_id())
    await client.close()
    code, _, _ = await process("watch", match_id, "--server", service.address)
    assert code == 0
    code, out, err = await process("replay", "export", match_id, "--server", service.address)
    assert (code, err) == (0, "")
    assert json.loads(out)["id"] == match_id
    file = tmp_path / "export"
    file.write_text(out)
    code, out, _ = await process("verify", str(file), "-o", "jsonl")
    assert (code, json.loads(out)["verdict"]) == (0, "proven")
    code, out, _ = await process("replay", str(file))
    assert code == 0
    assert out.startswith(match_id)


async def test_a_match_that_goes_on_is_sealed_and_one_that_is_not_there_is_not_found(
    service: Service,
) -> None:
    client = Client(target(service.address))
    match_id = await client.create("cafe", 41, 0, ["greedy"], new_request_id())
    await client.close()
    for which, why in ((match_id, "sealed until the match is over"), ("m-no", "no such match")):
        code, out, err = await process("replay", "export", which, "--server", service.address)
        assert (code, out) == (4, "")
        assert why in err
        assert len(err.splitlines()) == 1


@pytest.mark.parametrize("form", ["table", "json", "jsonl"])
async def test_the_bots_of_a_server_are_listed(service: Service, form: str) -> None:
    code, out, err = await process("bots", "list", "--server", service.address, "-o", form)
    assert (code, err) == (0, "")
    if form == "table":
        assert "solver@1.0.0" in out
        assert out.count("on the server") == len(out.splitlines())
        return
    lines = out.splitlines()
    bots = json.loads(out)["bots"] if form == "json" else [json.loads(line) for line in lines]
    assert {bot["name"] for bot in bots} >= {"random", "greedy", "careful", "solver"}
    assert {bot["remote"] for bot in bots} == {False}


@pytest.mark.parametrize(
    "answer", [b"", b"\xff", b"{}\n{}", b"\x1b[2J", "\u202e".encode()], ids=repr
)
async def test_what_is_no_line_of_text_is_not_written(answer: bytes) -> None:
    class Odd(Scripted):
        async def GetRecord(self, request: object, context: object) -> pb.GetRecordResponse:
            return pb.GetRecordResponse(record=answer)

    async with serving(Odd([])) as address:
        code, out, err = await process("replay", "export", "m1", "--server", address)
    assert (code, out) == (4, "")
    assert "is no record" in err


@pytest.mark.parametrize("args", [["replay", "export", "m1"], ["bots", "list"]])
def test_a_server_that_is_not_there_is_3(args: list[str], run: Run) -> None:
    result = run(*args, "--server", "127.0.0.1:9")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "127.0.0.1:9 cannot be reached" in result.stderr


def test_settings_for_all_commands_hold_for_an_export_too(tmp_path: Path, run: Run) -> None:
    file = tmp_path / "ronda.toml"
    file.write_text('server = "127.0.0.1:9"\n[replay]\ngame = 3\n')
    result = run("replay", "export", "m1", RONDA_CONFIG=str(file))
    assert (result.exit_code, "127.0.0.1:9 cannot be reached" in result.stderr) == (3, True)
    assert run("replay", "export", "m1").exit_code == 2
    assert "MATCH" in run("replay", "export", "--help").stdout
    told = run("replay", str(RECORDS), RONDA_CONFIG=str(file)).stdout
    assert told.startswith("Game 3 of 60")
    listed = run("bots", "list", "-o", "json", RONDA_CONFIG=str(file))
    assert json.loads(listed.stdout)["broken"] == []  # those that are installed here
