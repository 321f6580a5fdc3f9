"""Who calls: tokens, their digests, and what each method needs.

Tokens are derived, so that a lost reply loses nothing: the same request id gives the same token.
What is stored is a keyed digest; neither the log nor a backup holds a token.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import re
import string
import tempfile
import zlib
from enum import Enum
from pathlib import Path
from typing import Final

from ronda_server.errors import ConfigError, Reason, ServiceError

OWNER: Final = "o"
SEAT: Final = "s"
INVITATION: Final = "i"

_API_KEY: Final = re.compile(r"(rnd_k_([a-z2-7]{8})_[A-Za-z0-9_-]{43})_([0-9A-Za-z]{6})", re.ASCII)
_ADMIN_KEY: Final = re.compile(r"rnd_a_[A-Za-z0-9_-]{43}", re.ASCII)
_DIGITS: Final = string.digits + string.ascii_letters

_SCHEME: Final = "Bearer "


class Needs(Enum):
    """What a method asks of its caller; the match itself decides whether the token fits."""

    NOTHING = "nothing"
    """Anyone; a private match asks for one of its tokens all the same."""
    TOKEN = "token"
    """A token of the match."""
    KEY = "key"
    """An API key of an account."""
    ADMIN = "admin"
    """The admin key, on the listener of its own."""


_SERVICE: Final = "/ronda.v1.MatchService/"
_TOURNAMENTS: Final = "/ronda.v1.TournamentService/"
_LADDERS: Final = "/ronda.v1.LadderService/"
_ADMIN: Final = "/ronda.admin.v1.AdminService/"

ACCESS: Final = {
    f"{_SERVICE}GetMatch": Needs.NOTHING,
    f"{_SERVICE}ListMatches": Needs.NOTHING,
    f"{_SERVICE}CreateMatch": Needs.NOTHING,
    f"{_SERVICE}JoinMatch": Needs.NOTHING,
    f"{_SERVICE}ReadySeat": Needs.TOKEN,
    f"{_SERVICE}CancelMatch": Needs.TOKEN,
    f"{_SERVICE}Declare": Needs.TOKEN,
    f"{_SERVICE}PlayCard": Needs.TOKEN,
    f"{_SERVICE}Resign": Needs.TOKEN,
    f"{_SERVICE}Rematch": Needs.TOKEN,
    f"{_SERVICE}WatchMatch": Needs.NOTHING,
    f"{_SERVICE}GetRecord": Needs.NOTHING,
    f"{_SERVICE}ListCommitments": Needs.NOTHING,
    "/ronda.v1.BotService/ListBots": Needs.NOTHING,
    "/ronda.v1.BotService/Connect": Needs.KEY,
    f"{_TOURNAMENTS}CreateTournament": Needs.KEY,
    f"{_TOURNAMENTS}CancelTournament": Needs.KEY,
    f"{_TOURNAMENTS}GetTournament": Needs.NOTHING,
    f"{_TOURNAMENTS}ListTournaments": Needs.NOTHING,
    f"{_TOURNAMENTS}ListGames": Needs.NOTHING,
    f"{_TOURNAMENTS}GetStandings": Needs.NOTHING,
    f"{_TOURNAMENTS}WatchTournament": Needs.NOTHING,
    f"{_LADDERS}ListRatings": Needs.NOTHING,
    f"{_LADDERS}GetRating": Needs.NOTHING,
    f"{_LADDERS}WatchLadder": Needs.NOTHING,
    f"{_ADMIN}CreateKey": Needs.ADMIN,
    f"{_ADMIN}ListKeys": Needs.ADMIN,
    f"{_ADMIN}RevokeKey": Needs.ADMIN,
    f"{_ADMIN}ListRemoteBots": Needs.ADMIN,
    f"{_ADMIN}FreeBotName": Needs.ADMIN,
    f"{_ADMIN}Drain": Needs.ADMIN,
    f"{_ADMIN}GetIsolation": Needs.ADMIN,
    f"{_ADMIN}GetBotLog": Needs.ADMIN,
    "/grpc.health.v1.Health/Check": Needs.NOTHING,
    "/grpc.health.v1.Health/List": Needs.NOTHING,
    "/grpc.health.v1.Health/Watch": Needs.NOTHING,
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo": Needs.NOTHING,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": Needs.NOTHING,
}
"""Deny by default: a method that is missing here keeps the server from starting."""


def bearer(method: str, metadata: object) -> str:
    """Return the token a call brings, empty if none; refuse what the method's entry does not allow.

    A header that is there but is not of the right form is a bad token, never no token.
    """
    token = ""
    for key, value in metadata or ():  # type: ignore[attr-defined] # grpc types it as object
        if key == "authorization":
            if not isinstance(value, str) or not value.startswith(_SCHEME) or token:
                raise ServiceError(Reason.BAD_TOKEN)
            token = value[len(_SCHEME) :].strip()
            if not token:
                raise ServiceError(Reason.BAD_TOKEN)
    if not token and ACCESS[method] is not Needs.NOTHING:
        raise ServiceError(Reason.TOKEN_REQUIRED)
    return token


class Keys:
    """Everything derived from the server's one key."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if not 32 <= len(key) <= 64:
            raise ValueError("the server key has 32 to 64 bytes")
        self._key = key

    def token(self, kind: str, match_id: str, seat: int, request: bytes) -> str:
        """Return the token that a request earns, such as ``rnd_s_...``."""
        mac = self._mac("token", kind.encode(), match_id.encode(), bytes([seat]), request)
        return f"rnd_{kind}_{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"

    def digest(self, token: str) -> bytes:
        """Return what is stored of a token."""
        return self._mac_of("digest", token.encode())

    def request(self, request_id: str) -> bytes:
        """Return what is stored of a request id; with it alone no token can be made."""
        return self._mac_of("request", request_id.encode())[:16]

    def api_key(self, request: bytes) -> tuple[str, str]:
        """Return the id of the API key that a request earns, and the key itself."""
        key_id = base64.b32encode(self._mac("key id", request)[:5]).decode().lower()
        secret = base64.urlsafe_b64encode(self._mac("api key", request)).rstrip(b"=").decode()
        text = f"rnd_k_{key_id}_{secret}"
        return key_id, f"{text}_{_checksum(text)}"

    def guest(self, match_id: str, seat: int, request: bytes) -> str:
        """Return the pseudonymous account id of someone without an account."""
        mac = self._mac("guest", match_id.encode(), bytes([seat]), request)
        return "guest-" + base64.b32encode(mac[:10]).decode().lower()

    def page(self, text: str) -> str:
        """Return a page token for `text`, which only this server can make."""
        mac = self._mac("page", text.encode())[:9]
        return base64.urlsafe_b64encode(mac + text.encode()).decode()

    def read_page(self, token: str) -> str:
        """Return the text of a page token, or refuse it."""
        try:
            text = base64.urlsafe_b64decode(token.encode("ascii"))[9:].decode("ascii")
        except (ValueError, UnicodeError):
            raise ServiceError(Reason.BAD_PAGE_TOKEN, field="page_token") from None
        if not hmac.compare_digest(token, self.page(text)):  # whole: decoding skips what it can
            raise ServiceError(Reason.BAD_PAGE_TOKEN, field="page_token")
        return text

    def _mac(self, label: str, *parts: bytes) -> bytes:
        return self._mac_of(label, b"".join(len(part).to_bytes(4, "big") + part for part in parts))

    def _mac_of(self, label: str, data: bytes) -> bytes:
        # BLAKE2 is keyed and labelled by itself, and ten times as fast as HMAC through OpenSSL 3.
        person = label.encode()
        return hashlib.blake2b(data, key=self._key, person=person, digest_size=32).digest()


