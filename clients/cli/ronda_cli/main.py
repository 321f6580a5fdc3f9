"""The entry point: the commands by name, and the one place where a command's end is told."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import click

from ronda_cli import __version__, output, start, text
from ronda_cli.lazy import LazyGroup
from ronda_cli.output import ExitCode, Failure, TerminatedError

COMMANDS: Final = {
    "play": ("ronda_cli.play:play", "Take a seat against bots, here or on a server."),
    "watch": ("ronda_cli.watch:watch", "Follow a match of a server as it is played."),
    "match": ("ronda_cli.match:match", "Let bots play each other on this machine."),
    "tournament": (
        "ronda_cli.tournament:tournament",
        "Let many bots meet on duplicate deals.",
    ),
    "ladder": ("ronda_cli.ladder:ladder", "Let bots play for ever, and rank them."),
    "replay": ("ronda_cli.replay:replay", "Step through a recorded match."),
    "verify": ("ronda_cli.verify:verify", "Check records: rules, deals and results."),
    "rules": ("ronda_cli.rules:rules", "Explain the game and its four presets."),
    "bots": (
        "ronda_cli.bots:bots",
        "Make, install, check, debug, list and offer bots.",
    ),
    "demo": ("ronda_cli.demo:demo", "See it all in a minute."),
    "serve": ("ronda_cli.serve:serve", "Run the game service."),
    "admin": ("ronda_cli.admin:admin", "Look after a running service."),
    "db": ("ronda_cli.db:db", "Look after the service's database."),
    "doctor": ("ronda_cli.doctor:doctor", "Find out what is missing on this machine."),
}


class _EndedError(Exception):
    """Carries an end past click, which would tell of it in its own words."""


class Root(LazyGroup):
    """The outermost group: however a command ends, it ends here."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the words; `--help` and `--version` are answered here."""
        try:
            return super().make_context(*args, **kwargs)
        except (KeyboardInterrupt, click.Abort, BrokenPipeError) as end:
            raise _EndedError from end

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that is asked for."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort, BrokenPipeError) as end:
            raise _EndedError from end

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002 -- click's
        **extra: Any,
    ) -> NoReturn:
        """Run a command line and exit with its code."""
        _be_careful_with_streams()
        try:
            code = _run(
                lambda: super(Root, self).main(
                    args, prog_name or "ronda", complete_var, standalone_mode=False, **extra
                ),
                sys.argv[1:] if args is None else args,
            )
            sys.stdout.flush()
        except BrokenPipeError:
            output.to_nowhere(sys.stdout)
            code = ExitCode.BROKEN_PIPE
        sys.exit(code)


def _run(command: Any, words: Sequence[str]) -> int:
    try:
        code = command()
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.UsageError as error:
        if error.ctx and type(error).__name__ == "NoArgsIsHelpError":
            output.note(error.ctx.get_help())
            return ExitCode.USAGE
        where = error.ctx.command_path if error.ctx else "ronda"
        message = error.format_message().rstrip(".")
        output.note(f"{where}: {text.one_line(message)} (see '{where} --help')")
        code = ExitCode.USAGE
    except click.ClickException as error:
        output.fail(error.format_message())
        code = ExitCode.USAGE
    except Failure as failure:
        output.fail(str(failure))
        code = failure.code
    except _EndedError as ended:
        if isinstance(ended.__cause__, BrokenPipeError):
            raise ended.__cause__ from None
        code = _stopped(ended.__cause__, words)
    except (KeyboardInterrupt, click.Abort) as end:  # between the two that carry it here
        code = _stopped(end, words)
    except Exception as error:  # told as what it is, below
        if isinstance(error, BrokenPipeError) or os.environ.get("RONDA_DEBUG"):
            raise
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not a timeout
            output.fail(_refused(error))
            return ExitCode.USAGE
        what = f"{type(error).__name__}: {error}"
        output.fail(
            f"a fault of ronda itself: {what} (RONDA_DEBUG=1 shows where; please report it)"
        )
        code = ExitCode.USAGE
    return int(code or ExitCode.DONE)


def _refused(error: OSError) -> str:
    """Return what the machine refused, with the name of the file: no fault of ronda."""
    what = "standard input or output" if error.filename is None else os.fsdecode(error.filename)
    output.to_nowhere(sys.stdout)  # what it holds back would be complained of once more
    return f"{what} cannot be used: {error.strerror or error}"


def _stopped(stop: BaseException | None, words: Sequence[str]) -> int:
    """Tell how to go on, where there is a way: a command that knows a shorter one says it."""
    if isinstance(stop, TerminatedError):
        return 128 + stop.number
    hint = getattr(stop, "hint", "") or start.again(words)
    if output.is_terminal(sys.stderr):
        output.note("")  # the terminal has written ^C
    output.note(start.interrupted(hint))
    return ExitCode.INTERRUPTED


def _be_careful_with_streams() -> None:
    """Let no closed stream, and no character that a terminal cannot show, end the program."""
    output.complete()
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="replace")


@click.group(
    cls=Root,
    where=COMMANDS,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "auto_envvar_prefix": "RONDA",
        "max_content_width": 100,
    },
)
@click.option("--plain", is_flag=True, help="Sentences only: no boxes, colours or redrawing.")
@click.version_option(__version__, "-V", "--version", message="ronda %(version)s")
def cli(plain: bool) -> None:
    """Ronda, Morocco's most played card game: play it, watch it, let bots play it.

    Every option can also be set by an environment variable, RONDA_COMMAND_OPTION, and in
    ~/.config/ronda/config.toml. Exit codes: 0 done, 1 the answer is no, 2 usage or unreadable
    input, 3 unreachable or too late, 4 refused, 130 interrupted.
    """


def main() -> NoReturn:
    """Be the command `ronda`."""
    # gRPC's core writes to stderr by itself, past every format; what matters comes as an error.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    cli.main()


if __name__ == "__main__":
    main()
