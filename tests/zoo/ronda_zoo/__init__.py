"""The zoo: bots that are hostile or broken, each in one way that its docstring says.

It is a distribution of its own, which the tests write into a folder and install as anybody's.
What a bot is up to it must achieve: it then says so in its log, where the tests read it.
"""

from __future__ import annotations
