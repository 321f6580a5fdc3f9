"""What is known of a tournament, on disk: its plan, its secret, and every game that is over.

What `add` has taken is there after any death of this process or of the machine. A game is unique
by tournament, block, rotation and attempt, and of its attempts one counts, so nothing is lost and
nothing is counted twice, whoever hands it in again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Engine, func, insert, select, tuple_, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from ronda_arena import database
from ronda_arena.database import Kept, StoreError, UnreadableError, locked, words
from ronda_arena.tournament import files, schema
from ronda_arena.tournament.entrants import seats
from ronda_arena.tournament.results import Block, Game
from ronda_arena.tournament.spec import Plan
from ronda_arena.tournament.tasks import Contract, Played, Task, Thought
from ronda_core.fair import commitment

__all__ = ["Folder", "Lost", "Store", "StoreError", "UnreadableError", "claim"]

_PAGE: Final = 1000
"""Rows that are read at a time."""
_KEPT: Final = Kept(files.STATE, "tournament", schema.metadata, schema.tournament, schema.VERSION)


class Lost(NamedTuple):
    """A game that was begun and lost by no fault of a bot."""

    block: int
    rotation: int
    attempt: int
    why: str


class _Fault(msgspec.Struct, frozen=True):
    seat: int
    cause: str


class _Fair(msgspec.Struct, frozen=True):
    commitment: str


class _Told(msgspec.Struct, frozen=True):
    """What a record says that a result says too."""

    tournament: str
    block: int
    rotation: int
    seats: tuple[str, ...]
    score: tuple[int, ...]
    winner: int | None
    fault: _Fault | None = None
    fair: _Fair | None = None


class Store:
    """One tournament in one database."""

    def __init__(self, engine: Engine, contract: Contract) -> None:
        self._engine = engine
        self.contract = contract
        self.plan = contract.plan

    def add(self, played: Iterable[Played]) -> list[Played]:
        """Keep what was played, all or nothing; return what was not known yet.

        When it returns, it is on disk. `StoreError` where it cannot be written: nothing is lost
        that was kept before.
        """
        played = list(played)
        try:
            try:
                with self._engine.begin() as connection:
                    connection.execute(insert(schema.game), [self._row(one) for one in played])
            except IntegrityError:
                return self._add_unknown(played)
        except SQLAlchemyError as error:
            raise StoreError(f"results cannot be written: {words(error)}") from None
        return played

    def _add_unknown(self, played: Iterable[Played]) -> list[Played]:
        """Keep what was not handed in before: of that the first counts."""
        new = []
        with self._engine.begin() as connection:
            for one in played:
                with contextlib.suppress(IntegrityError), connection.begin_nested():  # it is known
                    connection.execute(insert(schema.game), self._row(one))
                    new.append(one)
        return new

    def done(self, first_block: int = 0) -> Iterator[tuple[int, int]]:
        """Yield block and rotation of every game that is over, in schedule order."""
        for row in self._rows(first_block=first_block):
            yield row.block, row.rotation

    def games(self) -> Iterator[tuple[Task, Game]]:
        """Yield every game that is over, in schedule order.

        `UnreadableError` where one is not what its record says: somebody has changed something.
        """
        columns = schema.game.c
        promised = commitment(self.contract.master, self.plan.id)
        for row in self._rows(columns.attempt, columns.entrants, columns.game, columns.record):
            yield self._played(row, promised)

    def _played(self, row: Any, promised: str) -> tuple[Task, Game]:
        """Return a game that is what its record says, or raise `UnreadableError`."""
        try:
            entrants = msgspec.json.decode(row.entrants, type=tuple[int, ...])
            task = Task(row.block, entrants, row.rotation, row.attempt)
            game = msgspec.json.decode(row.game, type=Game)
            told = msgspec.json.decode(row.record, type=_Told)
            true = told == self._as_told(task, game, promised)
        except (msgspec.MsgspecError, IndexError, TypeError):
            true = False
        if not true:
            raise UnreadableError(
                f"block {row.block}, rotation {row.rotation} is not what its record says: what"
                " is kept here was changed, and nothing of it can be trusted"
            )
        return task, game

    def _as_told(self, task: Task, game: Game, promised: str) -> _Told:
        """Return what the record of a game must say."""
        at_table = [self.plan.entrants[at] for at in task.entrants]
        return _Told(
            self.plan.id,
            task.block,
            task.rotation,
            seats(at_table, task.rotation, self.plan.players),
            game.scores,
            game.winner,
            None if game.fault is None else _Fault(game.fault.seat, game.fault.cause.value),
            _Fair(promised),
        )

    def attempts(self) -> dict[tuple[int, int], int]:
        """Return how often games that are still to be played were begun and lost."""
        columns = schema.game.c
        asked = (
            select(columns.block, columns.rotation, func.count().label("lost"))
            .where(columns.tournament == self.plan.id)
            .group_by(columns.block, columns.rotation)
            .having(func.count(columns.game) == 0)
        )
        with self._reading(), self._engine.connect() as connection:
            return {(row.block, row.rotation): row.lost for row in connection.execute(asked)}

    def blocks(self, end: int | None = None) -> Iterator[Block]:
        """Yield the blocks before `end` whose last game is over, in schedule order."""
        for number, group in groupby(self.games(), key=lambda one: one[0].block):
            if end is not None and number >= end:
                return
            found = list(group)
            entrants = found[0][0].entrants
            if len(found) == self.plan.games_of(entrants):
                games = tuple(game for _, game in found)
                paired = self.plan.paired(entrants)
                yield Block(number, entrants, games, paired, self.plan.walkover)

    def records(self) -> Iterator[tuple[int, str]]:
        """Yield block and record of every game that is over, in schedule order, sealed."""
        columns = schema.game.c
        for row in self._rows(columns.block, columns.record):
            yield row.block, row.record

    def listed(self, after: tuple[int, int], end: int, count: int) -> list[tuple[Task, Game, str]]:
        """Return games that are over, with their sealed records, in schedule order.

        At most `count` of those that follow a block and rotation, of blocks before `end`.
        `StoreError` as `games`.
        """
        keys = schema.game.c
        asked = (
            select(keys.block, keys.rotation, keys.attempt, keys.entrants, keys.game, keys.record)
            .where(keys.tournament == self.plan.id, keys.game.is_not(None), keys.block < end)
            .where(tuple_(keys.block, keys.rotation) > after)
            .order_by(keys.block, keys.rotation)
            .limit(count)
        )
        promised = commitment(self.contract.master, self.plan.id)
        with self._engine.connect() as connection:
            page = connection.execute(asked).all()
        return [(*self._played(row, promised), row.record) for row in page]

    def thoughts(self) -> Iterator[tuple[int, float, tuple[Thought, ...]]]:
        """Yield block, seconds and thoughts of every game that is over, in schedule order."""
        columns = schema.game.c
        for row in self._rows(columns.block, columns.seconds, columns.thoughts):
            yield (
                row.block,
                row.seconds,
                msgspec.json.decode(row.thoughts, type=tuple[Thought, ...]),
            )

    def seed(self) -> int | None:
        """Return the seed of a seeded one, which is as secret as what is made of it."""
        with self._reading(), self._engine.connect() as connection:
            found = connection.execute(select(schema.tournament.c.seed)).scalar_one()
        return None if found is None else int(found)

    def lost(self) -> int:
        """Return how many games were begun and lost by no fault of a bot."""
        columns = schema.game.c
        asked = select(func.count()).where(
            columns.tournament == self.plan.id, columns.game.is_(None)
        )
        with self._reading(), self._engine.connect() as connection:
            return int(connection.execute(asked).scalar_one())

    def _rows(self, *columns: Any, first_block: int = 0) -> Iterator[Any]:
        """Yield games that are over, a page at a time: no read stays open while others write."""
        keys = schema.game.c
        after = (first_block, -1)
        while True:
            asked = (
                select(keys.block, keys.rotation, *columns)
                .where(keys.tournament == self.plan.id, keys.game.is_not(None))
                .where(tuple_(keys.block, keys.rotation) > after)  # as one: the index knows where
                .order_by(keys.block, keys.rotation)
                .limit(_PAGE)
            )
            with self._reading(), self._engine.connect() as connection:
                page = connection.execute(asked).all()
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].block, page[-1].rotation

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Say it in words where what is kept cannot be read."""
        try:
            yield
        except SQLAlchemyError as error:
            raise _unreadable(self._engine.url.database, words(error)) from None
        except msgspec.MsgspecError:
            raise _unreadable(self._engine.url.database, "a game in it is none") from None

    def _row(self, played: Played) -> dict[str, object]:
        task = played.task
        return {
            "tournament": self.plan.id,
            "block": task.block,
            "rotation": task.rotation,
            "attempt": task.attempt,
            "entrants": msgspec.json.encode(task.entrants),
            "game": None if played.game is None else msgspec.json.encode(played.game),
            "record": played.record,
            "lost": played.lost,
            "thoughts": msgspec.json.encode(played.thoughts),
            "seconds": played.seconds,
        }


