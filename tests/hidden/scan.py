"""A reading of every byte of a run for what its reader may not know at that time."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet
from tests.hidden.deals import bot_seed
from tests.hidden.harness import Result
from tests.hidden.obs import TEXT
from tests.hidden.store import KEY, store
from tests.hidden.tape import Entry, parsed

from ronda.v1 import card_pb2, match_pb2

_CARD: Final = card_pb2.Card.DESCRIPTOR.full_name
_CARD_TEXT: Final = re.compile(rb"(?<![A-Za-z0-9])(?:[1-7]|1[0-2])[OCEB](?![A-Za-z0-9])")
_NOT_FOR_BOTS: Final = ("created", "joined", "ready", "cancel_agreed")
_FAULTS: Final = (b"'INTERNAL'", b"'UNKNOWN'", b"unknown exception", b"a task failed", b"Traceback")
_KINDS: Final = {
    "match_created": "created",
    "seat_joined": "joined",
    "seat_ready": "ready",
    "cards_dealt": "dealt",
    "declaration_answered": "answered",
    "declarations_revealed": "revealed",
    "card_played": "played",
}
"""Kinds of event as the rules' side calls them, where it does not use their names."""


def scan(result: Result) -> Iterator[str]:
    """Yield what somebody received and may not know, or may never know."""
    secrets = [(what, text) for what, texts in _secrets(result) for text in texts]
    for name, entries in result.tape.channels.items():
        viewer = int(name.removeprefix("seat ")) if name.startswith("seat ") else None
        everything = b"\n".join(entry.data for entry in entries)
        for what, text in secrets:
            if text in everything and not _own(name, what):
                at = next(entry.what for entry in entries if text in entry.data)
                yield f"{name}, at {at!r}: {what}"
        for entry in _with_numbers(result, entries):
            for problem in _read(result, entry, viewer):
                yield f"{name}, at {entry.what!r}: {problem}"
    if result.plan.visibility == match_pb2.VISIBILITY_PRIVATE:
        for entry in result.tape.channels["stranger"]:
            # The list of commitments holds every match there ever was, by its id alone.
            if entry.method != "ListCommitments" and result.ids["main"].encode() in entry.data:
                yield f"stranger, at {entry.what!r}: a private match"


def _with_numbers(result: Result, entries: list[Entry]) -> Iterator[Entry]:
    """Yield the entries of a channel; what a bot was told gets the number of its event."""
    mirror = result.mirrors.get("main")
    events = enumerate(mirror.events if mirror else (), start=1)
    numbers = [number for number, event in events if event.kind not in _NOT_FOR_BOTS]
    told = iter(numbers)
    for entry in entries:
        if entry.what == "made":  # again, after a restart: it lives its match once more
            told = iter(numbers)
        yield entry._replace(known=next(told, 0)) if entry.what == "told" else entry


def _own(name: str, what: str) -> bool:
    """Say whether a secret is given to whoever reads a channel."""
    given = what.startswith("invitation") and name == "owner"
    return given or what.startswith(f"token of {name} ")


def _secrets(result: Result) -> Iterator[tuple[str, list[bytes]]]:
    """Yield what nobody else may read, each in the forms in which it could be written."""
    for what, token in result.secrets.items():
        if token:
            yield what, [token[6:].encode()]  # with or without what all tokens begin with
    yield "the server's key", _forms(KEY)
    for number, master in enumerate(store().masters[:4]):
        yield f"master {number}", _forms(master)
    for seat in range(result.plan.setup.players):
        seed = bot_seed(result.plan.seed, seat)
        yield f"bot seed of seat {seat}", [str(seed).encode(), *_forms(seed.to_bytes(32, "big"))]


def _forms(secret: bytes) -> list[bytes]:
    digits = secret.hex().encode()
    return [
        secret,
        digits,
        digits.upper(),
        base64.b64encode(secret).rstrip(b"="),
        base64.b32encode(secret).rstrip(b"="),
        base64.b32encode(secret).rstrip(b"=").lower(),
        str(int.from_bytes(secret, "big")).encode(),
        str(int.from_bytes(secret, "little")).encode(),
        base64.urlsafe_b64encode(secret).rstrip(b"="),
    ]


def _read(result: Result, entry: Entry, viewer: int | None) -> Iterator[str]:
    if entry.cards and entry.known:
        yield from _unknown(entry.cards, _known(result, "main", entry.known, viewer))
    if not entry.method:
        yield from _text(entry.data)
    if entry.method == "ListMatches":
        yield from _unlisted(result, entry)
    if entry.method == "GetRecord":
        yield "a record before the end"
        return
    try:
        message = parsed(entry)
    except DecodeError:
        yield "bytes that are no message"
        return
    if message is None:
        return
    if len(message.SerializeToString()) != len(entry.data):
        yield "bytes that its message does not hold"
    yield from _unknown_fields(message)
    number = entry.known
    if entry.method == "frame":
        number, problem = _numbered(result, entry, message)
        if problem:
            yield problem
    yield from _unknown(_cards(message), _known(result, entry.match, number, viewer))


def _unlisted(result: Result, entry: Entry) -> Iterator[str]:
    public = result.plan.visibility == match_pb2.VISIBILITY_PUBLIC
    if not public and result.ids["main"].encode() in entry.data:
        yield "a match that is not public, in a list"


def _text(data: bytes) -> Iterator[str]:
    if _CARD_TEXT.search(data):
        yield f"a card as text: {data[:200]!r}"
    if b"rnd_" in data:
        yield "a token in a text"
    if any(word in data for word in _FAULTS):
        yield f"a fault of the server: {data[:200]!r}"


def _numbered(result: Result, entry: Entry, message: Any) -> tuple[int, str]:
    """Return the number of the event that a frame is about, and what is wrong with it."""
    events = result.mirrors[entry.match].events
    kind = message.WhichOneof("update")
    if kind is None:
        return 0, "a frame that says nothing"
    number = getattr(message, kind).sequence
    if not 0 < number <= len(events):
        return 0, f"event {number} of {len(events)}"
    if kind == "event":
        told = message.event.WhichOneof("kind")
        if _KINDS.get(told, told) != events[number - 1].kind:
            return number, f"event {number} is {told}, by the rules {events[number - 1].kind}"
    return number, ""


def _known(result: Result, match: str, number: int, viewer: int | None) -> frozenset[str]:
    mirror = result.mirrors.get(match)
    if mirror is None or not 0 < number <= len(mirror.events):
        return frozenset()
    return mirror.events[number - 1].known(viewer)


def _unknown(cards: tuple[int, ...], known: frozenset[str]) -> Iterator[str]:
    strange = [TEXT.get(card, str(card)) for card in cards if TEXT.get(card) not in known]
    if strange:
        yield f"cards that are not known yet: {' '.join(strange)}"


def _cards(message: Message) -> tuple[int, ...]:
    """Return the value of every field that is a card, wherever it is and whatever it is called."""
    found: list[int] = []
    for field, value in message.ListFields():
        if field.enum_type is not None and field.enum_type.full_name == _CARD:
            found += value if field.is_repeated else [value]
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                if isinstance(inner, Message):
                    found += _cards(inner)
    return tuple(found)


def _unknown_fields(message: Message) -> Iterator[str]:
    if len(UnknownFieldSet(message)):
        yield "a field that no description names"
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                if isinstance(inner, Message):
                    yield from _unknown_fields(inner)
