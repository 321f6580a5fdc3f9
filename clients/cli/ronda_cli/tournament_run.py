"""`ronda tournament run`: play a tournament, or go on with it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ronda_cli import options, wishes
from ronda_cli import output as out
from ronda_cli.output import ExitCode, Failure, Interrupted

if TYPE_CHECKING:
    from ronda_arena.tournament.executors import Executor
    from ronda_arena.tournament.run import Standing
    from ronda_arena.tournament.spec import Plan, Spec
    from ronda_arena.tournament.store import Folder, Store
    from ronda_arena.tournament.tasks import Contract
    from ronda_bots.registry import Registry

_FORMATS: Final = ("round-robin", "gauntlet", "swiss", "knockout", "list")
_EXECUTORS: Final = ("in-process", "local", "dask")


@click.command()
@click.argument("spec", required=False, type=click.Path(dir_okay=False, exists=True))
@click.option(
    "--out",
    "folder",
    type=click.Path(file_okay=False),
    required=True,
    help="Where it is kept; a folder in which one was begun goes on.",
)
@click.option(
    "--bots", metavar="BOT,BOT,...", help="Who takes part; at four players also teams: a+b."
)
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), help="Who meets whom  [default: round-robin]"
)
@click.option("--rules", metavar="PRESET", help="See `ronda rules`  [default: playtash]")
@click.option("--players", type=click.IntRange(2, 4), help="How many seats  [default: 2]")
@wishes.target
@wishes.hands
@click.option(
    "--blocks",
    type=click.IntRange(1),
    help="Deals for each pairing, each played in every rotation of the seats  [default: 20]",
)
@click.option("--rounds", type=click.IntRange(1), help="Of swiss.")
@click.option(
    "--challengers",
    type=click.IntRange(1),
    help="Of a gauntlet: the first so many meet all others  [default: 1]",
)
@click.option("--name", help="Part of the ids of its games  [default: tournament]")
@click.option("--seed", type=int, help="Make it repeatable; then nothing of it is rated.")
@click.option("--clock", metavar="SECONDS[+BANK]", help="Time for a decision, and a bank a match.")
@click.option(
    "--isolation",
    type=click.Choice(["auto", "trusted", "process", "sandbox"]),
    help="How bots are run  [default: auto]",
)
@click.option(
    "--rated/--unrated",
    default=None,
    help="Sandbox everybody, and say in the records that it counts.",
)
@click.option(
    "--luck/--no-luck",
    default=None,
    help="Play each deal with a reference bot too, to tell what was luck  [default: luck]",
)
@click.option(
    "--precision",
    type=click.FloatRange(0, min_open=True),
    metavar="POINTS",
    help="Stop when every rating is known to within so many points.",
)
@click.option(
    "--sequential",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    metavar="ALPHA",
    help="Of two: stop when one is shown to be stronger; ALPHA is the chance to say so of equals.",
)
@click.option(
    "--executor", type=click.Choice(_EXECUTORS), help="Where games are played  [default: local]"
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    help="Processes of the local executor  [default: one a core]",
)
@click.option("--scheduler", metavar="tcp://HOST:PORT", help="Of the executor dask.")
@click.option(
    "--stall",
    type=click.FloatRange(1),
    default=900.0,
    show_default=True,
    metavar="SECONDS",
    help="End, and say where it hangs, when no game has ended for so long.",
)
@options.output("table", "json", "jsonl", "csv")
@options.plain
def run(
    spec: str | None,
    folder: str,
    executor: str | None,
    workers: int | None,
    scheduler: str | None,
    stall: float,
    output: str,
    plain: bool,
    **asked: Any,
) -> None:
    """Play a tournament on duplicate deals; what it shows is told with how sure it is.

    SPEC is a TOML file with the same words as the flags, which come first. DIR then holds
    records.jsonl for `ronda verify`, report.json, report.html and the state.

    The same command on the same folder goes on after any interruption, and --out alone does too.
    With a seed the results are the same however often it was interrupted, and wherever it ran.
    """
    from ronda_arena.isolation import IsolationError  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament import store  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.deliver import deliver  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.executors import ExecutorError  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.run import Run  # noqa: PLC0415 -- not for `--help`
    from ronda_cli import tournament_told  # noqa: PLC0415 -- not for `--help`

    where = _where(executor, workers, scheduler)
    wanted = _wanted(spec, asked)
    again = out.command("ronda", "tournament", "run", "--out", folder, *where.words)
    try:
        with out.aside():
            registry = _registry()
        with store.claim(Path(folder)) as held:
            kept = _kept(held, wanted, registry)
            progress = _Progress()
            played = Run(kept, tell=progress.step, patience=stall)
            try:
                if not played.ledger.over:
                    with out.aside(), where.make(kept.contract, registry) as place:
                        played.play(place)
            except KeyboardInterrupt:
                progress.close()
                deliver(kept, played, held.path)
                out.note(tournament_told.how_far(played.standing))
                raise Interrupted(again) from None
            finally:
                progress.close()
            summary = deliver(kept, played, held.path)
            tournament_told.tell(summary, output, plain)
    except (store.StoreError, ExecutorError) as problem:
        raise Failure(f"{problem}; go on with: {again}", ExitCode.UNREACHABLE) from None
    except IsolationError as problem:
        raise Failure(str(problem), ExitCode.REFUSED) from None


class _Where:
    """Where the games are played, as the flags say it."""

    def __init__(self, kind: str, workers: int, scheduler: str, words: list[str]) -> None:
        self._kind = kind
        self._workers = workers
        self._scheduler = scheduler
        self.words = words
        """The same as flags, for the command that goes on."""

    def make(self, contract: Contract, registry: Registry) -> Executor:
        """Return the executor."""
        if self._kind == "in-process":
            from ronda_arena.tournament.executors.here import Here  # noqa: PLC0415 -- where asked

            return Here(contract, registry)
        if self._kind == "dask":
            try:
                from ronda_arena.tournament.executors.dask import Dask  # noqa: PLC0415 -- an extra
            except ImportError as missing:
                raise Failure(str(missing), ExitCode.USAGE) from None
            return Dask(self._scheduler, contract, registry, note=out.note)
        from ronda_arena.tournament.executors.processes import Processes  # noqa: PLC0415 -- where asked

        return Processes(contract, registry, self._workers)


def _where(executor: str | None, workers: int | None, scheduler: str | None) -> _Where:
    words = [
        f"--{name}={value}"
        for name, value in (("executor", executor), ("workers", workers), ("scheduler", scheduler))
        if value is not None
    ]
    if executor is None and scheduler:
        executor = "dask"
    if (executor == "dask") != bool(scheduler):
        raise click.UsageError("--executor dask and --scheduler belong together")
    if workers is not None and executor in ("dask", "in-process"):
        raise click.UsageError("--workers belong to the executor local")
    count = workers or len(os.sched_getaffinity(0))
    if executor is None:
        executor = "local" if count > 1 else "in-process"
    return _Where(executor, count, scheduler or "", words)


def _registry() -> Registry:
    from ronda_arena.discovery import discover  # noqa: PLC0415 -- not for `--help`

    return discover()


def _wanted(file: str | None, asked: dict[str, Any]) -> Spec | None:
    """Return what the flags and the file ask for; None if neither names a bot."""
    from ronda_arena.tournament import spec  # noqa: PLC0415 -- not for `--help`

    data: dict[str, Any] = {}
    try:
        if file:
            data = spec.data(Path(file).read_text(encoding="utf-8"))
        data |= _flags(asked, data.get("stop", {}))
        if not data:
            return None
        if "bots" not in data and not file:
            raise click.UsageError("name who takes part: --bots random,greedy,careful")
        return spec.of(data)
    except UnicodeDecodeError:
        raise Failure(f"{file} is no TOML", ExitCode.USAGE) from None
    except spec.SpecError as problem:
        raise Failure(f"{file or 'the flags'}: {problem}", ExitCode.USAGE) from None


def _flags(asked: dict[str, Any], stop: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in asked.items() if value is not None}
    if form := given.pop("form", None):
        given["format"] = form
    if bots := given.pop("bots", None):
        given["bots"] = [name.strip() for name in bots.split(",") if name.strip()]
    rule = {name: given.pop(name) for name in ("precision", "sequential") if name in given}
    if rule:
        given["stop"] = {**stop, **rule}
    return given


def _kept(folder: Folder, wanted: Spec | None, registry: Registry) -> Store:
    """Return the tournament of the folder, begun now or before; refuse another one in its place."""
    from ronda_arena.tournament.tasks import Contract  # noqa: PLC0415 -- not for `--help`
    from ronda_core.fair import commitment, seeded_master  # noqa: PLC0415 -- not for `--help`

    found = folder.find()
    if wanted is None:
        if found is None:
            raise click.UsageError(
                f"there is no tournament in {folder.path}: say who takes part, with --bots"
            )
        return found
    if found is None:
        plan = _plan(wanted, registry, secrets.token_hex(3))
        master = secrets.token_bytes(32) if wanted.seed is None else seeded_master(wanted.seed)
        if wanted.seed is None:
            promise = commitment(master, plan.id)
            out.note(f"{plan.id} is dealt from a secret with the commitment {promise}")
        return folder.begin(Contract(plan, master))
    plan = _plan(wanted, registry, found.plan.id.rpartition("-")[2])
    changed = [
        f"{name} was {getattr(found.plan, name)} and is now {getattr(plan, name)}"
        for name in plan.__struct_fields__
        if name not in ("entrants", "id") and getattr(plan, name) != getattr(found.plan, name)
    ]
    if plan.entrants != found.plan.entrants:
        then, now = (", ".join(one.name for one in which.entrants) for which in (found.plan, plan))
        changed.append(f"the bots were {then} and are now {now}")
    if wanted.seed is not None and seeded_master(wanted.seed) != found.contract.master:
        changed.append("the seed was another one")
    if changed:
        raise Failure(
            f"another tournament was begun in {folder.path}: {'; '.join(changed)}."
            " Take another folder, or go on with --out alone",
            ExitCode.USAGE,
        )
    return found


def _plan(wanted: Spec, registry: Registry, token: str) -> Plan:
    from ronda_arena.tournament import spec  # noqa: PLC0415 -- not for `--help`
    from ronda_cli.local import find_bots  # noqa: PLC0415 -- not for `--help`

    try:
        return spec.plan(
            wanted, lambda name: find_bots([name], registry)[0].identity, lambda: token
        )
    except spec.SpecError as problem:
        raise Failure(str(problem), ExitCode.USAGE) from None


class _Progress:
    """How far it is, how fast, and how long it will take."""

    def __init__(self) -> None:
        self._shown = out.Progress("blocks", paced=True)

    def step(self, standing: Standing) -> None:
        """Tell it, if it is time to."""
        lost = f", {standing.lost} lost and played again" if standing.lost else ""
        self._shown.step(standing.blocks, standing.planned, f" ({standing.games} games{lost})")

    def close(self) -> None:
        """Take the line away."""
        self._shown.close()
