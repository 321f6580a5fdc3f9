"""The life of a ladder's driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ronda_server.tournaments import drive

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from ronda_server.ladders.told import Orders


def live(link: Connection, orders: Orders) -> None:
    """Drive: the life of the process."""
    drive.settle()
    from ronda_server.ladders import driver  # noqa: PLC0415 -- heavy, and for this process alone

    driver.drive(link, orders)
