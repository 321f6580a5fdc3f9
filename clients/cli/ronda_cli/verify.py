"""`ronda verify`: judge records, offline and without trust."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from ronda_cli import lines, options, text
from ronda_cli import output as out
from ronda_cli.output import ExitCode, Failure


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.output()
def verify(files: tuple[str, ...], output: str) -> int:
    """Check records: rules, deals and results.

    A record is proven when its deals follow from a secret that was committed to before the game
    and every play, point and result follows from the rules. FILE may be - for stdin.

    Exit code: 0 if all are proven; 1 if one is refused or unproven, with its place and what is
    wrong there; 2 if something could not be read.
    """
    counts: Counter[str] = Counter()
    results = []
    progress = out.Progress("records checked")
    for file in files:
        for result in _judge(file):
            counts[result["verdict"]] += 1
            if output == "jsonl":
                out.line(out.as_json(result))
            elif result["verdict"] != "proven":
                results.append(result)
                if output == "table":
                    (out.note if result["verdict"] == "unreadable" else out.line)(_line(result))
            progress.step(counts.total())
    progress.close()
    code = _code(counts)
    told = {name: counts[name] for name in ("proven", "refused", "unproven", "unreadable")}
    if output == "json":
        out.line(out.as_json({"records": counts.total(), **told, "problems": results}))
    else:
        out.note(", ".join(f"{count} {name}" for name, count in told.items() if count))
    return code


def _judge(file: str) -> Any:
    from ronda_core.verify import verify as judge  # noqa: PLC0415 -- only when needed

    def unreadable(line: int, problem: str) -> dict[str, Any]:
        about = {"file": file, "line": line, "id": None, "verdict": "unreadable", "where": ""}
        return {**about, "problem": problem}

    found = False
    try:
        for number, record, problem in lines.records(file):
            found = True
            about = {"file": file, "line": number}
            if record is None:
                yield unreadable(number, problem)
                continue
            verdict = judge(record)
            told = "proven" if verdict.proven else "unproven" if verdict.unproven else "refused"
            where = {"where": verdict.where, "problem": verdict.problem}
            yield {**about, "id": record.id, "verdict": told, **where}
    except Failure as failure:
        yield unreadable(0, str(failure))
        return
    if not found:
        yield unreadable(0, "holds no record")


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
