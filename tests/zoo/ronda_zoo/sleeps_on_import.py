"""A module that takes for ever to import."""

from __future__ import annotations

import time

from ronda_zoo.visitor import Visitor

time.sleep(3600)  # never to be imported


class SleepsOnImport(Visitor):
    """Is never there."""
