"""The executor of a driver: what it plays itself and what the server hosts do not wait in turn."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import count
from queue import SimpleQueue
from typing import Self

import msgspec
import pytest
from tests.server.test_hosted_games import MASTER, planned

from ronda_arena.tournament.entrants import Entrant
from ronda_arena.tournament.executors import ExecutorError
from ronda_arena.tournament.results import Game
from ronda_arena.tournament.tasks import Contract, Deal, Played, Task
from ronda_server.tables.at_tables import AtTables
from ronda_server.tables.told import Hosted, Wanted

OVER = Game(0, 0, 1, (1, 0), 0)
FAR, HERE = (0, 1), (1, 2)
"""Entrants of a game with a remote bot, and without one."""
LET_GO = "its match was called off"


class Others:
    """An executor that plays when a test lets it."""

    width = 1

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


def _blocks(*blocks: str) -> list[Task]:
    """Return a game of each of these blocks of a ladder, all with a remote bot."""
    return [Task(0, FAR, 0, deal=Deal(block, MASTER)) for block in blocks]


def test_whoever_plays_next_goes_on_with_what_is_hosted(server: Server) -> None:
    hosted = _blocks(*(f"b-{number}" for number in range(257)))
    server.others.may.put(True)
    with server.place as place:
        place.leave()
        played = place.play(iter([*hosted, Task(0, HERE, 0)]))
        assert [[one.task for one in some] for some in played] == [[Task(0, HERE, 0)]]
    assert len(server.asked) == 256
    server.lose(1)  # while nobody plays
    after = Server()
    after.place.go_on(place)
    with after.place as place:
        played = place.play(iter([]))
        assert [one.task for one in next(played)] == hosted[:1]
        place.forget([one.deal.id for one in hosted[1:256] if one.deal])
        place.hear(Hosted("b-256-0-0", None, LET_GO))
        assert [one.task for one in next(played)] == hosted[256:]
        assert [*played] == []
    assert [one.match_id for one in after.asked] == ["b-256-0-0"]  # the others were asked for


def test_nobody_waits_for_a_block_that_is_void(server: Server) -> None:
    with server.place as place:
        played = place.play(iter(_blocks("b-1", "b-2", "b-3")))
        place.wake()
        assert next(played) == []
        place.forget(["b-1", "b-3"])
        server.lose(3)
        assert [one.task.deal for one in next(played)] == [Deal("b-2", MASTER)]
        assert [*played] == []


def test_a_feed_is_asked_again_when_somebody_has_come(server: Server) -> None:
    tasks = _blocks("b-1")
    renewed = server.place._contract.plan

    class Feed:
        """Gives what there is."""

        def __iter__(self) -> Self:
            return self

        def __next__(self) -> Task:
            if not tasks:
                raise StopIteration
            return tasks.pop(0)

    with server.place as place:
        played = place.play(Feed())
        place.wake()
        assert next(played) == []
        # A bot that was not there, under a contract that knows it to be remote.
        entrants = (*renewed.entrants, Entrant(("new@1",)))
        plan = msgspec.structs.replace(renewed, entrants=entrants, remote=("far@1.0.0", "new@1"))
        place.renew(Contract(plan, MASTER))
        tasks.append(Task(0, (1, 3), 0, deal=Deal("b-2", MASTER)))
        place.wake()
        assert next(played) == []
        assert server.asked[1].remote == {"new@1"}
        server.lose(2)
        assert len(next(played)) == 2
