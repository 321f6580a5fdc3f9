"""Where the program begins: what has to hold before anything else is imported.

Ctrl-C in the first moments, while modules are read, and in the last, while the interpreter ends,
has nobody yet, or any more, to tell it in words.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Final, NoReturn

_RESUMED: Final = (["tournament", "run"], ["ladder", "run"])
"""Commands that go on with what they have begun when they are given again."""
_INTERRUPTED: Final = 130
_SEED: Final = "--seed"


def again(words: Sequence[str]) -> str:
    """Return the command that goes on with what these words began; empty: there is none.

    A seed is as secret as what is dealt from it, and what is told here may end up in a log.
    """
    if [word for word in words if not word.startswith("-")][:2] not in _RESUMED:
        return ""
    import shlex  # noqa: PLC0415 -- only where it is told

    told = [
        "SEED" if before == _SEED else f"{_SEED}=SEED" if word.startswith(f"{_SEED}=") else word
        for before, word in zip(("", *words), words, strict=False)
    ]
    return shlex.join(["ronda", *told])


def interrupted(hint: str) -> str:
    """Return what is said of Ctrl-C."""
    return f"interrupted; go on with: {hint}" if hint else "interrupted"


def main() -> NoReturn:
    """Be the command `ronda`."""
    before = signal.getsignal(signal.SIGINT)
    heard = before is signal.default_int_handler  # not so where Ctrl-C is ignored
    if heard:
        signal.signal(signal.SIGINT, _at_once)
    sys.unraisablehook = _not_lost
    from ronda_cli.main import main as run  # noqa: PLC0415 -- see above

    try:
        if heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        _at_once()
    finally:
        if heard:
            signal.signal(signal.SIGINT, _at_once)


def _at_once(_number: int = signal.SIGINT, _frame: FrameType | None = None) -> NoReturn:
    """Say it and end: there is nothing to be put in order."""
    told = f"{interrupted(again(sys.argv[1:]))}\n"
    try:
        os.write(2, told.encode("utf-8", "backslashreplace"))
    finally:
        os._exit(_INTERRUPTED)


def _not_lost(lost: sys.UnraisableHookArgs) -> None:
    """Raise Ctrl-C again that came where nothing can be raised, such as in a finalizer."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    import threading  # noqa: PLC0415 -- only where it is needed

    waited_for = threading.main_thread().ident, signal.SIGINT
    once_more = threading.Timer(0.01, signal.pthread_kill, waited_for)  # when that is left
    once_more.daemon = True
    once_more.start()
