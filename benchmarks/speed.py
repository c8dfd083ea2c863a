"""Speed as ratios measured in one run: iegp over the floor, iegp over a plain version.

    python benchmarks/speed.py [--rows 10000] [--memory-rows 1000000]

The *floor* is the time of the matrix products a block cannot do without, as plain ``np.matmul`` calls of the same
shapes and nothing else: features (B x d x F/2), whitening or S Phi' (B x F x F), the block's covariance (B x F x B)
and the update (F x B x F), with B = F rows, for every expert.

Times are processor times, the shortest of several runs (medians where a row is timed alone): those of a quiet machine,
as far as there is one. What is compared is run in turns.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import machine
import numpy as np
import row_by_row
from sklearn.utils.validation import validate_data

from iegp import Fleet, IEGPClassifier, IEGPRegressor
from iegp.core import ensemble as ens
from iegp.core.delay import learn_delayed, none_waiting
from iegp.core.expert.sweep import Rows
from iegp.core.features import fourier_rows, joined, waves
from iegp.core.fitting import evidence
from iegp.core.likelihoods import likelihood_code
from iegp.core.state import layout_of
from iegp.core.weights import BAYES, SWITCHING, WeightRule, weigh_spaced_rows
from iegp.kernels import RBF, Matern
from iegp.presets import ie_gp
from iegp.typing import Float

M, D_IN, F = 11, 21, 100


def seconds_of(task: Callable[[], object]) -> float:
    """Processor seconds."""
    start = time.process_time()
    task()
    return time.process_time() - start


def best(task: Callable[[], object], repeats: int = 5) -> float:
    """Shortest of a few runs, in seconds: the machine's noise only ever adds."""
    return min(seconds_of(task) for _ in range(repeats))


def best_in_turns(tasks: dict[str, Callable[[], object]], rounds: int = 7) -> dict[str, float]:
    """The same for tasks that are compared: what disturbs one disturbs the others, too."""
    for task in tasks.values():
        task()
    times = [{name: seconds_of(task) for name, task in tasks.items()} for _ in range(rounds)]
    return {name: min(found[name] for found in times) for name in tasks}


class Shape(NamedTuple):
    """Size of an ensemble and its rows."""

    n_experts: int = M
    n_features: int = F
    n_columns: int = D_IN
    n_outputs: int = 1


