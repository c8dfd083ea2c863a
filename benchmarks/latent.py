"""Embeddings of whole data sets by IE-GPLVM: nearest-neighbour errors and time per row.

    python benchmarks/latent.py --data oil_flow digits usps --seeds 11
    python benchmarks/latent.py --data mnist --seeds 1
    python benchmarks/latent.py --data oil_flow digits --short

The last prints how often the steps of a row end before its position converges.

Rows are shuffled by the seed; the first 10 % (5 % of MNIST) are the warm-up, as in the paper. The error is that of the
nearest other row in the two-dimensional embedding (leave one out), in percent, median over seeds. Times are processor
time of one thread, so that they hold on a machine that others use too.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import machine
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

from iegp import IEGPLVM, presets
from iegp import datasets as streams
from iegp.core.features import fourier_rows
from iegp.core.latent import blocks as latent_blocks
from iegp.core.latent import embedder as latent
from iegp.core.latent.neighbours import Neighbours
from iegp.typing import Float, Int

DATA = ("oil_flow", "usps", "digits", "mnist")
MODELS: dict[str, Callable[..., IEGPLVM]] = {"paper": presets.ie_gplvm, "default": IEGPLVM}


def rows_of(name: str) -> tuple[Float, Int]:
    """Rows and labels; of USPS the digits 0 to 4."""
    if name == "digits":
        rows, labels = load_digits(return_X_y=True)
    else:
        arrays = streams.load_arrays(name)
        rows, labels = arrays["X"], arrays["y"]
    if name == "usps":
        rows, labels = rows[labels <= 4], labels[labels <= 4]
    return np.asarray(rows, dtype=np.float64), np.asarray(labels, dtype=np.int64)


def error(embedding: Float, labels: Int) -> float:
    """Percentage of rows with a nearest other row of another label."""
    nearest = NearestNeighbors(n_neighbors=2).fit(embedding).kneighbors(embedding, return_distance=False)
    other = np.where(nearest[:, 0] == np.arange(len(labels)), nearest[:, 1], nearest[:, 0])
    return 100.0 * float(np.mean(labels[other] != labels))


class Clock:
    """Processor time spent inside some functions, while it is active."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def watch(self, holder: Any, name: str, share: str) -> None:
        function = getattr(holder, name)

        def timed(*arguments: Any, **keywords: Any) -> Any:
            begin = time.process_time()
            result = function(*arguments, **keywords)
            self.seconds[share] += time.process_time() - begin
            return result

        setattr(holder, name, timed)


CLOCK = Clock()


def run(make: Callable[..., IEGPLVM], rows: Float, labels: Int, n_warmup: int, seed: int) -> dict[str, float]:
    """One pass over shuffled rows."""
    model = make(warmup=n_warmup, random_state=seed)
    begin = time.process_time()
    model.partial_fit(rows[:n_warmup])
    warm = time.process_time()
    CLOCK.seconds.clear()
    model.partial_fit(rows[n_warmup:])
    per_row = 1e6 / (len(rows) - n_warmup)
    result = {
        "stitched": error(model.stitched_embedding_, labels),
        "final": error(model.embedding_, labels),
        "seconds": warm - begin,
        "row": (time.process_time() - warm) * per_row,
    }
    return result | {share: CLOCK.seconds[share] * per_row for share in ("neighbours", "experts", "refresh")}


def parts_of_a_row(model: IEGPLVM, rows: Float) -> dict[str, float]:
    """Microseconds per row of one expert's parts, measured alone on a block."""
    embedder = model._embedder()
    settings, experts = embedder.settings, embedder.experts
    block = np.ascontiguousarray(embedder.scaling.scaled(rows[:64]))
    belief = latent_blocks.Belief(*(array.copy() for array in experts.belief(0)))
    problem = experts.problem(0, settings)._replace(inverse=belief.inverse, second=belief.second)
    neighbours = np.tile(np.arange(settings.n_neighbors), (64, 1))
    positions = np.vstack([embedder.memory.positions[0][:64], np.zeros((64, settings.n_components))])
    scores = np.empty(64)
    products = block @ block.T

    def learn(n_steps: int, columns: int) -> float:
        part = latent_blocks.Belief(belief.gram, np.ascontiguousarray(belief.cross[:, :columns]), *belief[2:])
        narrow = np.ascontiguousarray(block[:, :columns])
        rows = latent_blocks.RowBlock(narrow, products, neighbours)
        given = problem._replace(n_steps=n_steps, forgetting=1.0)
        return _fastest(lambda: latent_blocks.learn_block(part, given, rows, positions, 64, scores))

    full, narrow, no_steps = (
        learn(settings.n_steps, block.shape[1]),
        learn(settings.n_steps, 1),
        learn(0, 1),
    )
    # Every start, every step and the first evaluation need the features of a position.
    asked = np.tile(positions[:64], (settings.n_neighbors + settings.n_steps + 1, 1))
    waves = _fastest(lambda: fourier_rows(asked, problem.frequencies))
    return {"products": full - narrow, "steps": narrow - no_steps, "rest": no_steps, "of these for features": waves}


