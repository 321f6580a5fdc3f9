"""`python -m ronda_cli` is `ronda`."""

from __future__ import annotations

from ronda_cli.start import main

if __name__ == "__main__":
    main()
