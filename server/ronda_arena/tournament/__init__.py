"""Tournaments: what is to be played, by whom and where, and what is known so far.

`spec` says what is wanted, `formats` who meets whom, `blocks` who sits where, `play` how one game
comes to its record, `executors` where it is played, `store` what is on disk, `run` the way through
them, and `results` is what statistics and reports read.
"""
