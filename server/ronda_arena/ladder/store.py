"""A ladder on disk: its plan, its secrets, the chain of its commitments, and its facts.

What a method here has taken is there after any death of this process or of the machine, whole or
not at all; nothing is ever changed or taken away. A block ends in one transaction: its results,
its records, and the entry of the chain that tells how it ended.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from sqlalchemy import Connection, Engine, func, insert, select
from sqlalchemy.exc import SQLAlchemyError

from ronda_arena import database
from ronda_arena.database import Kept, StoreError, UnreadableError, locked, words
from ronda_arena.ladder import schema
from ronda_arena.ladder.facts import End, Fact, Joined, Left, Over, Released, Seated
from ronda_arena.ladder.plan import LadderPlan
from ronda_arena.tournament.tasks import Deal
from ronda_core.commitments import CANCELLED, FINISHED, NO_HASH, entry_hash
from ronda_core.fair import commitment

AHEAD: Final = 256
"""Blocks that are promised at a time; half of them are always left."""
_PAGE: Final = 1000
_SECRET: Final = 32
_KEPT: Final = Kept("ladder.db", "ladder", schema.metadata, schema.ladder, schema.VERSION)

Secrets = Callable[[int], bytes]


class Store:
    """One ladder in one database."""

    def __init__(
        self, engine: Engine, plan: LadderPlan, secret: bytes, secrets: Secrets = os.urandom
    ) -> None:
        self._engine = engine
        self._secrets = secrets
        self.plan = plan
        self.secret = secret
        """What pairings are drawn with."""
        with _told("read"), engine.connect() as connection:
            numbers = select(func.max(schema.fact.c.number))
            self._facts = int(connection.execute(numbers).scalar_one() or 0)
            self._entries, self._hash = _last_entry(connection)
            self._promised = _promised(connection)

    def __repr__(self) -> str:
        return f"<Store of {self.plan.id}>"

    @property
    def blocks(self) -> int:
        """How many blocks are over."""
        kind = schema.fact.c.kind
        with _told("read"), self._engine.connect() as connection:
            asked = select(func.count()).where(kind == "over")
            return int(connection.execute(asked).scalar_one())

    def next_block(self, ahead: int) -> str:
        """Return the id of a block that nobody sits at: the oldest that `ahead` others leave."""
        if len(self._promised) <= max(ahead, AHEAD // 2):
            self._promise()
        return self._promised[ahead][0]

    def seat(self, seated: Sequence[Seated]) -> list[Deal]:
        """Write down who plays the next blocks; return what these are dealt from."""
        self._append(seated)
        deals = []
        for one in seated:
            block, master = self._promised.popleft()
            assert block == one.block
            deals.append(Deal(block, master))
        return deals

    def end(self, ends: Sequence[End], records: Mapping[str, Sequence[str]]) -> None:
        """Write down how blocks ended, with the sealed records of those that count."""
        with _told("written"), self._engine.begin() as connection:
            self._write(connection, ends)
            last = self._entries, self._hash
            for one in ends:
                ending = FINISHED if isinstance(one, Over) else CANCELLED
                promised = _promise_of(connection, one.block)
                last = _list(connection, last, one.block, promised, ending)
            rows = [{"block": block, "lines": _packed(lines)} for block, lines in records.items()]
            if rows:
                connection.execute(insert(schema.record), rows)
        self._facts += len(ends)
        self._entries, self._hash = last

    def note(self, facts: Sequence[Joined | Left | Released]) -> None:
        """Write down who came, went, or was released."""
        self._append(facts)

    def facts(self) -> Iterator[Fact]:
        """Yield all facts in their order, a page at a time."""
        columns = schema.fact.c
        after = 0
        while True:
            asked = (
                select(columns.number, columns.body)
                .where(columns.number > after)
                .order_by(columns.number)
                .limit(_PAGE)
            )
            with _told("read"), self._engine.connect() as connection:
                page = connection.execute(asked).all()
            for row in page:
                yield _FACT.decode(row.body)
            if len(page) < _PAGE:
                return
            after = page[-1].number

    def records(self) -> Iterator[str]:
        """Yield the records of all blocks that are over, unsealed, as lines of JSON."""
        columns = schema.record.c
        after = ""
        while True:
            asked = (
                select(columns.block, columns.lines, schema.secret.c.master)
                .where(columns.block == schema.secret.c.scope, columns.block > after)
                .order_by(columns.block)
                .limit(_PAGE)
            )
            with _told("read"), self._engine.connect() as connection:
                page = connection.execute(asked).all()
            for row in page:
                yield from (_unsealed(line, row.master) for line in _unpacked(row.lines))
            if len(page) < _PAGE:
                return
            after = page[-1].block

    def commitments(self) -> Iterator[str]:
        """Yield the chain as lines of JSON, the oldest entry first: it is public."""
        after = 0
        while True:
            columns = schema.commitment.c
            asked = (
                select(schema.commitment)
                .where(columns.number > after)
                .order_by(columns.number)
                .limit(_PAGE)
            )
            with _told("read"), self._engine.connect() as connection:
                page = connection.execute(asked).all()
            yield from (json.dumps(dict(row._mapping)) for row in page)
            if len(page) < _PAGE:
                return
            after = page[-1].number

    def _promise(self) -> None:
        """Make blocks ahead: their secrets, and the public list of what was promised."""
        made = [
            (_block_id(self._entries + at, self._secrets(10)), self._secrets(_SECRET))
            for at in range(1, AHEAD + 1)
        ]
        with _told("written"), self._engine.begin() as connection:
            last = self._entries, self._hash
            rows = [{"scope": block, "master": master} for block, master in made]
            connection.execute(insert(schema.secret), rows)
            for block, master in made:
                last = _list(connection, last, block, commitment(master, block), "")
        self._entries, self._hash = last
        self._promised.extend(made)

    def _append(self, facts: Sequence[Fact]) -> None:
        with _told("written"), self._engine.begin() as connection:
            self._write(connection, facts)
        self._facts += len(facts)

    def _write(self, connection: Connection, facts: Sequence[Fact]) -> None:
        rows = [
            {
                "number": number,
                "kind": type(one).__struct_config__.tag,
                "block": getattr(one, "block", None),
                "body": msgspec.json.encode(one),
            }
            for number, one in enumerate(facts, self._facts + 1)
        ]
        if rows:
            connection.execute(insert(schema.fact), rows)


def _block_id(number: int, chance: bytes) -> str:
    """Return the id of a block: in order, so that tables grow at their end, and nobody's guess."""
    return f"b-{number:09d}-{base64.b32encode(chance).decode().lower()}"


