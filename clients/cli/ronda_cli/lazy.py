"""A group that imports a command when it is called, so that `ronda --help` costs no more."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from ronda_cli import config
from ronda_cli.helps import HelpContext
from ronda_cli.text import one_line


class ConfiguredGroup(click.Group):
    """Gives each command its part of the configuration file, and the layout of its help."""

    context_class = HelpContext

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and what the file says for it."""
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise self._unknown(ctx, args[0], error) from None
        if command:
            command.context_class = HelpContext
        if ctx.parent is None and name != "doctor":  # which tells of a broken file itself
            ctx.default_map = config.load(self.list_commands(ctx))
        if name and command and ctx.default_map:
            part = config.defaults(ctx.default_map, name, command)
            ctx.default_map = {**ctx.default_map, name: part}
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with the whole of its first sentence."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.get_short_help_str(200)) for name, command in found if command]
            )

    def _unknown(self, ctx: click.Context, name: str, error: click.UsageError) -> click.UsageError:
        """Return the error of a command that is not there, with the one that may be meant."""
        from difflib import get_close_matches  # noqa: PLC0415 -- not for every start

        close = get_close_matches(name, self.list_commands(ctx), 1)
        if not close or name in self.list_commands(ctx):
            return error
        known = f"there is no command {one_line(name, 40)!r}: did you mean '{close[0]}'?"
        return click.UsageError(known, ctx)


class LazyGroup(ConfiguredGroup):
    """Commands by name: where each is, as `module:attribute`, and its line in the help."""

    def __init__(self, *args: Any, where: Mapping[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.where = where

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's
        """Return the names in the order they are told."""
        return list(self.where)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in self.where:
            return None
        module, _, attribute = self.where[cmd_name][0].partition(":")
        try:
            command = getattr(importlib.import_module(module), attribute)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise click.UsageError(f"'{cmd_name}' is not part of this ronda", ctx) from None
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- click's
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, short) for name, (_, short) in self.where.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name without importing it."""
        found = [
            CompletionItem(name, help=short)
            for name, (_, short) in self.where.items()
            if name.startswith(incomplete)
        ]
        return found + click.Command.shell_complete(self, ctx, incomplete)
