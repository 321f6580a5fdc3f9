"""`records.jsonl`: the record of every game that counts, in schedule order.

Until the tournament is over they are sealed: its master is not told, because other deals of it are
still to be played. Then it is told in each, and anyone can prove all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from ronda_arena.tournament.store import Store

_SEALED: Final = '"master": null'


def lines(store: Store, end: int, *, over: bool) -> Iterator[str]:
    """Yield the records of the blocks before `end`, which are whole; opened if all is over."""
    for block, record in store.records():
        if block >= end:
            return
        yield told(record, store.contract.master if over else None)


def told(record: str, master: bytes | None) -> str:
    """Return a record from the store, opened where the master may be told."""
    if record.count(_SEALED) != 1:
        raise ValueError("a record in the store is not sealed")
    return record if master is None else record.replace(_SEALED, f'"master": "{master.hex()}"')


def write(store: Store, path: Path, end: int, *, over: bool) -> None:
    """Write the records to a file, whole or not at all."""
    with replacing(path) as file:
        for record in lines(store, end, over=over):
            file.write(record.encode() + b"\n")


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that takes the place of `path` when all of it is on disk, and only then."""
    beside = path.with_name(f"{path.name}.new")
    try:
        with beside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
