"""Kills of the server: they lose time only, and no driver outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.ladders.callers import Log, Seen, ladder_file

from ronda.v1 import ladder_service_pb2 as pb
from ronda.v1.ladder_service_pb2_grpc import LadderServiceStub

pytestmark = pytest.mark.thorough


@contextmanager
def serving(folder: Path, file: Path) -> Iterator[tuple[subprocess.Popen[bytes], Any, str]]:
    """Yield a server as a process of its own, a stub and its address; it is killed in the end."""
    free = [
        word
        for name in ("listen", "metrics-listen", "health-listen")
        for word in (f"--{name}", "127.0.0.1:0")
    ]
    words = [*free, "--database", str(folder / "ronda.db"), "--ladder", str(file)]
    with subprocess.Popen(
        [sys.executable, "-m", "ronda_cli", "serve", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        try:
            assert process.stdout
            address = json.loads(process.stdout.readline())["listen"]
            with grpc.insecure_channel(address) as channel:
                yield process, LadderServiceStub(channel), address
        finally:
            process.kill()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_that_is_killed_goes_on_and_what_was_told_stands(
    tmp_path: Path, workers: int
) -> None:
    file = ladder_file(tmp_path, workers=workers)
    seen = Seen()
    for _ in range(2):
        with serving(tmp_path, file) as (process, stub, _):
            request = pb.WatchLadderRequest(after_sequence=seen.ladder.sequence)
            more = seen.games + 20
            for message in stub.WatchLadder(request, timeout=60):
                # A server that has just begun has nothing to tell until it has read the log.
                kind = message.WhichOneof("update")
                told = getattr(message, kind) if kind in ("standings", "changes") else None
                if told and told.ladder.sequence >= seen.ladder.sequence:
                    seen.take(message)
                if seen.games >= more:
                    break
            process.send_signal(signal.SIGKILL)
            process.wait()
        known = Log(tmp_path / "quick", seen.ladder.sequence)
        games = {bot: one.games for bot, one in seen.ratings.items()}
        assert games == {row.bot: row.games for row in known.rows}
        assert seen.ladder.games == known.ladder.games
