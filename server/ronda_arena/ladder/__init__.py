"""The ladder: bots that play for ever, and how they stand.

`plan` says what is played, `facts` what is written down, `standings` what follows from that and
from nothing else, `ratings` and `residuals` the numbers in it, `rows` how it is told, `pairing` who
of the `pool` meets next, `guests` what is asked of a server whose remote bots play, `store` what is
on disk, `arrivals` who came and who went, and `run` the way through them. All but the last three
are free of disk and clock.
"""
