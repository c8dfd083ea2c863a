"""``iegp fit-history``: Parquet files learned in parallel, saved as an estimator."""

from __future__ import annotations

import sys
import time
from typing import Any

from iegp.cli.flags import UsageError, check_choice, check_free, check_outputs
from iegp.cli.options import HistoryOptions
from iegp.cli.printable import printable
from iegp.errors import InputError
from iegp.estimators import IEGPRegressor
from iegp.history.fit import fit_history
from iegp.history.parts import columns_in, find_files, not_numbers_in
from iegp.history.workers import ENGINES

# Experts that can be merged: their beliefs do not depend on the order of rows.
STATIC: dict[str, Any] = {"drift_var": 0.0, "weights": "bayes", "shutdown": 0.0, "noise_forgetting": 1.0}


def learn_history(options: HistoryOptions) -> int:
    """Learn, save, say how it went on standard error; the exit code."""
    check_choice("engine", options.engine, *ENGINES)
    check_free("save", options.save, options.overwrite)
    check_outputs((options.source,), save=options.save)
    paths = find_files(options.source)
    features = _features(options, paths[0])
    begun = time.monotonic()

    def progress(n_rows: int) -> None:
        if not options.quiet:
            _say(f"{n_rows:,} rows learned, {n_rows / (time.monotonic() - begun):,.0f} rows/s")

    model = fit_history(
        paths,
        IEGPRegressor(**STATIC, random_state=options.seed),
        engine=options.engine,
        n_workers=options.workers,
        target=options.target,
        features=features,
        progress=progress,
    )
    (model.go_live() if options.live else model).save(options.save)
    if not options.quiet:
        kind, files = "live" if options.live else "static", "file" if len(paths) == 1 else "files"
        _say(f"{options.save}: a {kind} model of {model.n_samples_seen_:,} rows from {len(paths)} {files}")
    return 0


def _features(options: HistoryOptions, path: str) -> list[str] | None:
    if options.features is not None and options.ignore:
        raise UsageError("--features and --ignore are both given; one of them is enough")
    if options.features is not None:
        return list(options.features)
    used = [name for name in columns_in(path) if name not in (*options.ignore, options.target)]
    wrong = not_numbers_in(path, used)
    if wrong:
        raise InputError(
            f"{path} has columns that are not numbers: {', '.join(wrong.values())}; leave them out with "
            f"--ignore {','.join([*options.ignore, *wrong])}"
        )
    return used if options.ignore else None


def _say(text: str) -> None:
    sys.stderr.write(f"iegp: {printable(text)}\n")