def _fastest(function: Callable[[], object]) -> float:
    """Microseconds per row of a block of 64, the best of several calls."""
    best = np.inf
    for _ in range(15):
        begin = time.process_time()
        function()
        best = min(best, time.process_time() - begin)
    return best / 64.0 * 1e6


def short_share(make: Callable[..., IEGPLVM], rows: Float, n_warmup: int) -> float:
    """Share of rows whose log posterior density is more than 0.1 below that of the converged position.

    Every row is placed by the best expert with the model's own steps and until it converges, then learned.
    """
    model, n_short = make(warmup=n_warmup, random_state=0).partial_fit(rows[:n_warmup]), 0
    for t in range(n_warmup, len(rows)):
        embedder = model._embedder()
        converging = replace(embedder, settings=replace(embedder.settings, max_iter=1000))
        few, all_steps = (_log_posterior(own, rows[t : t + 1]) for own in (embedder, converging))
        n_short += few < all_steps - 0.1
        model.partial_fit(rows[t : t + 1])
    return n_short / (len(rows) - n_warmup)


def _log_posterior(embedder: latent.Embedder, row: Float) -> float:
    positions, log_scores = latent.place(embedder, row, [embedder.best_expert])
    return float(log_scores[0, 0] - 0.5 * np.sum(positions**2) / embedder.settings.latent_var)


def report(name: str, seeds: int, models: list[str]) -> None:
    rows, labels = rows_of(name)
    print(f"\n{name}: {rows.shape[0]} x {rows.shape[1]}, {seeds} seeds", flush=True)
    print(f"  PCA                  error {error(PCA(2, random_state=0).fit_transform(rows), labels):6.2f}")
    n_warmup = len(rows) // (20 if name == "mnist" else 10)
    for kind in models:
        results = []
        for seed in range(seeds):
            order = np.random.default_rng(seed).permutation(len(rows))
            results.append(run(MODELS[kind], rows[order], labels[order], n_warmup, seed))
        median = {key: float(np.median([result[key] for result in results])) for key in results[0]}
        other = median["row"] - median["neighbours"] - median["experts"] - median["refresh"]
        print(
            f"  {kind:8s} stitched error {median['stitched']:6.2f}  final expert {median['final']:6.2f}"
            f"  warm-up {median['seconds']:5.1f} s  {median['row']:5.0f} µs per row: neighbours"
            f" {median['neighbours']:4.0f}, experts {median['experts']:4.0f}, refresh {median['refresh']:3.0f},"
            f" other {other:3.0f}",
            flush=True,
        )
        model = MODELS[kind](warmup=n_warmup, warmup_iter=5, init="pca", random_state=0).fit(rows[: n_warmup + 64])
        parts = parts_of_a_row(model, rows[n_warmup : n_warmup + 64])
        print("           one expert's row, µs: " + ", ".join(f"{part} {value:.1f}" for part, value in parts.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA[:3]))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--short", action="store_true", help="print how often steps end before a position converges")
    arguments = parser.parse_args()
    print(machine.describe())
    if arguments.short:
        for name in arguments.data:
            rows, _ = rows_of(name)
            rows = rows[np.random.default_rng(0).permutation(len(rows))][:1000]
            for kind in arguments.models:
                share = short_share(MODELS[kind], rows, len(rows) // 10)
                print(f"{name}, {kind}: {100.0 * share:.1f} % of {len(rows) * 9 // 10} rows", flush=True)
        return
    for name in ("nearest_in_order", "add"):
        CLOCK.watch(Neighbours, name, "neighbours")
    CLOCK.watch(latent, "learn_block", "experts")
    CLOCK.watch(latent, "refresh", "refresh")
    for name in arguments.data:
        report(name, arguments.seeds, arguments.models)


if __name__ == "__main__":
    main()
