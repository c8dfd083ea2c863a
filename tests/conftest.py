"""One Hypothesis profile for all tests: the same examples every time, and no deadline (the first call may compile).

Without compilation a row takes far longer: of tests marked ``plain_cases(n)`` n cases run then.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict

import pytest
from hypothesis import settings

from iegp._compile import COMPILED

# What the tests share is compiled beforehand (compiled/fill_cache.py): no second process for the rest.
os.environ.setdefault("IEGP_COMPILE_PROCESSES", "1")

settings.register_profile("iegp", deadline=None, derandomize=True)
settings.load_profile("iegp")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without compilation, keep as many cases of every test as its mark ``plain_cases`` says."""
    if COMPILED:
        return
    left_out = cases_left_out(items)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def cases_left_out(items: list[pytest.Item]) -> set[pytest.Item]:
    """Choose with a fixed seed, so that tests with equally many cases keep the same ones and share cached models."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("plain_cases"):
            cases[item.nodeid.partition("[")[0]].append(item)
    left_out: set[pytest.Item] = set()
    for own in cases.values():
        n_kept = own[0].get_closest_marker("plain_cases").args[0]  # type: ignore[union-attr]
        left_out |= set(random.Random(0).sample(own, max(len(own) - n_kept, 0)))
    return left_out
