"""What a person is asked, and what the answer means."""

from __future__ import annotations

from collections.abc import Sequence

from ronda_cli.picture import Picture
from ronda_cli.text import one_line
from ronda_core.cards import BadCardError, Card, cards_text, parse_card

LEAVE = frozenset({"q", "quit", "exit"})


class PuzzledError(Exception):
    """An answer that means nothing here; the text says what would."""


class LeftError(KeyboardInterrupt):
    """The person has left. Whoever asks a bot takes it for what it is and not for a crash."""


def question(picture: Picture) -> str:
    """Return what to ask the viewer now, or nothing. Short: it stands in a line of 40 cells."""
    if picture.seat is None or picture.seat not in picture.waits_for:
        return ""
    if picture.phase == "declare":
        set_held = "Declare your set? (Y/n; q leaves): "
        return set_held if picture.may_declare else "No set to declare. Enter goes on: "
    if not picture.hand:
        return ""
    if len(picture.hand) == 1:
        return f"Enter plays {picture.hand[0]} (q leaves): "
    return f"Card (1-{len(picture.hand)} or {picture.hand[0]}; q leaves): "


def card_of(answer: str, hand: Sequence[Card]) -> Card:
    """Return the card that an answer means: its text, or its number in the hand."""
    word = answer.strip().upper()
    if not word and len(hand) == 1:
        return hand[0]
    if word.isascii() and word.isdigit() and len(word) < 4:
        if 1 <= int(word) <= len(hand):
            return hand[int(word) - 1]
        raise PuzzledError(f"Type a number from 1 to {len(hand)}, or the card, such as {hand[0]}.")
    try:
        card = parse_card(word)
    except BadCardError:
        raise PuzzledError(
            f"{one_line(answer, 20)!r} is no card. Type its number or its text, such as {hand[0]}."
        ) from None
    if card not in hand:
        raise PuzzledError(f"You do not hold {card}; you hold {cards_text(hand)}.")
    return card


def declares(answer: str, picture: Picture) -> bool:
    """Return whether an answer declares; Enter declares what is held."""
    if not picture.may_declare:
        return False
    word = answer.strip().lower()
    if word in ("", "y", "yes"):
        return True
    if word in ("n", "no"):
        return False
    raise PuzzledError("Type y to declare it or n to keep it silent.")


def leaves(answer: str) -> bool:
    """Say whether an answer asks to leave."""
    return answer.strip().lower() in LEAVE
