"""What allocating memory costs in a pass over rows: page faults and system time, ``python benchmarks/page_faults.py``.

Memory that a block gives back to the system and the next one takes again would show as page faults.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource

import machine
import numpy as np

from iegp import presets

N_ROWS = 20_000


def main() -> None:
    print(machine.describe())
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N_ROWS, 21))
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=N_ROWS)
    # Experts that lose their weight would no longer be learned.
    model = presets.ie_gp(shutdown=0.0, random_state=0).fit(x[:1300], y[:1300])
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_SELF)
        model.partial_fit(x, y)
        after = resource.getrusage(resource.RUSAGE_SELF)
        faults = (after.ru_minflt - before.ru_minflt) / N_ROWS
        user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
        per_row = 1e6 / N_ROWS
        print(f"per row: {faults:.2f} page faults, user {per_row * user:.1f} us, system {per_row * system:.2f} us")


if __name__ == "__main__":
    main()
