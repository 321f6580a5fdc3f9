"""Bots beside the environment: wheels, looked through, unpacked, and never touched again.

A bot that is installed into the environment of a server is trusted with it: its wheel may bring
files that Python runs at every start, or modules in the place of others. Here a wheel is read as
data and refused whole if anything of it would lie elsewhere than in a directory of its own.

archive, wheel   what a wheel holds, and what is refused before anything is written
needs            what a wheel requires, of the wheels that came with it
shelf            where bots are kept, and what lies there
install          one directory made, or one taken away, whole or not at all
seal             whether what lies there is what was installed
standing         which of them may play
faults           when one has failed so often that it may not
found            the bots of it all, for discovery
"""
