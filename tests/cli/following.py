"""What tests of following share: a match with names, and patience that waits for no clock."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
from tests.cli.games import Game

from ronda_cli.follow import Patience

NAMES = ("Amine", "Zineb", "Idir", "Rym")
CODES = grpc.StatusCode


def game(players: int = 2, preset: str = "cafe", seed: int = 4, **more: Any) -> Game:
    return Game(preset, players, seed, names=NAMES, **more)


async def no_time(_: float) -> None:
    await asyncio.sleep(0)  # a turn of the loop


def quick(**more: Any) -> Patience:
    return Patience(**{"sleep": no_time, "seconds": 5.0, **more})
