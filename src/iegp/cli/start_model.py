"""``--start-from``: a run that continues with a model of ``iegp fit-history`` or of Python."""

from __future__ import annotations

from typing import NamedTuple

from iegp.cli.flags import UsageError, as_usage
from iegp.cli.options import StreamOptions
from iegp.core.model import Online
from iegp.estimators import IEGPRegressor
from iegp.estimators.storage import load
from iegp.readers import Source

# Options that say what a model is, or what its columns are: a model that exists has its own.
_SETTLED = ("model", "parameters", "seed", "delay", "lags", "conformal", "drift_per", "key", "features", "time")


class StartModel(NamedTuple):
    """A model that has learned, and the names of its columns in order."""

    model: Online
    columns: tuple[str, ...]


def read_start(options: StreamOptions, task: str, source: Source) -> StartModel:
    """The model of ``--start-from``; an error that says why it cannot continue with this source."""
    path = options.start_from or ""
    settled = [f"--{name.replace('_', '-')}" for name in _SETTLED if name in options.given]
    if settled:
        raise UsageError(f"--start-from {path} has its own settings and columns: leave out {', '.join(settled)}")
    estimator = as_usage(lambda: load(path))
    if not isinstance(estimator, IEGPRegressor) or not estimator.labels_.single_output or task != "regression":
        kind = type(estimator).__name__
        raise UsageError(f"--start-from {path} is an {kind}, and the task is {task}; both must be of single numbers")
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise UsageError(f"--start-from {path} has learned an array without names of columns; fit it on a table")
    if estimator.has_encoded_columns:
        raise UsageError(
            f"--start-from {path} has learned columns of text, dates or objects, whose meaning only Python goes on "
            "with; fit it on columns of numbers, or go on in Python"
        )
    start = StartModel(estimator.model_, tuple(map(str, names)))
    _check(start, options, source)
    return start


def _check(start: StartModel, options: StreamOptions, source: Source) -> None:
    path, settings = options.start_from, start.model.settings
    missing = [name for name in start.columns if source.names and name not in source.names]
    if missing:
        raise UsageError(f"--start-from {path} has learned columns that the source lacks: {', '.join(missing)}")
    if options.target in start.columns:
        raise UsageError(f"--start-from {path} has {options.target} as an input, so it cannot be the target")
    if settings.drift_per == "time":
        raise UsageError(f"--start-from {path} drifts with time, which files of Python do not say; continue in Python")
    if settings.conformal and options.level not in settings.conformal:
        raise UsageError(f"--level {options.level:g} is none of the levels that {path} keeps: {settings.conformal}")
