"""Games of remote bots, played for tournaments and ladders as hosted matches.

`told` crosses the pipe between a server and a driver; `at_tables` is the driver's side, an executor
like any other; `desk`, `tables` and `room` are the server's.
"""
