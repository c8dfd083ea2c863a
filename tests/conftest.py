"""One Hypothesis profile for all tests: the same examples every time, and no deadline (the first call may compile)."""

from __future__ import annotations

import os

from hypothesis import settings

# What the tests share is compiled beforehand (compiled/fill_cache.py): no second process for the rest.
os.environ.setdefault("IEGP_COMPILE_PROCESSES", "1")

settings.register_profile("iegp", deadline=None, derandomize=True)
settings.load_profile("iegp")
