"""The executor of a driver: what it plays itself and what the server hosts do not wait in turn."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import count
from queue import SimpleQueue
from typing import Self

import pytest
from tests.server.test_hosted_games import MASTER, planned

from ronda_arena.tournament.entrants import Entrant
from ronda_arena.tournament.executors import ExecutorError
from ronda_arena.tournament.results import Game
from ronda_arena.tournament.tasks import Contract, Played, Task
from ronda_server.tables.at_tables import AtTables
from ronda_server.tables.told import Hosted, Wanted

OVER = Game(0, 0, 1, (1, 0), 0)
FAR, HERE = (0, 1), (1, 2)
"""Entrants of a game with a remote bot, and without one."""
LET_GO = "its match was called off"


class Others:
    """An executor that plays when a test lets it."""

    def __init__(self) -> None:
        self.may: SimpleQueue[bool] = SimpleQueue()
        """For each game: that it may be played, or that this executor breaks."""
        self.left = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.left = True

    def play(self, tasks: Iterator[Task]) -> Generator[Sequence[Played]]:
        for task in tasks:
            if not self.may.get():
                raise ExecutorError("no worker is left")
            yield [Played(task, OVER, "{}")]


class Server:
    """What is asked of a server, and an executor that asks it."""

    def __init__(self) -> None:
        plan = planned(
            "playtash", 2, entrants=tuple(map(Entrant, (("far@1.0.0",), ("a",), ("b",))))
        )
        self.asked: list[Wanted] = []
        self.others = Others()
        self.place = AtTables(self.others, Contract(plan, MASTER), self.asked.append)

    def lose(self, games: int) -> None:
        """Answer that so many of the games are lost, the first asked for first."""
        for one in self.asked[:games]:
            self.place.hear(Hosted(one.match_id, None, LET_GO))
        del self.asked[:games]


@pytest.fixture
def server() -> Server:
    return Server()


def test_neither_kind_of_game_waits_for_the_other(server: Server) -> None:
    tasks = [Task(block, FAR if block < 300 else HERE, 0) for block in range(310)]
    with server.place as place:
        played = place.play(iter(tasks))
        for _ in range(3):
            server.others.may.put(True)
        first: list[Played] = []
        while len(first) < 3:  # though hundreds come before, which nobody answers
            first += next(played)
        assert [one.task for one in first] == tasks[300:303]
        assert len(server.asked) == 256
        server.lose(2)
        some = next(played)  # though the other executor stands still
        assert {one.task for one in some} <= {*tasks[:2]}
        assert all(one.lost == LET_GO for one in some)
        found = [*some]
        while len(found) < 2:
            found += next(played)
        for _ in range(9):
            server.others.may.put(True)
        while len(found) < 2 + 7:
            found += next(played)
        assert {one.task for one in found} == {*tasks[:2], *tasks[303:]}
        assert len(server.asked) == 256
        played.close()
        server.others.may.put(True)
    assert server.others.left


def test_a_schedule_without_end_is_read_a_bounded_way_ahead(server: Server) -> None:
    for entrants in (FAR, HERE):
        taken = count()
        feed = (Task(number, entrants, 0) for number in taken)
        with server.place as place:
            played = place.play(feed)
            if entrants is FAR:
                place.hear(Hosted("t-unknown", None, LET_GO))  # of a driver before: dropped
                assert next_in_line(played, server) == []
            else:
                server.others.may.put(True)
                assert len(next(played)) == 1
            played.close()
            server.others.may.put(True)
        assert next(taken) <= 256 + 1024 + 64
        server = Server()


def next_in_line(played: Generator[Sequence[Played]], server: Server) -> list[Played]:
    """Return what is yielded besides the one game that is lost now."""
    server.place.hear(Hosted(f"{server.place._contract.plan.id}-0-0", None, LET_GO))
    return [one for one in next(played) if one.lost != LET_GO]


def test_a_feed_that_is_dry_for_now_is_asked_again(server: Server) -> None:
    class Feed:
        """Gives one game, and another only when it is asked once more."""

        def __init__(self) -> None:
            self.tasks = [Task(0, FAR, 0), None, Task(1, HERE, 0), None, Task(2, FAR, 1), None]

        def __iter__(self) -> Self:
            return self

        def __next__(self) -> Task:
            task = self.tasks.pop(0) if self.tasks else None
            if task is None:
                raise StopIteration
            return task

    server.others.may.put(True)
    found = []
    with server.place as place:
        played = place.play(Feed())
        place.hear(Hosted(f"{place._contract.plan.id}-0-0", None, LET_GO))
        found += next(played)
        found += next(played)
        place.hear(Hosted(f"{place._contract.plan.id}-2-1", None, LET_GO))
        found += next(played)
        assert [*played] == []
    assert [one.task.block for one in found] == [0, 1, 2]


def test_what_breaks_the_other_executor_is_told_and_it_is_left(server: Server) -> None:
    server.others.may.put(False)
    with server.place as place, pytest.raises(ExecutorError, match="no worker is left"):
        next(place.play(iter([Task(0, FAR, 0), Task(0, HERE, 0)])))
    assert server.others.left


def test_a_server_that_only_loses_games_is_given_up(server: Server) -> None:
    tasks = [Task(block, FAR, 0) for block in range(12)]
    with server.place as place, pytest.raises(ExecutorError, match=LET_GO):
        for task in tasks:
            place.hear(Hosted(f"{place._contract.plan.id}-{task.block}-0", None, LET_GO))
        for _ in place.play(iter(tasks)):
            continue
