"""One Hypothesis profile for all tests: the same examples every time, and no deadline (the first call may compile)."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("iegp", deadline=None, derandomize=True)
settings.load_profile("iegp")
