"""The geometric covering of time by intervals, one learner of AdaRaker for each.

Level j has the intervals ``[i 2^j, (i + 1) 2^j - 1]``, i = 1, 2, ...; so row t (counted from 1) lies in one interval
of each level 0 .. floor(log2 t), and any period is covered by few of them (Daniely, Gonen, Shalev-Shwartz 2015, which
AdaRaker builds on).
"""

from __future__ import annotations

from iegp._compile import compiled

# Enough for 2^40 rows.
MAX_LEVELS = 40


@compiled
def n_active(t: int) -> int:
    """Count the intervals that hold row t: levels 0 .. floor(log2 t)."""
    levels = 0
    while t > 0 and levels < MAX_LEVELS:
        t >>= 1
        levels += 1
    return levels


@compiled
def begins(t: int, level: int) -> bool:
    """Return whether an interval of this level begins with row t."""
    return t >= (1 << level) and t % (1 << level) == 0


def active_intervals(t: int) -> list[tuple[int, int]]:
    """First and last row of every interval that holds row t, shortest first.

    >>> active_intervals(6)
    [(6, 6), (6, 7), (4, 7)]
    """
    starts = [(t >> level) << level for level in range(n_active(t))]
    return [(start, start + (1 << level) - 1) for level, start in enumerate(starts)]
