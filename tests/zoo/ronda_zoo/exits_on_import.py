"""A module that ends whoever imports it."""

from __future__ import annotations

import os

os._exit(0)