def is_api_key(token: str) -> bool:
    """Say whether a token can be an API key: what was mistyped is not looked up."""
    found = _API_KEY.fullmatch(token)
    return found is not None and _checksum(found[1]) == found[3]


def _checksum(text: str) -> str:
    """Return six letters and digits that show a slip of the pen, and to scanners what this is."""
    number = zlib.crc32(text.encode())
    digits = ""
    for _ in range(6):
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def load_key(path: Path) -> bytes:
    """Return the key kept in `path`, made on first use and readable by its owner only."""
    return _kept(path, os.urandom(32))


def load_admin_key(path: Path) -> str:
    """Return the admin key kept in `path`, made on first use and readable by its owner only.

    `ConfigError` if something else is kept there.
    """
    made = base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=")
    kept = _kept(path, b"rnd_a_" + made + b"\n")
    key = kept.decode("ascii", "replace").strip()
    if not _ADMIN_KEY.fullmatch(key):
        raise ConfigError(f"{path} holds no admin key")
    return key


def _kept(path: Path, content: bytes) -> bytes:
    """Return what is kept in `path`, and keep `content` there if it is not there yet."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:  # made below
        return file.read(65)  # one more than a key may have; a device would have no end
    # Written aside and then linked: there is a whole key or none, and one only, whoever is killed
    # or starts at the same moment.
    handle, aside = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):  # another was first
            os.link(aside, path)
    finally:
        Path(aside).unlink()
    _keep_name(path)
    return path.read_bytes()


def _keep_name(path: Path) -> None:
    """Flush the folder of `path`: a file whose name is not on disk is lost with the power."""
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
