"""What a bot's wheel requires: of the wheels that came with it, and of nothing else.

A bot may use Python's library, ronda, and what came with it. Packages of the environment that
ronda itself runs in are not its to use, but for those that an extra of ronda brings: they may go
with the next upgrade of the server, and the bot would change with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from ronda_arena.home.archive import MOST_BYTES, MOST_FILES, WheelError
from ronda_arena.home.wheel import Wheel
from ronda_bots.installed import OURS


def sort_out(wheels: Sequence[Wheel]) -> tuple[Wheel, tuple[Wheel, ...], tuple[str, ...]]:
    """Return the bot's wheel, those that it requires, and the extras of ronda that it wants.

    `WheelError` where they are not one bot's wheels, one is missing, or one is too many.
    """
    with_bots = [wheel for wheel in wheels if wheel.bots]
    if not with_bots:
        raise WheelError("no bot is in it: a wheel names its bots in the entry points ronda.bots")
    if len(with_bots) > 1:
        names = " and ".join(sorted(wheel.file for wheel in with_bots))
        raise WheelError(f"{names} have bots: install one after the other")
    (bot,) = with_bots
    by_name = {wheel.name: wheel for wheel in wheels}
    if len(by_name) < len(wheels):
        raise WheelError("a package was given twice")
    if sum(wheel.archive.size for wheel in wheels) > MOST_BYTES:
        raise WheelError(f"{bot.file} and what it requires hold more than {MOST_BYTES >> 20} MiB")
    if sum(len(wheel.archive.files) for wheel in wheels) > MOST_FILES:
        raise WheelError(f"{bot.file} and what it requires hold more than {MOST_FILES} files")
    missing: dict[str, None] = {}
    used: set[str] = set()
    ours: set[str] = set()
    for wanted, by in _needed(bot, by_name):
        name = canonicalize_name(wanted.name)
        if name == OURS:
            _check_ours(wanted, by)
            ours |= wanted.extras
        elif name not in by_name:
            missing[str(wanted).partition(";")[0].strip()] = None
        elif not wanted.specifier.contains(by_name[name].version, prereleases=True):
            raise WheelError(
                f"{by.file} requires {name}{wanted.specifier},"
                f" and {by_name[name].file} is another version"
            )
        else:
            used.add(name)
    if missing:
        raise WheelError(
            f"{bot.file} requires {', '.join(missing)}: give the wheels of these too, after it"
        )
    if spare := sorted(set(by_name) - used - {bot.name}):
        raise WheelError(f"{bot.file} does not require {', '.join(spare)}: leave it out")
    rest = tuple(by_name[name] for name in sorted(used))
    return bot, rest, tuple(sorted(canonicalize_name(extra) for extra in ours))


def _needed(bot: Wheel, by_name: dict[str, Wheel]) -> Iterator[tuple[Requirement, Wheel]]:
    """Yield what is required here, with the wheel that requires it, and so on."""
    waiting: list[tuple[Wheel, frozenset[str]]] = [(bot, frozenset())]
    seen = {(bot.name, frozenset[str]())}
    while waiting:
        wheel, extras = waiting.pop()
        for wanted in wheel.requires:
            if not _applies(wanted, ("", *extras)):
                continue
            yield wanted, wheel
            found = by_name.get(canonicalize_name(wanted.name))
            asked = frozenset(wanted.extras)
            if found and (found.name, asked) not in seen:
                seen.add((found.name, asked))
                waiting.append((found, asked))


def _applies(wanted: Requirement, extras: Iterable[str]) -> bool:
    """Say whether something is required here, by whoever has these extras."""
    try:
        marker = wanted.marker
        return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)
    except Exception:  # noqa: BLE001 -- a stranger's condition: whatever is wrong with it is named
        raise WheelError(f"what it requires cannot be understood: {wanted}"[:200]) from None


def _check_ours(wanted: Requirement, by: Wheel) -> None:
    try:
        here = version(OURS)
    except PackageNotFoundError:
        return  # run from its sources: nothing says which version it is
    if not wanted.specifier.contains(here, prereleases=True):
        raise WheelError(f"{by.file} requires ronda{wanted.specifier}, and this is ronda {here}")
