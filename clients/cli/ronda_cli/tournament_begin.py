"""The tournament of a folder: the one that was begun there, or a new one."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from ronda_cli import output as out
from ronda_cli.isolating import warn_together
from ronda_cli.output import ExitCode, Failure

_FLAGS: Final = {"length": "hands", "stop": "the stop rule"}
"""What fields of a plan are called that no flag is named like."""

if TYPE_CHECKING:
    from ronda_arena.tournament.spec import Plan, Spec
    from ronda_arena.tournament.store import Folder, Store
    from ronda_bots.registry import Registry


class Asked(NamedTuple):
    """A tournament that can be played here, or goes on in its folder."""

    spec: Spec | None
    """None: the one that was begun there."""
    registry: Registry | None
    """The bots of the spec."""
    blocks: int | None = None
    """Where it goes on: how many blocks a pairing is to have now; None: as many as it had."""


def checked(
    folder: Path, wanted: Spec | None, home: Path | None = None, file: str | None = None
) -> Asked:
    """Return what is asked for, or refuse it before anything is made or opened.

    `home` is where bots are kept beside the environment, `file` where it was written.
    """
    from ronda_arena.tournament.files import STATE, strangers  # noqa: PLC0415 -- not for `--help`

    if found := strangers(folder):
        raise Failure(
            f"{', '.join(found)} in {folder} would be replaced, and no tournament was begun there:"
            " take another folder",
            ExitCode.USAGE,
        )
    if wanted is None:
        if not (folder / STATE).exists():
            raise _nothing_there(folder)
        return Asked(None, None)
    with _as_written(file):
        registry = _registry(_names(wanted), home)
        _plan(wanted, registry, "")
    return Asked(wanted, registry)


@contextmanager
def _as_written(file: str | None) -> Iterator[None]:
    """Name the file whose words are refused."""
    try:
        yield
    except Failure as problem:
        if file is None:
            raise
        raise Failure(f"{file}: {problem}", problem.code) from None


def tournament_of(folder: Folder, asked: Asked, home: Path | None = None) -> tuple[Store, Registry]:
    """Return the tournament of the folder, begun now or before, and the bots that it needs.

    Another one in its place is refused; without a wish it must be there.
    """
    found = folder.find()
    wanted, registry, blocks = asked
    if wanted is None or registry is None:
        if found is None:
            raise _nothing_there(folder.path)
        registry = _registry(found.plan.roster, home)
        store = _with_blocks(folder, found, blocks or found.plan.blocks)
    elif found is None:
        store = _begin(folder, wanted, registry)
    else:
        _refuse_another(folder, found, wanted, registry)
        store = _with_blocks(folder, found, wanted.blocks)
    _tell_weakness(store.plan, registry)
    return store, registry


def _nothing_there(folder: Path) -> click.UsageError:
    return click.UsageError(f"there is no tournament in {folder}: say who takes part, with --bots")


def _registry(names: Sequence[str], home: Path | None) -> Registry:
    from ronda_arena.discovery import discover  # noqa: PLC0415 -- not for `--help`

    with out.aside():
        return discover(names=names, home=home)


def _names(wanted: Spec) -> list[str]:
    from ronda_arena.tournament import spec  # noqa: PLC0415 -- not for `--help`

    try:
        return [bot for text in wanted.bots for bot in spec.bots_of(text, wanted.players)]
    except spec.SpecError as problem:
        raise Failure(str(problem), ExitCode.USAGE) from None


def _begin(folder: Folder, wanted: Spec, registry: Registry) -> Store:
    from ronda_arena.tournament.codes import noted  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.tasks import Contract  # noqa: PLC0415 -- not for `--help`
    from ronda_core.fair import commitment, seeded_master  # noqa: PLC0415 -- not for `--help`

    plan = noted(_plan(wanted, registry, secrets.token_hex(3)), registry)
    if wanted.seed is not None:
        return folder.begin(Contract(plan, seeded_master(wanted.seed)), wanted.seed)
    master = secrets.token_bytes(32)
    out.note(f"{plan.id} is dealt from a secret with the commitment {commitment(master, plan.id)}")
    out.note(f"its plan has the digest {plan.digest}")
    return folder.begin(Contract(plan, master))


def _refuse_another(folder: Folder, found: Store, wanted: Spec, registry: Registry) -> None:
    """Refuse to go on with a tournament that is not the one that is asked for."""
    from ronda_core.fair import seeded_master  # noqa: PLC0415 -- not for `--help`

    plan = _plan(wanted, registry, found.plan.id.rpartition("-")[2])
    changed = [
        _changed(name, getattr(found.plan, name), getattr(plan, name))
        for name in plan.__struct_fields__
        if name not in ("entrants", "id", "code")
        and getattr(plan, name) != getattr(found.plan, name)
    ]
    if plan.entrants != found.plan.entrants:
        then, now = (", ".join(one.name for one in which.entrants) for which in (found.plan, plan))
        changed.append(f"the bots were {then} and are now {now}")
    if wanted.name is not None and plan.id != found.plan.id:
        changed.append(f"the name was {found.plan.id} and is now {wanted.name}")
    if wanted.seed is not None and seeded_master(wanted.seed) != found.contract.master:
        changed.append("the seed was another one")
    if plan.blocks > found.plan.blocks and len(changed) == 1:
        return  # nothing but that: it may go on to more
    if changed:
        raise Failure(
            f"another tournament was begun in {folder.path}: {'; '.join(changed)}."
            " Take another folder, or go on with --out alone",
            ExitCode.USAGE,
        )


def _with_blocks(folder: Folder, found: Store, blocks: int) -> Store:
    """Return the tournament of the folder with so many blocks a pairing, or refuse that."""
    from ronda_arena.tournament.longer import longer  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.run import Run  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.spec import SpecError  # noqa: PLC0415 -- not for `--help`

    before = found.plan.blocks
    if blocks == before:
        return found
    ledger = Run(found).ledger
    try:
        plan = longer(found.plan, blocks, stopped=ledger.stopped, over=ledger.over)
    except SpecError as problem:
        raise Failure(f"{folder.path}: {problem}", ExitCode.USAGE) from None
    out.note(f"{plan.id} goes on from {before} to {blocks} blocks a pairing")
    if not plan.seeded:
        out.note(f"its plan now has the digest {plan.digest}")
    return folder.replace_plan(found, plan)


def _changed(name: str, then: object, now: object) -> str:
    """Say what was decided otherwise, in the words of the flags."""
    if name == "pairings":
        return "the pairings were others"
    if name == "owners":
        return "the owners were others"
    if name == "seeded":
        return f"there was {'a' if then else 'no'} seed and now there is {'one' if now else 'none'}"
    return f"{_FLAGS.get(name, name)} was {_said(then)} and is now {_said(now)}"


def _said(value: object) -> str:
    from ronda_arena.tournament.spec import Stop  # noqa: PLC0415 -- not for `--help`

    if isinstance(value, Stop):
        if value.precision is not None:
            return f"precision {value.precision:g}"
        if value.sprt is not None:
            asked = value.sprt
            return f"sprt {asked.elo0:g},{asked.elo1:g},{asked.alpha:g},{asked.beta:g}"
        return "none" if value.sequential is None else f"sequential {value.sequential:g}"
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None or value == 0 else str(value)


def _plan(wanted: Spec, registry: Registry, token: str) -> Plan:
    from ronda_arena.tournament import spec  # noqa: PLC0415 -- not for `--help`
    from ronda_cli.local import find_bots  # noqa: PLC0415 -- not for `--help`

    try:
        return spec.plan(
            wanted, lambda name: find_bots([name], registry)[0].identity, lambda: token
        )
    except spec.SpecError as problem:
        raise Failure(str(problem), ExitCode.USAGE) from None


def _tell_weakness(plan: Plan, registry: Registry) -> None:
    """Say it where this machine runs the bots of strangers more weakly than it should."""
    from ronda_arena.isolation import Level  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.seating import probe  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.worker.nursery import Nursery  # noqa: PLC0415 -- not for `--help`
    from ronda_bots.installed import OURS  # noqa: PLC0415 -- not for `--help`

    if plan.isolation == "trusted":
        warn_together(plan.names)
    here = all(registry.find(name).distribution == OURS for name in plan.roster)
    if plan.isolation in ("trusted", "process") or (here and not plan.rated and not plan.clock):
        return
    with Nursery() as nursery:
        report = probe(nursery)
    if report.level.weaker(Level.SANDBOX):
        out.note(f"bots run as {report.level.value}, which is less than sandbox: {report.problem}")