_FACT: Final = msgspec.json.Decoder(Fact)


def _list(
    connection: Connection, last: tuple[int, str], scope: str, promised: str, ending: str
) -> tuple[int, str]:
    """Append an entry to the public list; return its number and hash."""
    number, previous = last[0] + 1, last[1]
    own = entry_hash(number, scope, promised, ending, previous)
    row = {
        "number": number,
        "scope": scope,
        "commitment": promised,
        "ending": ending,
        "previous_hash": previous,
        "hash": own,
    }
    connection.execute(insert(schema.commitment), row)
    return number, own


def _promise_of(connection: Connection, scope: str) -> str:
    columns = schema.commitment.c
    asked = select(columns.commitment).where(columns.scope == scope, columns.ending == "")
    return str(connection.execute(asked).scalar_one())


def _last_entry(connection: Connection) -> tuple[int, str]:
    columns = schema.commitment.c
    asked = select(columns.number, columns.hash).order_by(columns.number.desc()).limit(1)
    row = connection.execute(asked).one_or_none()
    return (0, NO_HASH) if row is None else (row.number, row.hash)


def _promised(connection: Connection) -> deque[tuple[str, bytes]]:
    """Return the blocks that nobody sits at, the oldest promise first."""
    listed, secret, fact = schema.commitment.c, schema.secret.c, schema.fact.c
    seated = select(fact.block).where(fact.kind == "seated", fact.block == listed.scope)
    asked = (
        select(listed.scope, secret.master)
        .where(listed.ending == "", secret.scope == listed.scope, ~seated.exists())
        .order_by(listed.number)
    )
    return deque((row.scope, row.master) for row in connection.execute(asked))


def _packed(lines: Iterable[str]) -> bytes:
    return zlib.compress("\n".join(lines).encode(), 1)


def _unpacked(packed: bytes) -> list[str]:
    return zlib.decompress(packed).decode().split("\n")


def _unsealed(line: str, master: bytes) -> str:
    """Return a record with the master that its block was dealt from."""
    data = json.loads(line)
    data["fair"]["master"] = master.hex()
    return json.dumps(data)


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """Tell in words what the database refuses, without the statement: its values are secret."""
    try:
        yield
    except SQLAlchemyError as error:
        raise StoreError(f"the ladder cannot be {what}: {words(error)}") from None


class Folder(database.Folder):
    """Where a ladder is kept."""

    def __init__(self, path: Path, secrets: Secrets = os.urandom, *, claimed: bool = False) -> None:
        super().__init__(path, _KEPT, claimed=claimed)
        self._secrets = secrets

    def find(self) -> Store | None:
        """Return the ladder that is kept here, or None; `UnreadableError` if there is one."""
        row = self.head()
        if row is None:
            return None
        try:
            plan = msgspec.json.decode(row.plan, type=LadderPlan)
        except msgspec.MsgspecError:
            raise UnreadableError(f"the plan in {self.state} cannot be read") from None
        return Store(self.engine, plan, row.secret, self._secrets)

    def begin(self, plan: LadderPlan) -> Store:
        """Keep a new ladder here."""
        secret = self._secrets(_SECRET)
        self.fill({"id": plan.id, "plan": msgspec.json.encode(plan), "secret": secret})
        return Store(self.engine, plan, secret, self._secrets)


@contextlib.contextmanager
def claim(path: Path, secrets: Secrets = os.urandom) -> Iterator[Folder]:
    """Have a ladder's folder for this process alone; it is made if it is not there.

    `StoreError` if another process has it.
    """
    with (
        locked(path, f"another process runs the ladder in {path}"),
        Folder(path, secrets, claimed=True) as held,
    ):
        yield held