def problem(n_rows: int, shape: Shape, drift_ratio: float) -> tuple[ens.Ensemble, Float, Float]:
    """Experts on a smooth function of the inputs; none is ever shut down."""
    n_experts, n_features, n_columns, n_outputs = shape
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_rows, n_columns))
    y = np.sin(x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:3] + 0.1 * rng.standard_normal((n_rows, n_outputs))
    scales = 10.0 ** np.linspace(0.0, 1.5, n_experts)
    frequencies = rng.standard_normal((n_experts, n_features // 2, n_columns)) / scales[:, None, None]
    ensemble = ens.Ensemble(
        basis=joined([waves(own) for own in frequencies]),
        layout=layout_of([n_features // 2] * n_experts, 1),
        drift=np.full(n_experts * n_features, drift_ratio),
        prior_ratio=np.full(n_experts, 100.0),
        noise_var=np.full((n_experts, n_outputs), 0.05),
        forgetting=np.array([np.nan]),
        tails=np.array([np.nan]),
        rule=BAYES,
        transitions=np.ones((1, 1)),
        rate=0.1,
        shutdown=0.0,
    )
    return ensemble, x, y


def floor_of(n_rows: int, n_features: int) -> Callable[[], None]:
    """The products of so many rows."""
    rng = np.random.default_rng(0)
    rows = n_features
    x, v = rng.standard_normal((rows, D_IN)), rng.standard_normal((D_IN, n_features // 2))
    phi, square = rng.standard_normal((rows, n_features)), rng.standard_normal((n_features, n_features))

    def products() -> None:
        for _ in range(M * n_rows // rows):
            np.matmul(x, v)
            whitened = np.matmul(phi, square)
            np.matmul(whitened, phi.T)
            np.matmul(phi.T, whitened)

    return products


def replay_of(n_rows: int, shape: Shape, drift: float, n_threads: int = 1) -> Callable[[], object]:
    ensemble, x, y = problem(n_rows, shape, drift)
    return lambda: ens.learn(ensemble, ens.start(ensemble), x, y, n_threads)


def replay_seconds(ensemble: ens.Ensemble, x: Float, y: Float) -> float:
    ens.learn(ensemble, ens.start(ensemble), x[:500], y[:500])
    return best(lambda: ens.learn(ensemble, ens.start(ensemble), x, y))


def replay_table(n_rows: int) -> None:
    print(f"\nReplay, M = {M} experts, d = {D_IN}, float64, one thread, all experts alive")
    print(f"{'F':>5} {'experts':>12} {'rows':>7} {'µs/row':>8} {'floor':>8} {'ratio':>7} {'target':>7}")
    for n_features, rows, targets in (
        (100, n_rows, (1.5, 1.28)),
        (200, n_rows // 2, (2, 2)),
        (400, n_rows // 4, (2, 2)),
    ):
        shape = Shape(n_features=n_features)
        tasks: dict[str, Callable[[], object]] = {"floor": floor_of(rows, n_features)}
        tasks |= {"static": replay_of(rows, shape, 0.0), "random walk": replay_of(rows, shape, 0.01)}
        found = best_in_turns(tasks)
        for name, target in zip(("static", "random walk"), targets, strict=True):
            print(
                f"{n_features:>5} {name:>12} {rows:>7} {found[name] / rows * 1e6:8.1f} "
                f"{found['floor'] / rows * 1e6:8.1f} {found[name] / found['floor']:7.2f} {target:7.2f}"
            )


def shape_table(n_rows: int) -> None:
    """What a row costs by the size of the ensemble, one size changed at a time."""
    print("\nWhat a row costs in blocks, µs; M = 11, F = 100, d = 21, D = 1 but for what the line says")
    print(f"{'':>10} {'static':>8} {'over':>6} {'random walk':>12} {'over':>6}")
    shapes = {"as above": Shape()}
    shapes |= {f"F = {n}": Shape(n_features=n) for n in (50, 200, 400)}
    shapes |= {f"M = {n}": Shape(n_experts=n) for n in (5, 22)}
    shapes |= {f"d = {n}": Shape(n_columns=n) for n in (5, 100)}
    shapes |= {f"D = {n}": Shape(n_outputs=n) for n in (10, 50)}
    first: list[float] = []
    for name, shape in shapes.items():
        rows = n_rows // max(1, shape.n_features // 100)
        found = best_in_turns({"static": replay_of(rows, shape, 0.0), "walk": replay_of(rows, shape, 0.01)}, 4)
        static, walk = (seconds / rows * 1e6 for seconds in found.values())
        first = first or [static, walk]
        print(f"{name:>10} {static:8.1f} {static / first[0]:6.2f} {walk:12.1f} {walk / first[1]:6.2f}")


def seconds_per_row(replay: Callable[..., Float], arguments: tuple[Any, ...]) -> float:
    return best(lambda: replay(*arguments), 2) / len(arguments[0])


def against_plain(n_rows: int) -> None:
    print("\nAgainst plain versions, F = 100 (higher is better)")
    for name, drift in (("static", 0.0), ("random walk", 0.01)):
        ensemble, x, y = problem(n_rows, Shape(), drift)
        one = replay_seconds(ensemble, x, y) / n_rows
        few = 1000
        rows = x[:few], y[:few], ensemble.basis.frequencies.reshape(M, -1, D_IN), 100.0, drift
        printed, batched = seconds_per_row(row_by_row.as_printed, rows), seconds_per_row(row_by_row.batched, rows)
        print(f"  {name:12} ours, one thread              {one * 1e6:7.1f} µs/row")
        print(f"  {'':12} Algorithm 1 row by row, NumPy {printed * 1e6:7.1f} µs/row: {printed / one:5.1f} x (target 8)")
        print(f"  {'':12} the same, experts batched     {batched * 1e6:7.1f} µs/row: {batched / one:5.1f} x")
        waits = [min(_waited(replay_of(n_rows, Shape(), drift, threads)) for _ in range(3)) for threads in (1, 2)]
        print(f"  {'':12} two threads, time waited      {waits[0] / waits[1]:5.2f} x (target 1.7, of two idle cores)")


def _waited(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def delay_table(n_rows: int) -> None:
    """Labels that are known some rows later, over labels that are known at once."""
    print(f"\nLabels that come late, M = {M}, F = 100, one thread, all experts alive")
    print(f"{'experts':>12} {'delay':>6} {'µs/row':>8} {'over 0':>7} {'target':>7}")
    for name, drift in (("static", 0.0), ("random walk", 0.01)):
        ensemble, x, y = problem(n_rows, Shape(), drift)
        at_once = replay_seconds(ensemble, x, y) / n_rows
        print(f"{name:>12} {0:>6} {at_once * 1e6:8.1f}")
        for delay in (1, 24, 200):
            late_seconds(ensemble, x[:500], y[:500], delay)
            seconds = late_seconds(ensemble, x, y, delay) / n_rows
            print(f"{name:>12} {delay:>6} {seconds * 1e6:8.1f} {seconds / at_once:7.2f} {2.2:7.1f}")


def late_seconds(ensemble: ens.Ensemble, x: Float, y: Float, delay: int) -> float:
    waiting, options, rows = none_waiting(ensemble, D_IN, 1), ens.PassOptions(), Rows(x, y, np.ones(len(x)))
    return best(lambda: learn_delayed(ensemble, ens.start(ensemble), waiting, rows, delay, options))


def elapsed_table(rounds: int = 41) -> None:
    """Drift per unit of time over drift per row, on rows at equal distances."""
    print("\nDrift per unit of time over drift per row, equal distances, d = 21, medians of ratios in turns")
    print(f"{'':24} {'1,000 rows':>11} {'one row':>9} {'target':>7}")
    _, x, y = problem(1000 + rounds * 1000, Shape(), 0.0)
    labels, times = np.ascontiguousarray(y[:, 0]), np.arange(float(len(x)))
    makers: dict[str, Callable[..., IEGPRegressor]] = {
        "M = 11, random walk": partial(ie_gp, drift_var=1e-3, shutdown=0.0, random_state=0),
        "default": partial(IEGPRegressor, random_state=0),
    }
    for name, make in makers.items():
        by_row = make().partial_fit(x[:1000], labels[:1000])
        by_time = make(drift_per="time").partial_fit(x[:1000], labels[:1000], time=times[:1000])

        def ratio(rows: slice, by_row: IEGPRegressor = by_row, by_time: IEGPRegressor = by_time) -> float:
            own = seconds_of(lambda: by_time.partial_fit(x[rows], labels[rows], time=times[rows]))
            return own / seconds_of(lambda: by_row.partial_fit(x[rows], labels[rows]))

        starts = 1000 + 1000 * np.arange(rounds - 1)
        many = [ratio(slice(start, start + 1000)) for start in starts.tolist()]
        single = [ratio(slice(row, row + 1)) for row in range(rounds * 1000, rounds * 1000 + 1000)]
        print(f"{name:>24} {np.median(many):11.3f} {np.median(single):9.3f} {1.02:7.2f}")


def labels_table(n_rows: int) -> None:
    """Two classes against Gaussian labels, ten classes against two: the same experts on the same rows."""
    print(f"\nLabels that are not Gaussian, M = {M}, one thread, all experts alive")
    print(
        f"{'F':>5} {'experts':>12} {'Gaussian':>9} {'2 classes':>10} {'ratio':>7} {'target':>7} {'10 classes':>11} "
        f"{'ratio':>7} {'target':>7}"
    )
    for n_features in (30, 100, 200):
        rows = n_rows // (1 if n_features < 200 else 2)
        for name, drift in (("static", 0.0), ("random walk", 1e-3)):
            ensemble, x, y = problem(rows, Shape(n_features=n_features), drift)
            gaussian = replay_seconds(ensemble, x, y) / rows
            ranks = np.argsort(np.argsort(y[:, 0]))
            seconds = [gaussian]
            for n_classes, kind in ((2, likelihood_code("bernoulli-logit")), (10, likelihood_code("categorical"))):
                n_latents = 1 if n_classes == 2 else n_classes
                latent = ensemble._replace(
                    likelihood=kind,
                    noise_var=np.ones((M, n_latents)),
                    prior_ratio=np.full(M, 10.0),
                    link=np.zeros((M, n_latents)),
                    nodes=np.zeros((n_latents, 0)),
                )
                numbers = np.ascontiguousarray((ranks * n_classes // rows).astype(np.float64)[:, None])
                seconds.append(replay_seconds(latent, x, numbers) / rows)
            _, two, ten = seconds
            print(
                f"{n_features:5} {name:>12} {gaussian * 1e6:9.1f} {two * 1e6:10.1f} {two / gaussian:7.2f} {2.0:7.1f} "
                f"{ten * 1e6:11.1f} {ten / two:7.2f} {12.0:7.1f}"
            )


def one_row_at_a_time() -> None:
    print("\nOne row at a time, M = 11, F = 100, d = 21 (predict, then learn), median µs")
    for name, drift in (("static", 0.0), ("random walk", 0.01)):
        ensemble, x, y = problem(3000, Shape(), drift)
        state = ens.start(ensemble)
        ens.learn(ensemble, state, x[:1000], y[:1000])
        median, _ = row_microseconds(lambda t: ens.learn(ensemble, state, x[t : t + 1], y[t : t + 1]))  # noqa: B023
        print(f"  core, {name:12} {median:7.1f}   (target 120)")
    _, x, y = problem(3000, Shape(), 0.0)
    model, labels = ie_gp(random_state=0, shutdown=0.0).warm_up(x[:1000], y[:1000, 0]), np.ascontiguousarray(y[:, 0])
    median, _ = row_microseconds(lambda t: validate_data(model, x[t : t + 1], labels[t : t + 1], reset=False))
    print(f"  scikit-learn's validation alone, once {median:7.1f}")


def row_microseconds(call: Callable[[int], object], begin: int = 1000, end: int = 3000) -> tuple[float, float]:
    """Median and shortest processor time of calls with one row each."""
    times = [seconds_of(lambda: call(t)) * 1e6 for t in range(begin, end)]  # noqa: B023 - called at once
    return float(np.median(times)), min(times)


def one_term_default(random_state: int) -> IEGPRegressor:
    """The default's noise models, drifts and weights on eight kernels of one term, without lags."""
    kernels = [RBF(scale) for scale in (0.5, 1.0, 2.0, 4.0)] + [Matern(scale) for scale in (1.0, 2.0, 4.0, 8.0)]
    return IEGPRegressor(kernels, drift_var=(0.0, 1e-4, 5e-3), weights="stacking", lags=0, random_state=random_state)


def estimators_table() -> None:
    """What a user waits for, checks included: one row at a time, many rows in a call, and a first fit."""
    _, x, y = problem(5300, Shape(), 0.0)
    labels = np.ascontiguousarray(y[:, 0])
    models = {
        "M = 11 (presets.ie_gp)": ie_gp(random_state=0, shutdown=0.0).warm_up(x[:1000], labels[:1000]),
        "one-term kernels": one_term_default(0).warm_up(x[:1000], labels[:1000]),
        "default": IEGPRegressor(random_state=0).fit(x[:1000], labels[:1000]),
    }
    print("\nOne row of a NumPy array at a time, d = 21, median and shortest µs")
    for name, model in models.items():
        calls: dict[str, Callable[[int], object]] = {
            "predict with std": lambda t, m=model: m.predict(x[t : t + 1], return_std=True),  # type: ignore[misc]
            "partial_fit": lambda t, m=model: m.partial_fit(x[t : t + 1], labels[t : t + 1]),  # type: ignore[misc]
            "prequential": lambda t, m=model: m.prequential(x[t : t + 1], labels[t : t + 1]),  # type: ignore[misc]
        }
        for called, call in calls.items():
            median, shortest = row_microseconds(call)
            print(f"  {name:24} {called:18} {median:7.1f} {shortest:7.1f}")
    print("\n4,000 rows in one call, rows per second: partial_fit, prequential with intervals; beliefs, experts")
    for name, model in models.items():
        tasks: dict[str, Callable[[], object]] = {
            "partial_fit": lambda m=model: m.partial_fit(x[1300:], labels[1300:]),  # type: ignore[misc]
            "prequential": lambda m=model: m.prequential(x[1300:], labels[1300:]),  # type: ignore[misc]
        }
        learned, run = (4000.0 / seconds for seconds in best_in_turns(tasks, 3).values())
        ensemble = model.model_.ensemble
        print(f"  {name:24} {learned:8.0f} {run:8.0f} {ensemble.n_beliefs:8} {ensemble.n_experts:8}")
    print("\nfit on 1,300 rows, s")
    makers: dict[str, Callable[[], IEGPRegressor]] = {
        "M = 11 (presets.ie_gp)": lambda: ie_gp(random_state=0),
        "one-term kernels": lambda: one_term_default(0),
        "default": lambda: IEGPRegressor(random_state=0),
    }
    for name, make in makers.items():
        print(f"  {name:24} {best(lambda: make().fit(x[:1300], labels[:1300]), 3):6.2f}")  # noqa: B023 - called at once


def several_outputs(n_outputs: int = 50, n_rows: int = 2000) -> None:
    """Intervals are one per output: what they add to learning."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_rows, D_IN))
    y = np.sin(x @ rng.standard_normal((D_IN, n_outputs)) / 4.0) + 0.1 * rng.standard_normal((n_rows, n_outputs))
    print(f"\nD = {n_outputs} outputs, prequential with intervals over partial_fit (target 1.3)")
    for name, shutdown in (("one expert left", None), ("all 11 experts", 0.0)):
        model = ie_gp(random_state=0) if shutdown is None else ie_gp(random_state=0, shutdown=shutdown)
        model.warm_up(x[:500], y[:500])
        tasks: dict[str, Callable[[], object]] = {
            "learned": lambda m=model: m.partial_fit(x, y),  # type: ignore[misc]
            "run": lambda m=model: m.prequential(x, y),  # type: ignore[misc]
        }
        found = best_in_turns(tasks, 5)
        learned, run = (seconds / n_rows * 1e6 for seconds in found.values())
        print(f"  {name:16} {learned:7.1f} {run:7.1f} µs/row {run / learned:6.2f}")


def fleet_table(n_keys: int = 50, rows_per_key: int = 32) -> None:
    """Static experts, few rows per key and call, against one model that learns as many rows."""
    _, x, y = problem(n_keys * rows_per_key, Shape(), 0.0)
    labels = np.ascontiguousarray(y[:, 0])
    model = ie_gp(random_state=0, shutdown=0.0).warm_up(x[:1000], labels[:1000])
    keys, fleet = np.repeat(np.arange(n_keys), rows_per_key), Fleet(model)
    tasks = {"fleet": lambda: fleet.learn(keys, x, labels), "single": lambda: model.partial_fit(x, labels)}
    found = best_in_turns(tasks)
    ratio = found["single"] / found["fleet"]
    print(f"\nStatic fleet, {n_keys} keys, {rows_per_key} rows each: {ratio:.2f} of one model's speed (target 0.95)")


def switching_table() -> None:
    """The weights alone, with one probability and with a matrix."""
    print("\nSwitching weights, M = 400, µs per row")
    n_experts, n_rows = 400, 200
    scores = np.random.default_rng(0).standard_normal((n_rows, n_experts))
    used, log_score, steps = np.empty_like(scores), np.empty(n_rows), np.ones(n_rows)
    even = np.full((n_experts, n_experts), 0.01 / (n_experts - 1))
    np.fill_diagonal(even, 0.99)
    for name, matrix, chance in (("one probability", np.ones((1, 1)), 0.01), ("a matrix", even, np.nan)):
        rule = WeightRule(SWITCHING, matrix, 0.1, 0.0, chance)
        start = np.full(n_experts, -np.log(n_experts))
        weigh_spaced_rows(rule, scores, steps, start.copy(), used, log_score)
        seconds = best(lambda: weigh_spaced_rows(rule, scores, steps, start.copy(), used, log_score))  # noqa: B023
        print(f"  {name:16} {seconds / n_rows * 1e6:7.1f}")


def classes_table() -> None:
    """A row and a fit by the number of classes."""
    print("\nClasses, defaults of IEGPClassifier, d = 5: fit on 600 rows, s; then prequential, µs per row")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1600, 5))
    for n_classes in (2, 5, 20):
        score = x[:, 0] + 0.5 * np.sin(x[:, 1]) + 0.1 * rng.standard_normal(1600)
        y = np.argsort(np.argsort(score)) * n_classes // 1600
        seconds = best(lambda: IEGPClassifier(random_state=0).fit(x[:600], y[:600]), 2)  # noqa: B023
        model = IEGPClassifier(random_state=0).fit(x[:600], y[:600])
        run = best(lambda: model.prequential(x[600:], y[600:]), 3)  # noqa: B023
        print(f"  K = {n_classes:3} {seconds:7.2f} {run / 1000 * 1e6:9.1f}")


def evidence_seconds() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1000, D_IN))
    y = np.sin(x[:, :1]) + 0.1 * rng.standard_normal((1000, 1))
    frequencies = [rng.standard_normal((50, D_IN)) / 10.0 ** (k / 2) for k in range(-4, 7)]

    def fit_all() -> None:
        for f in frequencies:
            evidence.fit(evidence.spectrum(fourier_rows(x, f), y))

    print(f"\nEvidence, 11 experts on 1,000 rows: {best(fit_all):.3f} s (target 0.2)")


def import_seconds() -> None:
    code = (
        "import time\n"
        "import numpy, scipy.linalg, scipy.optimize, scipy.stats, scipy.spatial, sklearn.base\n"
        "start = time.perf_counter()\nimport iegp\nprint(time.perf_counter() - start)"
    )
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    print(f"\nimport iegp, beyond NumPy, SciPy and scikit-learn: {min(times):.2f} s (target 0.5)")
    code = (
        "import time, numpy as np\nfrom iegp.presets import ie_gp\n"
        "x = np.random.default_rng(0).normal(size=(300, 3))\nstart = time.perf_counter()\n"
        "ie_gp(random_state=0).fit(x, x[:, 0]).predict(x)\nprint(time.perf_counter() - start)"
    )
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(2)]
    print(f"first fit in a new process, compiled code cached: {min(times):.2f} s")


def memory(n_rows: int) -> None:
    if n_rows <= 0:
        return
    print(f"\nMemory over {n_rows:,} rows, learned 1,000 at a time")
    rng = np.random.default_rng(0)
    model = IEGPRegressor([RBF(1.0), RBF(4.0)], drift_var=(0.0, 1e-3), random_state=0)
    for row in range(0, n_rows, 1000):
        x = rng.standard_normal((1000, 5))
        model.partial_fit(x, x[:, 0])
        if row in (10_000, n_rows // 2 // 1000 * 1000, n_rows - 1000):
            print(f"  after {row + 1000:>9,} rows: {_resident_mib():.1f} MiB resident")


def _resident_mib() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--memory-rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    print(machine.describe())
    replay_table(arguments.rows)
    shape_table(arguments.rows // 4)
    against_plain(arguments.rows)
    delay_table(arguments.rows // 2)
    elapsed_table()
    labels_table(arguments.rows // 4)
    classes_table()
    one_row_at_a_time()
    estimators_table()
    several_outputs()
    fleet_table()
    switching_table()
    evidence_seconds()
    import_seconds()
    memory(arguments.memory_rows)


if __name__ == "__main__":
    main()
