"""The one configuration file: defaults that the environment and the flags override."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import click

from ronda_cli.output import Failure

SHARED: Final = ("server", "token_file", "database", "bots_dir", "output", "plain")
"""Settings that may stand outside a command's table; they go to every command that knows them."""


def path() -> Path:
    """Return where the file is looked for."""
    if named := os.environ.get("RONDA_CONFIG"):
        return Path(named)
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else home() / ".config") / "ronda" / "config.toml"


def home() -> Path:
    """Return the home of whoever runs this; in a container there may be none."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def load(commands: Collection[str]) -> dict[str, Any]:
    """Return the settings of the file, or none if it is not there."""
    where = path()
    if not where.is_file():
        if os.environ.get("RONDA_CONFIG"):
            raise Failure(f"RONDA_CONFIG names {where}, which is not a file")
        return {}
    import tomllib  # noqa: PLC0415 -- only where there is a file

    try:
        settings = tomllib.loads(where.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Failure(f"{where} cannot be read: {error}") from None
    for key, value in settings.items():
        known = commands if isinstance(value, dict) else SHARED
        if key not in known:
            kind = "command" if isinstance(value, dict) else "shared setting"
            raise Failure(f"{where}: there is no {kind} '{key}'; there are: {', '.join(known)}")
    return settings


def defaults(settings: Mapping[str, Any], name: str, command: click.Command) -> dict[str, Any]:
    """Return what the file says for one command: the shared settings, then its own table."""
    shared = {key: value for key, value in settings.items() if not isinstance(value, dict)}
    own = settings.get(name, {})
    if not isinstance(own, dict):
        own = {}
    if isinstance(command, click.Group):
        return {**shared, **own}
    known = {parameter.name for parameter in command.params}
    if unknown := [key for key in own if key not in known]:
        options = ", ".join(sorted(map(str, known)))
        raise Failure(f"{path()}: [{name}] knows no '{unknown[0]}'; it knows: {options}")
    return {**{key: value for key, value in shared.items() if key in known}, **own}
