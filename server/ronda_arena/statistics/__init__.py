"""Numbers from results: how sure a mean, a share, a rating or a verdict is.

Each room takes what `ronda_arena.tournament.results` tells of blocks, one at a time and in the
order of the schedule, and keeps sums: a million games take no more room than a thousand.
"""
