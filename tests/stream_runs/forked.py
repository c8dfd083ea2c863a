"""The command inside a forked process: a real process with its own descriptors, without seconds of importing.

A server process (``multiprocessing``'s own) imports this module once, which loads the compiled code; every run is a
fork of it.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import warnings

import numpy as np

from iegp.cli import app
from iegp.cli.models import settings_of
from iegp.fleet.keyed_learner import Fleets
from iegp.stream.learner import Learner
from iegp.stream.plan import Plan
from stream_runs.models import MODELS


def become(argv: list[str], folder: str, stdin: str, stdout: str, stderr: str, file_limit: int | None = None) -> None:
    """What the forked process does: stand where a shell would have put it, then run the command."""
    os.chdir(folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, (path, how) in enumerate(((stdin, os.O_RDONLY), (stdout, flags), (stderr, flags))):
        descriptor = os.open(path, how, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    warnings.simplefilter("error")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if file_limit is not None:
        # A write beyond the limit fails as on a full disk, instead of killing the process.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, resource.RLIM_INFINITY))
    sys.argv = ["iegp", *argv]
    try:
        app.main()
    finally:
        sys.stderr.flush()
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.flush()


def _load_compiled_code() -> None:
    """Once, before any fork: every kind of model learns a few rows."""
    x = np.random.default_rng(0).normal(size=(60, 2))
    labels = {"regression": x[:, 0], "classification": np.array(["a", "b"] * 30, dtype=object)}
    for task, y in labels.items():
        learner = Learner.begin(Plan("y", task), settings_of("default", task, 0, dict(MODELS[task])), 2)
        for start, stop in ((0, 50), (50, 51), (51, 60)):
            learner.learn(x[start:stop], y[start:stop])
        learner.predict(x[:1])
        learner.predict(x[:30])
    by_key = Fleets().begin(
        Learner.begin(Plan("y", "regression"), settings_of("default", "regression", 0, MODELS["regression"]), 2)
    )
    for start, stop in ((0, 40), (40, 60)):
        by_key.learn(x[start:stop], x[start:stop, 0], ("a",) * (stop - start))
    by_key.predict(x[:1], ("b",))


if os.environ.get("IEGP_TESTS_FORK_SERVER"):
    _load_compiled_code()
