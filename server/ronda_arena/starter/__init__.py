"""A package of a bot from nothing: a bot, its test on a recorded match, and what installs it.

The files lie beside this module, as `string.Template`; a test makes a package of them, lets every
tool look at it, installs it and plays with it.
"""

from __future__ import annotations

import builtins
import keyword
import re
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Final

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?", re.ASCII)
_IMPORTED: Final = frozenset({"Card", "Random", "SeatInfo", "View"})
"""Names that the bot's module has already."""


class StarterError(ValueError):
    """A package that cannot be made, and why."""


def check_name(name: str) -> None:
    """Raise `StarterError` for a name that no bot can have."""
    if not _NAME.fullmatch(name):
        raise StarterError(
            "a bot's name has 1 to 64 letters, digits, - and _, with a letter or digit at both ends"
        )


def distribution_of(name: str) -> str:
    """Return the name of the package that brings the bot `name`."""
    return f"ronda-bot-{re.sub('[-_]+', '-', name).lower()}"


def make(name: str, where: Path) -> list[Path]:
    """Write the package of a bot `name` to the folder `where`, which must not be there yet.

    Return the files, in the order in which they are worth reading.
    """
    check_name(name)
    module = distribution_of(name).replace("-", "_")
    words = {
        "name": name,
        "distribution": distribution_of(name),
        "module": module,
        "class_name": _class_name(name),
    }
    try:
        where.mkdir()
    except FileExistsError:
        raise StarterError(f"{where} is there already, and nothing of it is overwritten") from None
    made = {
        f"src/{module}/__init__.py": _filled("bot.py.txt", words),
        "tests/test_bot.py": _filled("test_bot.py.txt", words),
        "tests/match.jsonl": _raw("match.jsonl"),
        "pyproject.toml": _filled("pyproject.toml.txt", words),
        "README.md": _filled("README.md.txt", words),
        f"src/{module}/py.typed": "",
        ".gitignore": _raw("gitignore.txt"),
    }
    for path, content in made.items():
        file = where / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
    return [where / path for path in made]


def _raw(file: str) -> str:
    return (files(__package__) / file).read_text(encoding="utf-8")


def _filled(file: str, words: dict[str, str]) -> str:
    return Template(_raw(file)).substitute(words)


def _class_name(name: str) -> str:
    """Return a name for the class that is none of Python's and none of the module's."""
    camel = "".join(part[:1].upper() + part[1:] for part in re.split("[-_]+", name))
    free = camel[0].isalpha() and not keyword.iskeyword(camel) and not hasattr(builtins, camel)
    return camel if free and camel not in _IMPORTED else f"Bot{camel}"
