"""The command line as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys

from tests.cli.conftest import environment


async def process(
    *args: str, typed: bytes | None = b"", interrupt_at: bytes = b""
) -> tuple[int, str, str]:
    """Run a command line beside a scripted server; press Ctrl-C when a text has been told."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "ronda_cli",
        *args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment(),
    )
    try:
        if interrupt_at:
            assert child.stdout
            told = b""
            while interrupt_at not in told:
                told += await asyncio.wait_for(child.stdout.readline(), 20)
            os.kill(child.pid, signal.SIGINT)
        out, err = await asyncio.wait_for(child.communicate(typed), 30)
    finally:
        await gone(child)
    assert child.returncode is not None
    return child.returncode, out.decode(), err.decode()


async def gone(child: asyncio.subprocess.Process) -> None:
    """Leave no process behind, whatever became of a test."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):  # it has gone
            child.kill()
        await child.wait()
