"""`ronda verify`: judge records, offline and without trust."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ronda_cli import lines, options, text
from ronda_cli import output as out
from ronda_cli.look import look
from ronda_cli.output import ExitCode, Failure

if TYPE_CHECKING:
    from ronda_core.commitments import Commitments
    from ronda_core.record import Record

_VERDICTS: Final = ("proven", "refused", "unproven", "unreadable")
_LONGEST: Final = 4096
"""Bytes of a line of commitments."""


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--commitments",
    "promises",
    metavar="FILE",
    help="A saved list of commitments: prove too that each was made before.",
)
@options.output()
def verify(files: tuple[str, ...], promises: str | None, output: str) -> int:
    """Check records: rules, deals and results.

    A record is proven when its deals follow from the master that it commits to, and every play,
    point and result from the rules. That the commitment was made before the match, only a list of
    commitments can tell that was had from the server: --commitments. No match counts twice.
    FILE may be - for stdin.

    Exit code: 0 if all are proven; 1 if one is refused or unproven, with its place and what is
    wrong there, or if the list of commitments is broken; 2 if something could not be read.
    """
    listed = None if promises is None else _read_list(promises)
    counts: Counter[str] = Counter()
    results = []
    progress = out.Progress("records checked")
    judge = _Judge(listed)
    for file in files:
        for result in judge.file(file):
            counts[result["verdict"]] += 1
            if output == "jsonl":
                progress.close()
                out.line(out.as_json(result))
            elif result["verdict"] != "proven":
                results.append(result)
                if output == "table":
                    progress.close()  # it stands where this is to stand
                    _tell(result)
            progress.step(counts.total())
    progress.close()
    told = {name: counts[name] for name in _VERDICTS}
    if output == "json":
        before = {} if listed is None else {"committed_before": counts["proven"], **_end(listed)}
        out.line(out.as_json({"records": counts.total(), **told, **before, "problems": results}))
    else:
        proven = {} if listed is None else {"proven": "proven and committed before"}
        named = {proven.get(name, name): count for name, count in told.items()}
        out.note(", ".join(f"{count} {name}" for name, count in named.items() if count))
    return _code(counts)


class _Judge:
    """Judges the records of one run, in which no match may count twice."""

    def __init__(self, listed: Commitments | None) -> None:
        self._listed = listed
        self._told: dict[tuple[object, ...], str] = {}

    def file(self, file: str) -> Iterator[dict[str, Any]]:
        """Yield a result for each record of a file, or for what cannot be read."""
        found = False
        try:
            for number, record, problem in lines.records(file):
                found = True
                if record is None:
                    yield _unreadable(file, number, problem)
                else:
                    yield self._judge(file, number, record)
        except Failure as failure:
            yield _unreadable(file, 0, str(failure))
            return
        if not found:
            yield _unreadable(file, 0, "holds no record")

    def _judge(self, file: str, line: int, record: Record) -> dict[str, Any]:
        from ronda_core.verify import verify as judge  # noqa: PLC0415 -- only when needed

        verdict = judge(record, self._listed)
        told = "proven" if verdict.proven else "unproven" if verdict.unproven else "refused"
        where, problem = verdict.where, verdict.problem
        # What is refused counts for nothing: it cannot keep the true record from being counted.
        again = told != "refused" and self._again(record, f"{file}:{line}")
        if again:
            told, (where, problem) = "refused", again
        result: dict[str, Any] = {"file": file, "line": line, "id": record.id, "verdict": told}
        if self._listed is not None:
            result["committed_before"] = told == "proven"
        return {**result, "where": where, "problem": problem}

    def _again(self, record: Record, place: str) -> tuple[str, str] | None:
        """Say where it breaks if a match is told a second time, and where the first time was."""
        names: dict[str, tuple[object, ...]] = {"id": (record.id,)}
        if record.tournament is not None:  # the id does not go into its deals: it could be another
            names["rotation"] = (record.tournament, record.block, record.rotation)
        for where, name in names.items():
            first = self._told.setdefault(name, place)
            if first is not place:
                told = f"the same match stands at {first}: it counts once"
                if record.tournament is not None:
                    told += "; two tournaments of one name are told apart by --name"
                return where, told
        return None


def _read_list(path: str) -> Commitments:
    """Return a saved list of commitments, checked as a whole."""
    from ronda_core.commitments import (  # noqa: PLC0415 -- only when needed
        BrokenListError,
        Commitments,
        read_entry,
    )

    listed = Commitments()
    number = 0
    try:
        with Path(path).open("rb") as file:
            while raw := file.readline(_LONGEST + 1):
                number += 1
                if len(raw) > _LONGEST:
                    raise Failure(f"{path}:{number}: a line of more than {_LONGEST} bytes")
                if raw.strip():
                    listed.append(read_entry(raw.decode("utf-8")))
    except OSError as error:
        raise Failure(f"{path}: cannot be read: {error.strerror}") from None
    except BrokenListError as error:
        raise Failure(f"{path}:{number}: the list is broken: {error}", ExitCode.NO) from None
    except UnicodeDecodeError:
        raise Failure(f"{path}:{number}: not UTF-8") from None
    except ValueError as error:
        raise Failure(f"{path}:{number}: no commitment: {error}") from None
    if not listed.length:
        raise Failure(f"{path}: holds no commitment")
    out.note(f"{listed.length} commitments; the hash of the last is {listed.last_hash}")
    return listed


def _end(listed: Commitments) -> dict[str, Any]:
    return {"commitments": listed.length, "last_hash": listed.last_hash}


def _unreadable(file: str, line: int, problem: str) -> dict[str, Any]:
    about = {"file": file, "line": line, "id": None, "verdict": "unreadable", "where": ""}
    return {**about, "problem": problem}


def _tell(result: dict[str, Any]) -> None:
    """Tell what is wrong with a record, or on stderr that it cannot be read."""
    unreadable = result["verdict"] == "unreadable"
    shown = look(stream=sys.stderr if unreadable else sys.stdout)
    told = _line(result)
    for line in text.wrapped(told, shown.width) if shown.screen else [told]:
        (out.note if unreadable else out.line)(line)


def _line(result: dict[str, Any]) -> str:
    parts = [f"{result['file']}:{result['line']}" if result["line"] else result["file"]]
    parts += [] if result["id"] is None else [text.name(result["id"])]
    parts += ["unreadable"] if result["verdict"] == "unreadable" else []
    parts += [result["where"]] if result["where"] else []
    return text.one_line(": ".join([*parts, result["problem"]]))


def _code(counts: Counter[str]) -> ExitCode:
    if counts["unreadable"]:
        return ExitCode.USAGE
    return ExitCode.NO if counts["refused"] or counts["unproven"] else ExitCode.DONE
