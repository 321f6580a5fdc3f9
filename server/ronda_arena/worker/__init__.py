"""Bots in processes of their own: the frames between, both ends, and what confines a bot.

`wire` says what goes over the socket; `child` is the end with the bot, forked by `template` and
shut in by `confine`; `nursery` starts and buries workers; `seat` asks one for decisions.
"""

from __future__ import annotations
