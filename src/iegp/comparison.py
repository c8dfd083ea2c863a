"""Several models on several streams under one protocol: a tidy table of scores, paired differences, a figure."""

from __future__ import annotations

import contextlib
import csv
import inspect
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from iegp import plots
from iegp._docstrings import entries, fill_docstrings
from iegp._imports import on_demand, optional
from iegp.errors import InputError
from iegp.evaluate.protocol import AnyRun, prequential
from iegp.evaluate.runs import ClassificationRun, PrequentialRun

_KEYS = ("model", "stream", "seed")
DOCS = entries("""
score : str, default=None
    Name of the score; ``None`` is the first one.
""")


@fill_docstrings(DOCS)
@dataclass(frozen=True, repr=False)
class Comparison:
    """Scores of every model on every stream with every seed.

    Parameters
    ----------
    rows : list of dict
        One for each run: ``model``, ``stream``, ``seed``, the scores, and ``microseconds`` of processor time per row.
    """

    rows: list[dict[str, Any]]

    @property
    def models(self) -> list[str]:
        """Names of the models."""
        return list(dict.fromkeys(row["model"] for row in self.rows))

    @property
    def streams(self) -> list[str]:
        """Names of the streams."""
        return list(dict.fromkeys(row["stream"] for row in self.rows))

    @property
    def scores(self) -> list[str]:
        """Names of the scores."""
        return [name for name in dict.fromkeys(name for row in self.rows for name in row) if name not in _KEYS]

    def values(self, model: str, stream: str, score: str) -> Any:
        """Return one score of all seeds.

        Parameters
        ----------
        model, stream : str
            Names.
        score : str
            Name of the score, such as ``"nmse"``.

        Returns
        -------
        ndarray (n_seeds,)
            Scores, in the order of the seeds.
        """
        for name, known in ((model, self.models), (stream, self.streams), (score, self.scores)):
            if name not in known:
                raise InputError(f"{name!r} is not among {', '.join(map(repr, known))}")
        found = [row.get(score, np.nan) for row in self.rows if (row["model"], row["stream"]) == (model, stream)]
        return np.array(found, dtype=np.float64)

    def paired(self, first: str, second: str, score: str | None = None) -> list[dict[str, Any]]:
        """Compare two models seed by seed, with Student's test of the paired differences.

        Parameters
        ----------
        first, second : str
            Names of the models.
        {score}

        Returns
        -------
        list of dict
            For each stream the mean ``difference`` (first less second), its 95 % interval ``lower``, ``upper``, and the
            ``p_value``; these are NaN with fewer than two seeds.
        """
        rows = []
        for stream in self.streams:
            both = [self.values(model, stream, score or self.scores[0]) for model in (first, second)]
            rows.append({"stream": stream} | _paired(both[0] - both[1]))
        return rows

    def to_frame(self) -> Any:
        """Return the table as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            A row for each run.
        """
        return optional("pandas", "to_frame").DataFrame(self.rows)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file.

        Parameters
        ----------
        path : str or path
            The file; an existing one is replaced.
        """
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, [*_KEYS, *self.scores])
            writer.writeheader()
            writer.writerows(self.rows)

    def plot(self, score: str | None = None) -> Any:
        """Draw one score: a panel for each stream, a line for each model, a dot for each seed.

        {parameters}

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        return plots.plot_comparison(self, score or self.scores[0])

    def table(self, score: str | None = None) -> str:
        """Return medians over seeds as a table, streams by models.

        {parameters}

        Returns
        -------
        str
            Lines of text.
        """
        name = score or self.scores[0]
        widths = [max(9, len(model)) for model in self.models]
        first = max(len(stream) for stream in [*self.streams, name])
        lines = [f"{name:<{first}}" + "".join(f"  {m:>{w}}" for m, w in zip(self.models, widths, strict=True))]
        for stream in self.streams:
            cells = [f"{np.median(self.values(model, stream, name)):.4g}" for model in self.models]
            lines.append(f"{stream:<{first}}" + "".join(f"  {c:>{w}}" for c, w in zip(cells, widths, strict=True)))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.table()


