"""`ronda doctor`: what this machine lacks, and what to do about it."""

from __future__ import annotations

import platform
import re
import shutil
import socket
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple

import click

from ronda_cli import config, options
from ronda_cli import output as out
from ronda_cli.look import NARROWEST, look
from ronda_cli.output import ExitCode, Failure
from ronda_cli.text import name, one_line, wrapped

_PYTHON: Final = (3, 11)
_NEEDED: Final = (
    ("alembic", "1.13"),
    ("click", "8.1.7"),
    ("googleapis-common-protos", "1.70"),
    ("grpcio", "1.85.1"),
    ("grpcio-health-checking", "1.85.1"),
    ("grpcio-reflection", "1.85.1"),
    ("jinja2", "3.1"),
    ("markupsafe", "2.1"),
    ("matplotlib", "3.9"),
    ("msgspec", "0.20"),
    ("networkx", "3.3"),
    ("numpy", "1.26"),
    ("openskill", "6.1"),
    ("packaging", "24.0"),
    ("prometheus-client", "0.21"),
    ("protobuf", "7.35.1"),
    ("rich", "13.7"),
    ("scipy", "1.13"),
    ("sqlalchemy", "2.0.36"),
    ("structlog", "24.4"),
)
_NEEDED_ON_LINUX: Final = (("landlockpy", "0.2"), ("pyseccomp", "0.1.2"))
"""Equal to pyproject's dependencies by test, both together."""
_REMEDIES: Final = {
    "libseccomp": "install it (Debian and Ubuntu: apt install libseccomp2)",
    "Landlock": "Linux 5.13 or newer has it, where it is among the kernel's security modules",
}
"""What to do where this machine isolates less, by a word of the problem."""
_PORTS: Final = {50051: "--listen", 50052: "--health-listen", 9464: "--metrics-listen"}


class Finding(NamedTuple):
    """One thing that was looked at."""

    level: str
    """ok, warn or fail."""
    what: str
    advice: str = ""


@click.command()
@options.own_database
@options.bots_dir
@options.output("table", "json", "jsonl")
def doctor(database: str, bots_dir: Path | None, output: str) -> int:
    """Find out what is missing on this machine, and what to do about it.

    Exit code: 1 if something fails, else 0; warnings do not count.
    """
    findings = []
    shown = look()
    for check in _checks(database, bots_dir):
        for finding in check():
            findings.append(finding)
            if output == "jsonl":
                out.line(out.as_json(finding._asdict()))
            elif output == "table":
                advice = f": {finding.advice}" if finding.advice else ""
                told = f"{finding.level:<4}  {one_line(finding.what + advice)}"
                for line in wrapped(told, shown.width, below=" " * 6) if shown.screen else [told]:
                    out.line(line)
    failed = any(finding.level == "fail" for finding in findings)
    if output == "json":
        data = {"healthy": not failed, "findings": [finding._asdict() for finding in findings]}
        out.line(out.as_json(data))
    return ExitCode.NO if failed else ExitCode.DONE


def _checks(database: str, bots_dir: Path | None) -> Iterator[Callable[[], Iterator[Finding]]]:
    yield _python
    yield _packages
    yield _grpc
    yield lambda: _database(database)
    yield _ports
    yield _terminal
    yield _configuration
    yield _isolation
    yield lambda: _bots(bots_dir)


def _python() -> Iterator[Finding]:
    version = f"python {platform.python_version()} ({sys.executable})"
    if sys.version_info >= _PYTHON:
        yield Finding("ok", version)
    else:
        yield Finding("fail", version, "ronda needs 3.11 or newer")


def _packages() -> Iterator[Finding]:
    """Look at the packages by their metadata: to import SciPy and matplotlib takes seconds."""
    fine = []
    needed = _NEEDED + (_NEEDED_ON_LINUX if sys.platform == "linux" else ())
    for package, floor in needed:
        try:
            version = metadata.version(package)
        except metadata.PackageNotFoundError:
            yield Finding("fail", f"{package} is not installed", "pip install ronda again")
            continue
        if _numbers(version) < _numbers(floor):
            advice = f"{floor} or newer is needed: pip install --upgrade {package}"
            yield Finding("fail", f"{package} {version}", advice)
        else:
            fine.append(f"{package} {version}")
    yield Finding("ok", ", ".join(fine))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _grpc() -> Iterator[Finding]:
    try:
        import grpc  # noqa: PLC0415 -- whether it can be imported is the question

        from ronda.v1 import match_service_pb2_grpc  # noqa: F401, PLC0415 -- the question, too
    except Exception as error:  # noqa: BLE001 -- told, whatever it is
        advice = f"{type(error).__name__}: {error}: reinstall grpcio and protobuf"
        yield Finding("fail", "grpc or the ronda.v1 stubs cannot be imported", advice)
    else:
        yield Finding("ok", f"grpc {grpc.__version__} and the ronda.v1 stubs can be imported")


