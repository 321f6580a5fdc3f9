"""What a bot author imports: the protocol, the view, the cards, and the registry of bots."""

from __future__ import annotations

from ronda_bots.api import Bot, Card, Event, SeatInfo, View

__all__ = ["Bot", "Card", "Event", "SeatInfo", "View"]
