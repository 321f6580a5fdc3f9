"""The game of Ronda: cards, rules, hands, matches, views, deals and records.

Pure: no input or output, no clock, and no randomness of its own. Anything random, timed or
external comes in as an argument, so a replay, a recovery, a search and a test fold the same code.
"""

from __future__ import annotations
