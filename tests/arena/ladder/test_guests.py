"""Bots that play elsewhere come and go on a ladder, and nobody who plays begins anew for that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Self

import pytest
from tests.arena.ladder.games import BOTS, Drawn, ladder_plan, refolded, run, told
from tests.bots.tables import info

from ronda_arena.ladder.arrivals import welcome
from ronda_arena.ladder.facts import Fact, Joined, Left, Seated
from ronda_arena.ladder.guests import Guest
from ronda_arena.ladder.plan import MOST_BOTS
from ronda_arena.ladder.run import Run
from ronda_arena.ladder.standings import Ladder
from ronda_arena.ladder.store import Store, claim
from ronda_arena.tournament.results import Game
from ronda_arena.tournament.tasks import Contract, Played, Task
from ronda_bots.greedy import Greedy
from ronda_bots.registry import Registry, assemble

FAR, NEAR = "far@1", "near@1"
ANN, BOB = Guest("ann", 2), Guest("bob", 1)


class Script:
    """A server: who is there after so many games, and what it is told."""

    def __init__(self, *there: tuple[int, Mapping[str, Guest]]) -> None:
        self._there = there
        self.games = 0
        self.made = 0
        self.contracts: list[Contract] = []
        self.voids: list[str] = []
        self.loses = 0
        """Games that are lost next."""
        self.left = 0
        self.met: set[frozenset[str]] = set()
        self.most = Counter[str]()
        """How many blocks each bot was in at once."""

    def there(self) -> Mapping[str, Guest]:
        return [there for games, there in self._there if games <= self.games][-1]

    def renew(self, contract: Contract) -> None:
        self.contracts.append(contract)

    def leave(self) -> None:
        self.left += 1

    def void(self, blocks: Sequence[str]) -> None:
        self.voids += blocks

    def make(self, contract: Contract, registry: Registry) -> Playing:
        self.made += 1
        self.contracts.append(contract)
        return Playing(self)


class Playing:
    """An executor of both kinds, which plays a game of the next batch at a time."""

    width = 1

    def __init__(self, server: Script) -> None:
        self._server = server

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is to be ended."""

    def play(self, tasks: Iterator[Task]) -> Generator[Sequence[Played]]:
        server = self._server
        while batch := [*tasks]:
            plan = server.contracts[-1].plan
            blocks = {task.deal.id: task.entrants for task in batch if task.deal}
            met = [[plan.entrants[at].members[0] for at in pair] for pair in blocks.values()]
            for name, count in Counter(chain.from_iterable(met)).items():
                server.most[name] = max(server.most[name], count)
            for names in met:
                server.met.add(frozenset(names))
            for task in batch:
                server.games += 1
                if server.loses:
                    server.loses -= 1
                    yield [Played(task, None, None, "its match cannot be read")]
                else:
                    game = Game(task.rotation, 0, 1, (task.rotation, 1 - task.rotation), 0)
                    yield [Played(task, game, "{}")]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with claim(tmp_path / "ladder", Drawn()) as folder:
        yield folder.begin(ladder_plan())


def moves(store: Store) -> list[tuple[str, str]]:
    """Return who came and went, guests alone."""
    bots: list[str] = []
    found = []
    for fact in store.facts():
        if isinstance(fact, Joined):
            if fact.bot not in bots:
                bots.append(fact.bot)
            if fact.remote:
                found.append(("joined", fact.bot))
        elif isinstance(fact, Left) and bots[fact.bot] in (FAR, NEAR):
            found.append(("left", bots[fact.bot]))
    return found


def test_guests_come_and_go_while_others_play_and_the_log_says_so(store: Store) -> None:
    server = Script((0, {}), (20, {FAR: ANN}), (60, {FAR: ANN, NEAR: BOB}), (120, {NEAR: BOB}))
    running = run(store, guests=server)
    running.play(server.make, 200)
    assert server.made == 1
    assert moves(store) == [("joined", FAR), ("joined", NEAR), ("left", FAR)]
    assert {frozenset({name, "greedy@1.0.0"}) for name in (FAR, NEAR)} <= server.met
    far, near = running.ladder.find(FAR), running.ladder.find(NEAR)
    assert far
    assert near
    assert (far.remote, far.present, far.owner) == (True, False, "ann")
    assert (near.remote, near.present, near.owner) == (True, True, "bob")
    # Whoever plays is told of each before it is seated, and knows it by its number from then on.
    for one in server.contracts[1:]:
        assert set(one.plan.remote) <= {FAR, NEAR}
        assert one.plan.code == server.contracts[0].plan.code
    assert server.contracts[-1].plan.remote == (FAR, NEAR)
    assert told(running.ladder) == told(refolded(store))