def _database(database: str) -> Iterator[Finding]:
    from ronda_server.database import sqlite_path  # noqa: PLC0415 -- a heavy import

    try:
        path = sqlite_path(database)
    except ValueError as error:
        yield Finding("warn", f"database {database}", f"not looked at: {error}")
        return
    place = path.absolute().parent
    try:
        if path.exists():
            with path.open("r+b"):
                pass  # it can be written
        with tempfile.NamedTemporaryFile(dir=place):
            pass  # one can be made
    except OSError as error:
        advice = f"{error.strerror}: name another place with --database"
        yield Finding("fail", f"no database can be kept in {place}", advice)
        return
    if path.exists() and (problem := _not_ours(path)):
        yield Finding("fail", f"{path} cannot be used: {problem}", "name another with --database")
        return
    free = shutil.disk_usage(place).free >> 20
    level, advice = ("ok", "") if free > 200 else ("warn", "make room before serving")
    yield Finding(level, f"a database can be kept in {place} ({free} MiB free)", advice)


def _not_ours(path: Path) -> str:
    """Say why `ronda serve` would refuse a file that is there; nothing in it is changed."""
    from importlib.resources import as_file, files  # noqa: PLC0415 -- only where there is a file

    from alembic.script import ScriptDirectory  # noqa: PLC0415 -- a heavy import

    with as_file(files("ronda_server") / "migrations") as scripts:
        known = {script.revision for script in ScriptDirectory(scripts).walk_revisions()}
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as opened:
            tables = {name for (name,) in opened.execute("SELECT name FROM sqlite_master")}
            if "alembic_version" not in tables:
                return "it holds something else" if tables else ""
            found = {one for (one,) in opened.execute("SELECT version_num FROM alembic_version")}
    except sqlite3.Error as error:
        return str(error)
    unknown = ", ".join(sorted(map(str, found - known)))
    return f"its schema is not of this version of ronda: {unknown}" if unknown else ""


def _ports() -> Iterator[Finding]:
    try:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
    except OSError as error:
        yield Finding("fail", f"no port can be opened on 127.0.0.1: {error.strerror}")
        return
    taken = [port for port in _PORTS if not _is_free(port)]
    for port in taken:
        advice = f"is it ronda? else serve with {_PORTS[port]} 127.0.0.1:0"
        yield Finding("warn", f"port {port} is in use", advice)
    if not taken:
        yield Finding("ok", "the ports of ronda serve are free on 127.0.0.1")


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _terminal() -> Iterator[Finding]:
    shown = look()
    where = f"{shown.width}x{shown.height}" if shown.screen else "not a terminal that is drawn on"
    colour = "colours" if shown.colour else "no colours"
    letters = "UTF-8" if shown.unicode else "ASCII only"
    columns = shutil.get_terminal_size().columns
    yield Finding("ok", f"terminal: {where}, {letters}, {colour}")
    if columns < NARROWEST:
        yield Finding("warn", f"terminal: {columns} columns", f"make it {NARROWEST} wide or more")
    if not shown.unicode:
        yield Finding("warn", "terminal: cards are drawn in ASCII", "set PYTHONIOENCODING=utf-8")


def _configuration() -> Iterator[Finding]:
    from ronda_cli.main import COMMANDS  # noqa: PLC0415 -- which imports this module's caller

    try:
        settings = config.load(COMMANDS)
    except Failure as failure:
        yield Finding("fail", "the configuration file", str(failure))
    else:
        told = f"read {config.path()}" if settings else f"none at {config.path()}, none is needed"
        yield Finding("ok", f"configuration: {told}")


def _isolation() -> Iterator[Finding]:
    from ronda_arena.isolation import IsolationError  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.seating import probe  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.worker.nursery import Nursery  # noqa: PLC0415 -- not for `--help`

    try:
        with Nursery() as nursery:
            report = probe(nursery)
    except IsolationError as problem:
        yield Finding("fail", f"isolation: {problem}", "bots of others cannot be run here")
        return
    landlock = f"Landlock {report.landlock_abi}" if report.landlock_abi else "no Landlock"
    held = sum(check.held for check in report.checks)
    canaries = f", {held} of {len(report.checks)} canaries held" if report.checks else ""
    told = f"isolation: {report.level.value} ({landlock}{canaries})"
    if not report.problem:
        yield Finding("ok", told)
    else:
        advice = next((told for sign, told in _REMEDIES.items() if sign in report.problem), "")
        yield Finding("warn", told, report.problem + (f": {advice}" if advice else ""))
    for check in report.checks:
        if check.held:
            yield Finding("ok", f"isolation: cannot {check.name}", check.detail)
        else:
            yield Finding("warn", f"isolation: a sandboxed bot could {check.name}")


def _bots(bots_dir: Path | None) -> Iterator[Finding]:
    from ronda_arena.discovery import discover  # noqa: PLC0415 -- not for `--help`

    with out.aside():
        found = discover(home=bots_dir)
    for broken in found.broken:
        who = f"bot {name(broken.name)} of {name(broken.distribution)} cannot play"
        yield Finding("warn", who, broken.problem)
    for resting in found.resting:
        yield Finding("ok", f"bot {name(resting.bot.identity)} {resting.reason}")
    if found.bots:
        yield Finding("ok", "bots: " + ", ".join(bot.identity for bot in found.bots))
    else:
        yield Finding(
            "fail", "no bot is installed", "install ronda as a package: pip install ronda"
        )
