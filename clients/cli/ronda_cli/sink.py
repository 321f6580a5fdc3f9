"""Where `ronda match` writes records."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Self

import click

from ronda_cli import output
from ronda_cli.output import Failure

STDOUT = "-"


class Sink:
    """A file of records. It is opened, and what was in it lost, when there is a first record."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        if path != STDOUT:
            _check(Path(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def write(self, record: str) -> None:
        """Write one more record, so that it is there whatever comes."""
        if self._path == STDOUT:
            output.line(record)
            return
        rest = memoryview(f"{record}\n".encode())
        try:
            self._file = self._file or self._open()
            while rest:
                rest = rest[self._file.write(rest) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _unwritable(self._path, error.strerror) from None

    def _open(self) -> IO[bytes]:
        path = Path(self._path)
        if path.is_file() and path.stat().st_size:
            output.note(f"what was in {self._path} is replaced")
        return path.open("wb", buffering=0)


def _check(path: Path) -> None:
    """Refuse what cannot be written before anything is played, and change nothing."""
    if path.exists():
        if not os.access(path, os.W_OK):
            raise _unwritable(path, "permission denied")
    elif not path.parent.is_dir():
        raise _unwritable(path, f"there is no folder {path.parent}")
    elif not os.access(path.parent, os.W_OK):
        raise _unwritable(path, f"nothing can be made in {path.parent}")


def _unwritable(path: str | Path, reason: str | None) -> Failure:
    return Failure(f"{path} cannot be written: {reason}; name another file with --records")


def refuse_a_mixture(records: str | None, form: str) -> None:
    """Refuse records on stdout where other data goes there as well."""
    if records == STDOUT and form != "table":
        raise click.UsageError(
            f"--records - and -o {form} would mix on standard output: name a file for --records"
        )