def test_a_guest_is_in_no_more_blocks_than_it_can_be_and_in_none_while_it_is_away(
    store: Store,
) -> None:
    away = ANN._replace(blocks=0)
    server = Script((0, {FAR: ANN, NEAR: BOB}), (200, {FAR: away, NEAR: BOB}))
    running = run(store, guests=server)
    running.play(server.make, 200)
    assert (server.most[FAR], server.most[NEAR]) == (2, 1)
    assert server.most["greedy@1.0.0"] > 2
    far = running.ladder.find(FAR)
    assert far
    games = far.games
    running.play(server.make, 400)
    assert far.games <= games + 4
    assert far.present
    assert ("left", FAR) not in moves(store)


def test_guests_of_one_owner_and_their_plugins_never_meet(store: Store) -> None:
    server = Script((0, {FAR: ANN, NEAR: ANN, "far@2": ANN}))
    running = run(store, guests=server, owners={"careful": "ann"})
    running.play(server.make, 200)
    own = {FAR, NEAR, "far@2", "careful@1.0.0"}
    assert all(len(own & pair) <= 1 for pair in server.met)
    newer = running.ladder.find("far@2")
    assert newer
    assert newer.predecessor == FAR


def test_what_is_lost_is_called_off_and_met_again_and_so_is_what_was_open_at_a_start(
    store: Store,
) -> None:
    server = Script((0, {FAR: ANN}))
    server.loses = 2
    running = run(store, guests=server)
    running.play(server.make, 20)
    assert len(server.voids) == running.ladder.void > 0
    again = [fact.again for fact in store.facts() if isinstance(fact, Seated)]
    assert set(server.voids) <= set(again)
    running.seat(None)
    after = Script((0, {FAR: ANN}))
    assert run(store, guests=after).ladder.open == {}
    assert len(after.voids) == len(set(after.voids)) > 0


def test_a_guest_with_the_name_of_an_installed_bot_is_not_on_the_ladder(store: Store) -> None:
    server = Script((0, {FAR: ANN, "greedy@2": BOB}))
    more = assemble([*BOTS.bots, replace(info(Greedy, "far"), version="1")], [])

    def find() -> Registry:
        return more if 40 <= server.games < 80 else BOTS

    running = Run(store, find, guests=server, look_every=0.0)
    running.play(server.make, 30)
    assert running.ladder.find("greedy@2") is None
    bot = running.ladder.find(FAR)
    assert bot
    assert (bot.remote, bot.present, bot.owner) == (True, True, "ann")
    running.play(server.make, 70)
    assert (bot.remote, bot.present, bot.owner) == (False, True, "far")
    running.play(server.make, 120)  # it is gone, so the other may be there again
    assert (bot.remote, bot.present, bot.owner) == (True, True, "ann")
    assert server.left == 2


def test_there_are_no_more_guests_than_there_is_room_for_and_who_is_here_stays(
    store: Store,
) -> None:
    ladder = Ladder(store.plan)
    facts: list[Fact] = [Joined("mine@1", "mine", 1), Joined("z@1", "ann", 1, remote=True)]
    for fact in facts:
        ladder.take(fact)
    there = {f"b{number}@1": BOB for number in range(MOST_BOTS)} | {"z@1": ANN}
    found = welcome(ladder, there, frozenset({"b0"}))
    assert len(found) == MOST_BOTS - 1
    assert "z@1" in found
    assert "b0@1" not in found


def test_without_a_server_guests_have_left(store: Store) -> None:
    server = Script((0, {FAR: ANN}))
    run(store, guests=server).play(server.make, 20)
    server = Script((0, {}))
    run(store).play(server.make, 40)
    assert moves(store) == [("joined", FAR), ("left", FAR)]
