"""Ray workers share the cache of compiled code of their machine, and may all start at once.

One of them compiles while the others wait; then they read what it left. Nobody compiles twice, and no two processes
write to the cache at a time.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from pathlib import Path

import numpy as np

from iegp.core.ensemble import start
from iegp.core.expert.bulk_learning import absorb_in_any_order
from iegp.core.model import Online

_done: list[bool] = []


def compile_in_turn(model: Online) -> None:
    """Learn a row in vain, once in this process, one process of the machine at a time."""
    if _done:
        return
    # Ray brings this library.
    file_lock = importlib.import_module("filelock").FileLock
    ensemble = model.experts.ensemble
    with file_lock(Path(tempfile.gettempdir()) / f"iegp-compiling-{os.getuid()}.lock"):
        absorb_in_any_order(ensemble, start(ensemble), np.zeros((1, model.n_columns)), np.zeros((1, model.n_outputs)))
    _done.append(True)