def _unreadable(state: object, why: str) -> UnreadableError:
    return UnreadableError(f"{state} cannot be read: {why}")


@contextlib.contextmanager
def claim(folder: Path) -> Iterator[Folder]:
    """Have a tournament's folder for this process alone; it is made if it is not there.

    `StoreError` if another process has it.
    """
    with (
        locked(
            folder,
            f"another process plays the tournament in {folder}: wait until it is over, or end it",
        ),
        Folder(folder, claimed=True) as held,
    ):
        yield held


def head(contract: Contract) -> dict[str, object]:
    """Return what is written of a tournament itself, the plan with its digest."""
    plan = contract.plan
    return {
        "id": plan.id,
        "plan": msgspec.json.encode(plan),
        "digest": plan.digest,
        "master": contract.master,
    }


class Folder(database.Folder):
    """Where a local tournament is kept: its state, and what is written from it."""

    def __init__(self, path: Path, *, claimed: bool = False) -> None:
        super().__init__(path, _KEPT, claimed=claimed)

    def find(self) -> Store | None:
        """Return the tournament that is kept here, or None; `UnreadableError` if there is one."""
        row = self.head()
        if row is None:
            return None
        try:
            plan = msgspec.json.decode(row.plan, type=Plan)
        except msgspec.MsgspecError:
            raise _unreadable(self.state, "the plan in it is none") from None
        if plan.digest != row.digest or plan.id != row.id:
            raise UnreadableError(f"the plan in {self.state} is not the one that was begun")
        return Store(self.engine, Contract(plan, row.master))

    def begin(self, contract: Contract, seed: int | None = None) -> Store:
        """Keep a new tournament here, and the seed that its secret is made of."""
        self.fill({**head(contract), "seed": None if seed is None else str(seed)})
        return Store(self.engine, contract)

    def replace_plan(self, store: Store, plan: Plan) -> Store:
        """Keep another plan of the tournament that is here: one with more blocks."""
        contract = Contract(plan, store.contract.master)
        changed = update(schema.tournament).where(schema.tournament.c.id == plan.id)
        try:
            with self.engine.begin() as connection:
                connection.execute(changed.values(head(contract)))
        except SQLAlchemyError as error:
            raise StoreError(f"{self.state} cannot be written: {words(error)}") from None
        return Store(self.engine, contract)
