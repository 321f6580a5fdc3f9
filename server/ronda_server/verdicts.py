"""What an answer of a remote bot comes to, once it has come in time."""

from __future__ import annotations

from ronda_core.cards import TEXT
from ronda_core.hand import Phase
from ronda_core.match import Cause
from ronda_core.view import Private
from ronda_server.game import Decision, Game, forfeit


def verdict(game: Game, own: Private, choice: tuple[str, object] | None) -> Decision:
    """Return the decision that an answer is: first whether it is one at all, then if it is legal.

    `choice` is a kind (card, declare or crash) and a value that nobody has looked at yet.
    """
    seat = own.seat
    kind, value = choice or ("", None)
    hand = game.match.hand if game.match else None
    if kind == "crash":
        detail = f"{value or 'a fault'} on the bot's own machine"
        return forfeit(seat, Cause.CRASH, detail)
    if hand and hand.phase is Phase.DECLARE:
        if kind != "declare":
            return forfeit(seat, Cause.PROTOCOL, "it did not say whether it declares")
        if value and not own.may_declare:
            return forfeit(seat, Cause.ILLEGAL, "it declared a set that it does not hold")
        return "answered", {"seat": seat, "declares": bool(value)}
    if kind != "card" or not isinstance(value, int):
        return forfeit(seat, Cause.PROTOCOL, "it answered with something but a card")
    if not 1 <= value <= 40:
        return forfeit(seat, Cause.PROTOCOL, "it answered with a number that is no card")
    if value not in own.hand:
        return forfeit(seat, Cause.ILLEGAL, "it played a card that it does not hold")
    return "played", {"seat": seat, "card": TEXT[value]}