def compare(
    models: Mapping[str, Any],
    streams: Mapping[str, Any],
    *,
    delay: int | Mapping[str, int] | None = None,
    seeds: int | Sequence[int] = 1,
    warmup: int = 500,
    verbose: bool = True,
) -> Comparison:
    """Run models on streams under one protocol: each row is predicted before it is learned, its label after a delay.

    Parameters
    ----------
    models : dict of str to model
        Models of ours, of scikit-learn (with ``partial_fit``, also at the end of a pipeline) or of River, which are
        copied for every run and get the seed where they have one; or functions that make a model from a seed.
    streams : dict of str to Stream or (X, y)
        Rows in order of arrival.
    delay : int, dict of str to int, or None, default=None
        How many rows late labels come, for all streams or by name; ``None`` is what a :class:`~iegp.datasets.Stream`
        says of itself, else 0. Models of ours get it as their ``delay``.
    seeds : int or sequence of int, default=1
        How many seeds, or which.
    warmup : int, default=500
        Rows at the start of each stream that are not scored; the transformers of pipelines are fitted on them.
    verbose : bool, default=True
        Print a line on stderr after each run.

    Returns
    -------
    Comparison
        Scores of all runs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import SGDRegressor
    >>> import iegp
    >>> from iegp.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(300, 1))
    >>> ours = iegp.IEGPRegressor([RBF(1.0)], n_frequencies=10, warmup=50)
    >>> found = iegp.compare({"ours": ours, "linear": SGDRegressor()}, {"sine": (X, np.sin(2 * X[:, 0]))},
    ...                      seeds=2, warmup=100, verbose=False)
    >>> bool(found.values("ours", "sine", "nmse").max() < found.values("linear", "sine", "nmse").min())
    True
    """
    numbers = list(range(seeds) if isinstance(seeds, int) else seeds)
    _check(models, streams, numbers)
    rows = []
    for stream, data in streams.items():
        X, y = (data.X, data.y) if hasattr(data, "X") else data
        late = _delay_of(stream, data, delay)
        if not 0 <= warmup < len(y):
            raise InputError(f"warmup={warmup} leaves nothing of the {len(y)} rows of stream {stream!r} to score")
        for name, model in models.items():
            for seed in numbers:
                with _named(f"model {name!r} on stream {stream!r} with seed {seed}"):
                    scores = _scores(_copy(model, seed, late), X, np.asarray(y), late, warmup)
                rows.append({"model": name, "stream": stream, "seed": seed} | scores)
                if verbose:
                    sys.stderr.write(_line(rows[-1]) + "\n")
    return Comparison(rows)


def _check(models: Any, streams: Any, seeds: list[int]) -> None:
    """Refuse what is noticed before the first run."""
    for name, value, example in (
        ("models", models, '{"ours": IEGPRegressor()}'),
        ("streams", streams, '{"bikes": (X, y)}'),
    ):
        if not isinstance(value, Mapping) or not value:
            what = "is empty" if isinstance(value, Mapping) else f"is a {type(value).__name__}"
            raise InputError(f"{name} {what}; name each of them, as {name}={example}")
    if not seeds:
        raise InputError("seeds names no seed; pass a number of at least 1, or a list such as [0, 1]")
    for name, model in models.items():
        if not (hasattr(model, "learn_one") or hasattr(model, "get_params") or callable(model)):
            raise InputError(f"model {name!r} is {model!r:.80}; pass a model, or a function that makes one from a seed")


@contextlib.contextmanager
def _named(run: str) -> Iterator[None]:
    """Errors of models of any package say in which run they occurred."""
    try:
        yield
    except Exception as error:
        error.add_note(f"iegp.compare: {run}")
        raise


def _delay_of(stream: str, data: Any, delay: int | Mapping[str, int] | None) -> int:
    if delay is None:
        return int(getattr(data, "delay", 0))
    return int(delay if isinstance(delay, int) else delay.get(stream, 0))


def _copy(model: Any, seed: int, delay: int) -> Any:
    """A model that has learned nothing, with this seed and delay where it has such arguments."""
    if hasattr(model, "learn_one"):
        has_seed = "seed" in inspect.signature(type(model)).parameters
        return model.clone(new_params={"seed": seed} if has_seed else None)
    if not hasattr(model, "get_params"):
        return model(seed)
    fresh = clone(model)
    known = fresh.get_params()
    is_seed = {name: seed for name in known if name == "random_state" or name.endswith("__random_state")}
    is_late = {name: delay for name in known if name == "delay" or name.endswith("__delay")}
    return fresh.set_params(**is_seed, **is_late)


def _scores(model: Any, X: Any, y: Any, delay: int, warmup: int) -> dict[str, float]:
    start = time.process_time()
    run = prequential(model, X, y, delay=delay, warmup=warmup)
    seconds = time.process_time() - start
    scored = _after(run, warmup - run.n_before)
    found = {name: value for name, value in scored.summary().items() if not np.isnan(value)}
    return found | {"microseconds": 1e6 * seconds / len(y)}


def _after(run: AnyRun, n: int) -> AnyRun:
    """The run without its first n rows."""
    if n <= 0:
        return run
    parts: dict[str, Any] = {
        name: value[n:] if isinstance(value, np.ndarray) and name != "classes" else value
        for name, value in vars(run).items()
    }
    parts |= {"index": None, "n_before": run.n_before + n}
    if isinstance(run, ClassificationRun):
        return ClassificationRun(**parts)
    return PrequentialRun(**(parts | {"n_blind": max(0, run.n_blind - n)}))


def _paired(differences: Any) -> dict[str, float]:
    n, mean = len(differences), float(np.mean(differences))
    spread = float(np.std(differences, ddof=1) / np.sqrt(n)) if n > 1 else np.nan
    if not spread > 0.0:
        return {"difference": mean, "lower": np.nan, "upper": np.nan, "p_value": np.nan}
    special = on_demand("scipy.special")
    half = float(special.stdtrit(n - 1, 0.975)) * spread
    p_value = 2.0 * float(special.stdtr(n - 1, -abs(mean) / spread))
    return {"difference": mean, "lower": mean - half, "upper": mean + half, "p_value": p_value}


def _line(row: dict[str, Any]) -> str:
    scores = ", ".join(f"{name} {value:.4g}" for name, value in row.items() if name not in _KEYS)
    return f"{row['stream']}, {row['model']}, seed {row['seed']}: {scores}"
