"""`ronda demo`: a server, a live match, a small tournament and a proof, in a minute."""

from __future__ import annotations

import asyncio
import json
import secrets
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from ronda_cli import options, output, tables
from ronda_cli.look import Look, look
from ronda_cli.output import ExitCode, Failure

if TYPE_CHECKING:
    from ronda_arena.report.summary import Summary
    from ronda_cli.client import Client

_RULES: Final = "cafe"
_TARGET: Final = 21
_SEATS: Final = ("careful", "greedy")
_DELAY: Final = 0.2
"""Seconds a card, so that a person can follow."""
_BLOCKS: Final = 12
_ENTRANTS: Final = ("careful", "greedy", "random")


@click.command()
@options.plain
def demo(plain: bool) -> None:
    """See it all in a minute.

    Starts the service on free ports with a database of its own, shows a live match that is watched
    over gRPC while the bundled bots play a round robin, proves the record of the match, prints the
    standings, and leaves nothing behind.
    """
    shown = look(plain)
    with tempfile.TemporaryDirectory(prefix="ronda-demo-") as folder, _server(folder) as address:
        _note(f"A service is up on {address}. {_SEATS[0]} plays {_SEATS[1]}, live:", shown)
        tournament = _Tournament(Path(folder, "tournament"))
        tournament.start()
        record = asyncio.run(_live(address, shown))
        _prove(record, shown)
        tournament.join()
    _tell(tournament.summary(), shown)
    _note("Next: `ronda play` sits you down against bots; `ronda --help` lists the rest.", shown)


def _fold(words: str, shown: Look) -> str:
    """Return prose that a narrow terminal breaks between words, and a pipe not at all."""
    if not shown.screen:
        return words
    return textwrap.fill(words, shown.width, break_on_hyphens=False)  # such as those of options


def _note(words: str, shown: Look) -> None:
    output.note(_fold(words, shown))


@contextmanager
def _server(folder: str) -> Iterator[str]:
    """Run `ronda serve` and yield its address; it is stopped as an operator would."""
    command = [sys.executable, "-m", "ronda_cli", "serve", "--bot-delay", str(_DELAY)]
    for name in ("listen", "health-listen", "metrics-listen"):
        command += [f"--{name}", "127.0.0.1:0"]
    command += ["--database", str(Path(folder) / "ronda.db"), "--log-level", "error"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 -- our own
    try:
        assert process.stdout
        ready = process.stdout.readline()
        if not ready:
            raise Failure("the service did not start: `ronda doctor` may know why", ExitCode.NO)
        yield json.loads(ready)["listen"]
    finally:
        process.terminate()
        process.wait()


async def _live(address: str, shown: Look) -> str:
    """Show a match of two bots to its end and return its record."""
    from ronda_cli.channel import target  # noqa: PLC0415 -- heavy, and not for `--help`
    from ronda_cli.client import Client, new_request_id  # noqa: PLC0415 -- heavy
    from ronda_cli.follow import Place  # noqa: PLC0415 -- heavy

    client = Client(target(address))
    try:
        match_id = await client.create_between(_RULES, _TARGET, _SEATS, new_request_id())
        await _watch(client, Place(match_id), shown)
        return (await client.record(match_id)).decode()
    finally:
        await client.close()


async def _watch(client: Client, place: object, shown: Look) -> None:
    from ronda_cli.follow import Place  # noqa: PLC0415 -- heavy
    from ronda_cli.remote import Sitting  # noqa: PLC0415 -- heavy
    from ronda_cli.stage import Paper, Screen, Stage, finale  # noqa: PLC0415 -- heavy

    assert isinstance(place, Place)
    with ExitStack() as stack:
        stage: Stage = stack.enter_context(Screen().open()) if shown.screen else Paper()
        sitting = Sitting(client, place, stage)
        await sitting.watch(await client.find(place.match_id))
    if shown.screen and sitting.picture:
        finale(sitting.picture, shown)


def _prove(record: str, shown: Look) -> None:
    """Verify the record of the live match: its rules, and the deals the server committed to."""
    from ronda_core.record import read  # noqa: PLC0415 -- heavy
    from ronda_core.verify import verify  # noqa: PLC0415 -- heavy

    verdict = verify(read(record))
    if not verdict.proven:
        raise Failure(f"the record is not proven: {verdict.where}: {verdict.problem}", ExitCode.NO)
    proven = "Its record is proven: every deal, play and point, from the commitment on."
    output.line(_fold(proven, shown))
    output.line()


class _Tournament(threading.Thread):
    """A round robin of the bundled bots on duplicate deals, played meanwhile."""

    def __init__(self, folder: Path) -> None:
        super().__init__(name="round robin", daemon=True)
        self._folder = folder
        self._summary: Summary | None = None
        self._problem: BaseException | None = None

    def run(self) -> None:
        """Play it."""
        from ronda_arena.tournament import deliver, spec, store  # noqa: PLC0415 -- heavy
        from ronda_arena.tournament.executors.here import Here  # noqa: PLC0415 -- heavy
        from ronda_arena.tournament.run import Run  # noqa: PLC0415 -- heavy
        from ronda_arena.tournament.tasks import Contract  # noqa: PLC0415 -- heavy
        from ronda_bots.registry import assemble  # noqa: PLC0415 -- heavy
        from ronda_cli.local import find_bots  # noqa: PLC0415 -- heavy

        try:
            registry = assemble(find_bots(_ENTRANTS), [])
            asked = spec.Spec(
                bots=_ENTRANTS, name="demo", rules=_RULES, target=_TARGET, blocks=_BLOCKS
            )
            plan = spec.plan(
                asked, lambda name: registry.find(name).identity, lambda: secrets.token_hex(3)
            )
            with store.claim(self._folder) as folder:
                kept = folder.begin(Contract(plan, secrets.token_bytes(32)))
                played = Run(kept)
                with Here(kept.contract, registry) as here:
                    played.play(here)
                self._summary = deliver.summary(kept, played)
        except BaseException as problem:  # noqa: BLE001 -- raised where it is waited for
            self._problem = problem

    def summary(self) -> Summary:
        """Return what it came to, or raise what went wrong."""
        if self._problem:
            raise self._problem
        assert self._summary is not None
        return self._summary


def _tell(summary: Summary, shown: Look) -> None:
    from ronda_arena.report import tables as rows  # noqa: PLC0415 -- heavy

    about = (
        f"Round robin, {_RULES} to {_TARGET}: {summary.games} games on {summary.blocks} deals, each"
        " played from both seats."
    )
    output.line(_fold(about, shown))
    output.line()
    table = rows.ratings(summary)
    for line in tables.lines(table, shown.width, left=("entrant",), plain=shown.plain):
        output.line(line)
    output.line()
