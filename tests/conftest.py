"""What holds for all tests."""

from __future__ import annotations

import signal

# Whatever starts the tests in the background may have had them ignore Ctrl-C, and with them all
# that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
