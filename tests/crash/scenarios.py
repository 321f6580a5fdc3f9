"""What is played while the server is stopped at every point: scenarios of few words."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Final

from google.protobuf.duration_pb2 import Duration

from ronda.v1 import match_pb2
from ronda_core.hand import Phase
from ronda_server.game import Game

from .table import RefusedError, Scenario, Table, commitment_of


async def two_persons(table: Table) -> None:
    """A whole match of two persons, with commands that are refused, and its record."""
    made = await table.create("two", "arabic", "open", "open")
    match = made.match.id
    anna = await table.join("anna", match, 0)
    await _refused("SEAT_TAKEN", table.join("late", match, 0))
    badr = await table.join("badr", match, 1)
    tokens = {0: anna, 1: badr}
    await table.play_out(match, tokens, lambda game: game.sequence >= 8)
    await _refused("STALE_SEQUENCE", table.play(match, 0, anna, 1, 2))
    await table.play_out(match, tokens)
    await _refused("MATCH_OVER", table.play(match, 1, badr, 40, 1))
    await table.record(match)


async def four_declare(table: Table) -> None:
    """Four declare, two of them bots; a person is late twice: to declare, then to play."""
    made = await table.create(
        "four",
        "pagat",
        "open",
        "greedy",
        "open",
        "random",
        clock=match_pb2.Clock(per_decision=Duration(seconds=30)),
    )
    match = made.match.id
    carim = await table.join("carim", match, 0)
    dina = await table.join("dina", match, 2)
    tokens = {0: carim, 2: dina}
    # In the second batch no person declares in time, which is no fault, and play goes on.
    await table.play_out(match, tokens, lambda game: _at(game) >= (1, 2))
    await table.pass_time("declare late", match, 31)
    await table.play_out(match, tokens, lambda game: _at(game) >= (2, 1, Phase.PLAY, 2))
    await table.pass_time("play late", match, 31)
    await table.play_out(match, tokens)
    await table.record(match)


async def opening(table: Table) -> None:
    """Seats kept, committed and made ready; a cancellation by agreement; a rematch."""
    made = await table.create("first", "playtash", "invited", "open", "open", "greedy")
    match, owner = made.match.id, made.owner_token
    await _refused("BAD_TOKEN", table.join("intruder", match, 0, owner))
    invited = await table.join(
        "elias",
        match,
        0,
        made.invitations[0].invitation_token,
        client_commitment=commitment_of("elias gives", match, 0),
    )
    farah = await table.join(
        "farah", match, 1, client_commitment=commitment_of("farah gives", match, 1)
    )
    ghita = await table.join("ghita", match, 2)
    await table.ready("elias gives", match, 0, invited)
    await table.ready("farah gives", match, 1, farah)
    await _refused("ALREADY_READY", table.ready("farah again", match, 1, farah))
    tokens = {0: invited, 1: farah, 2: ghita}
    await table.play_out(match, tokens, lambda game: game.sequence >= 11)
    await _refused("MATCH_STARTED", table.cancel("owner is late", match, -1, owner))
    first = await table.cancel("farah agrees", match, 1, farah)
    second = await table.cancel("elias agrees", match, 0, invited)
    assert (first, second) == (False, True)
    await table.record(match)
    again, elias = await table.rematch("elias again", match, 0, invited)
    same, faraj = await table.rematch("farah wants more", match, 1, farah)
    assert again == same
    _, ghali = await table.rematch("ghita too", match, 2, ghita)
    tokens = {0: elias, 1: faraj, 2: ghali}
    await table.play_out(again, tokens, lambda game: game.sequence >= 9)
    await table.resign("elias has enough", again, 0, elias)
    await table.record(again)


async def called_off(table: Table) -> None:
    """Called off before anyone came; left by one who never got ready."""
    made = await table.create("off", "cafe", "open", "open")
    await table.cancel("owner calls it off", made.match.id, -1, made.owner_token)
    made = await table.create("absent", "arabic", "open", "greedy")
    await table.join(
        "nobody", made.match.id, 0, client_commitment=commitment_of("never", made.match.id, 0)
    )
    await table.pass_time("not ready", made.match.id, 61)


async def bots_alone(table: Table) -> None:
    """Bots among themselves: dealt in the moment of its making, and played out by the server."""
    made = await table.create("bots", "arabic", "greedy", "random")
    await table.play_out(made.match.id, {})
    await table.record(made.match.id)


async def brief(table: Table) -> None:
    """A batch of a person and a bot, who resigns, and the rematch, which is called off."""
    made = await table.create("brief", "pagat", "open", "greedy")
    match = made.match.id
    token = await table.join("hind", match, 0)
    await table.play_out(match, {0: token}, lambda game: _at(game) >= (1, 2))
    await table.resign("hind resigns", match, 0, token)
    again, token = await table.rematch("hind again", match, 0, token)
    await table.play_out(again, {0: token}, lambda game: _at(game) >= (1, 1, Phase.PLAY))
    await table.cancel("hind leaves", again, 0, token)
    await table.record(match)


SCENARIOS: Final[dict[str, Scenario]] = {
    "two persons": two_persons,
    "four declare": four_declare,
    "opening": opening,
    "called off": called_off,
    "bots alone": bots_alone,
}


def _at(game: Game) -> tuple[Any, ...]:
    """Return hand, batch, phase and turn."""
    hand = game.match.hand if game.match else None
    return (hand.number, hand.batch, hand.phase, hand.turn) if hand else ()


async def _refused(reason: str, command: Awaitable[object]) -> None:
    """Check that a command is refused, in this life or an earlier one."""
    try:
        await command
    except RefusedError as problem:
        assert str(problem) == reason  # noqa: PT017 # pytest.raises() would hide another refusal
    else:
        raise AssertionError(f"not refused with {reason}")
