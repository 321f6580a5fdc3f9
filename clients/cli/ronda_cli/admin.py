"""`ronda admin`: what whoever runs a server asks of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

import click

from ronda_cli import options, output, tables
from ronda_cli.admin_client import AdminClient, Data
from ronda_cli.channel import keep_token, read_token, target
from ronda_cli.client import new_request_id
from ronda_cli.lazy import ConfiguredGroup
from ronda_cli.look import look
from ronda_cli.output import Failure
from ronda_cli.text import escaped, name, one_line
from ronda_cli.updates import RefusedError

T = TypeVar("T")
_F = TypeVar("_F", bound=Callable[..., Any])

_SERVER: Final = click.option(
    "admin_server",
    "--server",
    metavar="HOST:PORT",
    envvar="RONDA_ADMIN_SERVER",
    default="127.0.0.1:50053",
    show_default=True,
    help="The server's --admin-listen.",
)
_KEY_FILE: Final = click.option(
    "--admin-key-file",
    type=click.Path(dir_okay=False),
    envvar="RONDA_ADMIN_KEY_FILE",
    default="ronda.db.admin-key",
    show_default=True,
    help="The file that holds the server's admin key.",
)


_KEY_HINT: Final = (
    "it lies beside the server's database, as the database with .admin-key at its end:"
    " name it with --admin-key-file"
)


def _door(command: _F) -> _F:
    """Return a command with what every call needs."""
    return _SERVER(_KEY_FILE(command))


@click.group(cls=ConfiguredGroup)
def admin() -> None:
    """Look after a running server: API keys, remote bots, drain, isolation.

    The server must be started with --admin-listen; its admin key lies beside its database.
    """


@admin.group(cls=ConfiguredGroup)
def keys() -> None:
    """Make, list and revoke the API keys of accounts."""


@keys.command("create")
@click.argument("account")
@click.option("--label", default="", help="What the key is for.")
@click.option(
    "--key-file",
    type=click.Path(dir_okay=False),
    help="Keep the key in this new file and do not show it.",
)
@_door
@options.output()
def create(
    account: str,
    label: str,
    key_file: str | None,
    admin_server: str,
    admin_key_file: str,
    output: str,
) -> None:
    """Make an API key for ACCOUNT; it is told this once.

    It goes to stdout, or with --key-file into a file that only you can read.
    """
    if key_file and Path(key_file).exists():
        raise Failure(f"{key_file} exists: it may hold another key; name a new file")
    request_id = new_request_id()
    key, secret = _ask(
        admin_server,
        admin_key_file,
        lambda client: client.create_key(account, label, request_id),
    )
    if key_file:
        keep_token(Path(key_file), secret)
        _note(f"the key {key['id']} of {name(account)} is in {key_file}")
    if output != "table":
        _line(key if key_file else {**key, "key": secret})
    elif not key_file:
        _note(f"the key {key['id']} of {name(account)}; it is not told again:")
        _print(secret)


@keys.command("list")
@_door
@options.output()
def list_(admin_server: str, admin_key_file: str, output: str) -> None:
    """List the API keys, revoked ones too; never the keys themselves."""
    found = _ask(admin_server, admin_key_file, lambda client: client.keys())
    _write("keys", found, output)


@keys.command("revoke")
@click.argument("key_id")
@_door
@options.output()
def revoke(key_id: str, admin_server: str, admin_key_file: str, output: str) -> None:
    """Revoke the API key KEY_ID for good; its streams end at once."""

    async def call(client: AdminClient) -> tuple[Data, bool]:
        before = [one["revoked"] for one in await client.keys() if one["id"] == key_id]
        return await client.revoke_key(key_id), any(before)

    key, already = _ask(admin_server, admin_key_file, call)
    if output != "table":
        _line(key)
    elif already:
        _note(f"{key['id']} of {name(key['account'])} was revoked already, at {key['revoked']}")
    else:
        _note(f"revoked: {key['id']} of {name(key['account'])}")


@admin.group("bots", cls=ConfiguredGroup, invoke_without_command=True)
@_door
@options.output()
@click.pass_context
def bots(context: click.Context, admin_server: str, admin_key_file: str, output: str) -> None:
    """List the remote bots that are connected or have a match; free a name."""
    if context.invoked_subcommand:  # what was given before its name holds for it
        context.default_map = {context.invoked_subcommand: dict(context.params)}
        return
    found = _ask(admin_server, admin_key_file, lambda client: client.bots())
    _write("bots", found, output)


@bots.command("free")
@click.argument("bot", metavar="NAME")
@click.option("--account", required=True, help="The account that has it.")
@_door
@options.output()
def free(bot: str, account: str, admin_server: str, admin_key_file: str, output: str) -> None:
    """Free a name of an account's remote bots, all its versions: whoever uses it next has it.

    It counts no more among the --max-bot-names of its account. While a bot of the name is connected
    or has matches it is refused: revoke its key first.
    """
    _ask(
        admin_server,
        admin_key_file,
        lambda client: client.free_bot_name(bot, account),
        {"BOT_NOT_FOUND": f"the account {name(account)} has no name {name(bot)}"},
    )
    if output == "table":
        _note(f"free: {name(bot)} is no longer a name of {name(account)}")
    else:
        _line({"name": bot, "account": account})


@admin.command("log")
@click.argument("bot", metavar="NAME[@VERSION]")
@_door
@options.output()
def log(bot: str, admin_server: str, admin_key_file: str, output: str) -> None:
    """Tell what an installed bot has printed in the last matches that it played on the server.

    It may tell cards. What could steer a terminal is written as an escape.
    """
    nobody = f"no bot {name(bot)} has left a log on the server; remote bots keep their own"
    found = _ask(
        admin_server,
        admin_key_file,
        lambda client: client.bot_logs(bot),
        {"BOT_NOT_FOUND": nobody},
    )
    rows = [{**one.about, "output": escaped(one.output)} for one in found]
    if output != "table":
        _write("logs", rows, output)
        return
    if not rows:
        _note("nothing is kept of it: it has printed nothing, and done nothing wrong")
    for row in rows:
        fault = f", {row['cause']}: {row['detail']}" if row["cause"] else ""
        took = "" if row["seconds"] is None else f" ({row['seconds']:.3f} s)"
        about = f"{row['bot']} in seat {row['seat']} of {row['match']}, {row['ended']}{fault}{took}"
        _print(one_line(about))
        for line in row["output"].split("\n") if row["output"] else []:
            _print(f"    {line}".rstrip())


@admin.command("drain")
@_door
@options.output()
def drain(admin_server: str, admin_key_file: str, output: str) -> None:
    """Let the server finish its calls and leave, as SIGTERM does."""
    count = _ask(admin_server, admin_key_file, lambda client: client.drain())
    if output == "table":
        _note(f"the server drains; {count} open matches go on when it is started again")
    else:
        _line({"open_matches": count})


@admin.command("isolation")
@_door
@options.output()
def isolation(admin_server: str, admin_key_file: str, output: str) -> None:
    """Tell how the server keeps its own bots apart, and what its machine can enforce.

    The exit code is 1 where bots are kept apart less than was wanted.
    """
    report = _ask(admin_server, admin_key_file, lambda client: client.isolation())
    if output == "table":
        _print(f"wanted {report['wanted']}, granted {report['granted']}")
        _write("checks", report["checks"], output)
    else:
        _line(report)
    if report["wanted"] != report["granted"]:
        raise click.exceptions.Exit(1)


def _ask(
    server: str,
    key_file: str,
    call: Callable[[AdminClient], Awaitable[T]],
    refused: Mapping[str, str] = MappingProxyType({}),
) -> T:
    """Make one call, and end the command where it is refused; `refused` has words for reasons."""
    where = target(server)
    key = read_token(Path(key_file), "admin key", _KEY_HINT)

    async def ask() -> T:
        client = AdminClient(where, key)
        try:
            return await call(client)
        except RefusedError as error:
            if error.why.reason in ("BAD_TOKEN", "TOKEN_REQUIRED"):
                raise Failure(
                    "that is not the server's admin key: check --admin-key-file", _REFUSED
                ) from None
            if error.why.reason in refused:
                raise Failure(refused[error.why.reason], _REFUSED) from None
            raise error.why.failure(where) from None
        finally:
            await client.close()

    return asyncio.run(ask())


_REFUSED: Final = output.ExitCode.REFUSED
_note: Final = output.note
_print: Final = output.line


def _line(data: Mapping[str, Any]) -> None:
    output.line(output.as_json(data))


def _write(what: str, rows: Sequence[Data], form: str) -> None:
    if form == "json":
        _line({what: rows})
        return
    if form == "jsonl":
        for row in rows:
            _line(row)
        return
    if not rows:
        _note(f"no {what}")
        return
    shown = [{key: _shown(value) for key, value in row.items()} for row in rows]
    how = look()
    for line in tables.lines(shown, how.width, left=list(shown[0]), plain=how.plain):
        output.line(line)


def _shown(value: object) -> str:
    """Return a value as a table tells it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return str(len(value))
    if isinstance(value, float):
        return f"{value * 1000:.1f} ms"
    return name(str(value), 100, otherwise="")
