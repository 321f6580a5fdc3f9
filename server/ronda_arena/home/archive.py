"""A wheel as a file: every name, kind and size in it, and every byte against its own list.

Nothing is written here, and nothing is unpacked further than its list says.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

MOST_BYTES: Final = 256 << 20
"""Of a wheel, and of all that comes out of the wheels of one bot."""
MOST_FILES: Final = 10_000
_LONGEST_PATH: Final = 200
_LONGEST_LIST: Final = 8 << 20
_ENTRY: Final = b"PK\1\2"
"""What a file's entry in the directory of an archive begins with."""
_CHUNK: Final = 1 << 20
_COMPRESSIONS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DIGEST: Final = re.compile(r"(sha256|sha384|sha512)=[A-Za-z0-9_-]{43,}=*")
_UNLISTED: Final = ("RECORD", "RECORD.jws", "RECORD.p7s")
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_UNREADABLE: Final = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError)


class WheelError(Exception):
    """A wheel that is not installed, and why."""


class Archive:
    """The files of a wheel, as its list has them."""

    def __init__(self, content: bytes) -> None:
        """Look at what is in it; `WheelError` where anything is not as in a wheel."""
        self.sha256 = hashlib.sha256(content).hexdigest()
        if content.count(_ENTRY) > 2 * MOST_FILES:  # before each is made an object; some are data
            raise WheelError(f"it holds more than {MOST_FILES} files")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(content))
        except _UNREADABLE as error:
            raise WheelError(f"it cannot be read: {error}") from None
        entries = self._zip.infolist()
        if len(entries) > MOST_FILES:
            raise WheelError(f"it holds more than {MOST_FILES} files")
        self.size = sum(entry.file_size for entry in entries)
        if self.size > MOST_BYTES:
            raise WheelError(f"it holds more than {MOST_BYTES >> 20} MiB")
        for entry in entries:
            _check_entry(entry)
        files = [entry for entry in entries if not entry.is_dir()]
        self.files: Final = {entry.filename: entry for entry in files}
        """By path."""
        _check_apart(entries)
        self._listed: dict[str, tuple[str, str]] = {}

    def read(self, path: str) -> bytes:
        """Return a file of metadata."""
        if self.files[path].file_size > _LONGEST_LIST:
            raise WheelError(f"{path} is too long")
        return b"".join(self._chunks(path))

    def check_content(self, info: str) -> None:
        """Hold every file against the list in the folder `info`; `WheelError` where it differs."""
        unlisted = {f"{info}/{name}" for name in _UNLISTED}
        self._listed = _list(self.read(f"{info}/RECORD"), unlisted)
        for path in self.files:
            if path not in self._listed and path not in unlisted:
                raise WheelError(f"{path} is not in its RECORD")
        for path, (_, size) in self._listed.items():
            entry = self.files.get(path)
            if entry is None:
                raise WheelError(f"its RECORD lists {path}, which it does not hold")
            if size and path not in unlisted and size != str(entry.file_size):
                raise WheelError(f"{path} has another size than its RECORD says")
        for path in self.files:
            for _ in self.content(path):
                pass  # to its end, where it is held against the list

    def content(self, path: str) -> Iterator[bytes]:
        """Yield the bytes of a file, which are those that its list has."""
        known, _ = self._listed.get(path, ("", ""))
        name, _, expected = known.partition("=")
        digest = hashlib.new(name or "sha256")
        for chunk in self._chunks(path):
            digest.update(chunk)
            yield chunk
        found = base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()
        if known and found != expected.rstrip("="):
            raise WheelError(f"{path} has another content than its RECORD says")

    def _chunks(self, path: str) -> Iterator[bytes]:
        left = self.files[path].file_size
        try:
            with self._zip.open(self.files[path]) as stream:
                while chunk := stream.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        break
                    yield chunk
        except _UNREADABLE as error:
            raise WheelError(f"{path} cannot be unpacked: {error}") from None
        if left:
            raise WheelError(f"{path} has another size than it says")


def load(path: Path) -> Archive:
    """Read a wheel, once: what is looked at is what is installed."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise WheelError(f"it cannot be read: {error.strerror or error}") from None
    if len(content) > MOST_BYTES:
        raise WheelError(f"it has more than {MOST_BYTES >> 20} MiB")
    return Archive(content)


def _check_entry(entry: zipfile.ZipInfo) -> None:
    # What zipfile makes of a name is not what stands there: it cuts it at a NUL.
    name = entry.orig_filename
    parts = name.removesuffix("/").split("/")
    if (
        name != entry.filename
        or not all(part not in ("", ".", "..") and part == part.strip() for part in parts)
        or "\\" in name
        or _DRIVE.match(name)
        or not name.isprintable()
    ):
        raise WheelError(f"{name[:_LONGEST_PATH]!a} would lie outside of its directory")
    if len(name.encode()) > _LONGEST_PATH:
        raise WheelError(f"a path has more than {_LONGEST_PATH} bytes")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFDIR if entry.is_dir() else stat.S_IFREG):
        raise WheelError(f"{name} is a link or a device: a wheel holds files")
    if entry.flag_bits & 0x1:
        raise WheelError(f"{name} is encrypted")
    if entry.compress_type not in _COMPRESSIONS:
        raise WheelError(f"{name} is compressed in another way than wheels are")


def _check_apart(entries: list[zipfile.ZipInfo]) -> None:
    """Refuse two things in one place, on any file system."""
    seen: dict[str, bool] = {}
    for entry in entries:
        path = PurePosixPath(_folded(entry.filename))
        if str(path) in seen and not (entry.is_dir() and seen[str(path)]):
            raise WheelError(f"{entry.filename} is in it twice")
        seen[str(path)] = entry.is_dir()
    for place in list(seen):
        for parent in PurePosixPath(place).parents:
            if not seen.get(str(parent), True):
                raise WheelError(f"{parent} is a file and a folder in it")


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _list(content: bytes, unlisted: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return digest and size by path, as a wheel's RECORD lists them."""
    listed: dict[str, tuple[str, str]] = {}
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise WheelError(f"its RECORD cannot be read: {error}") from None
    for row in rows:
        if not row:
            continue
        if len(row) != 3 or row[0] in listed:
            raise WheelError(f"its RECORD is none: line {len(listed) + 1}")
        path, known, size = row
        if path not in unlisted and not _DIGEST.fullmatch(known):
            raise WheelError(f"its RECORD has no digest of {path} that counts")
        listed[path] = ("" if path in unlisted else known, size)
    return listed
