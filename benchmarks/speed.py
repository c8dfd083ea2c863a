"""Speed as ratios measured in one run: iegp over the floor, iegp over a plain version.

    python benchmarks/speed.py [--rows 40000] [--memory-rows 1000000]

The *floor* is the time of the matrix products a block cannot do without, as plain ``np.matmul`` calls of the same
shapes and nothing else: features (B x d x F/2), whitening or S Phi' (B x F x F), the block's covariance (B x F x B)
and the update (F x B x F), with B = F rows, for every expert.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import machine
import numpy as np
import row_by_row
from sklearn.utils.validation import validate_data

from iegp import IEGPRegressor
from iegp.core import ensemble as ens
from iegp.core.delay import learn_delayed, none_waiting
from iegp.core.expert.sweep import Rows
from iegp.core.features import fourier_rows, joined, waves
from iegp.core.fitting import evidence
from iegp.core.likelihoods import likelihood_code
from iegp.core.state import layout_of
from iegp.core.weights import BAYES
from iegp.kernels import RBF
from iegp.presets import ie_gp
from iegp.typing import Float

M, D_IN = 11, 21


def best(task: Callable[[], object], repeats: int = 3) -> float:
    """Shortest of a few runs, in seconds: the machine's noise only ever adds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return min(times)


def problem(n_rows: int, n_features: int, drift_ratio: float) -> tuple[ens.Ensemble, Float, Float]:
    """Eleven experts on a smooth function of 21 inputs; none is ever shut down."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_rows, D_IN))
    y = np.sin(x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:3] + 0.1 * rng.standard_normal((n_rows, 1))
    scales = 10.0 ** np.linspace(0.0, 1.5, M)
    frequencies = rng.standard_normal((M, n_features // 2, D_IN)) / scales[:, None, None]
    ensemble = ens.Ensemble(
        basis=joined([waves(own) for own in frequencies]),
        layout=layout_of([n_features // 2] * M, 1),
        drift=np.full(M * n_features, drift_ratio),
        prior_ratio=np.full(M, 100.0),
        noise_var=np.full((M, 1), 0.05),
        forgetting=np.array([np.nan]),
        tails=np.array([np.nan]),
        rule=BAYES,
        transitions=np.ones((1, 1)),
        rate=0.1,
        shutdown=0.0,
    )
    return ensemble, x, y


def floor_seconds(n_rows: int, n_features: int) -> float:
    rng = np.random.default_rng(0)
    rows = n_features
    x, v = rng.standard_normal((rows, D_IN)), rng.standard_normal((D_IN, n_features // 2))
    phi, square = rng.standard_normal((rows, n_features)), rng.standard_normal((n_features, n_features))

    def products() -> None:
        for _ in range(M):
            np.matmul(x, v)
            whitened = np.matmul(phi, square)
            np.matmul(whitened, phi.T)
            np.matmul(phi.T, whitened)

    repeats = max(1, n_rows // rows // 8)

    def all_blocks() -> None:
        for _ in range(repeats):
            products()

    return best(all_blocks) / repeats * (n_rows / rows)


def replay_seconds(ensemble: ens.Ensemble, x: Float, y: Float, n_threads: int = 1) -> float:
    return best(lambda: ens.learn(ensemble, ens.start(ensemble), x, y, n_threads))


def replay_table(n_rows: int) -> None:
    print(f"\nReplay, M = {M} experts, d = {D_IN}, float64, one thread, all experts alive")
    print(f"{'F':>5} {'experts':>12} {'rows':>7} {'µs/row':>8} {'floor':>8} {'ratio':>7} {'target':>7}")
    for n_features, rows in ((100, n_rows), (200, n_rows // 2), (400, n_rows // 4)):
        floor = floor_seconds(rows, n_features)
        for name, drift, target in (("static", 0.0, 2.5), ("random walk", 0.01, 3.0)):
            ensemble, x, y = problem(rows, n_features, drift)
            ens.learn(ensemble, ens.start(ensemble), x[:500], y[:500])
            seconds = replay_seconds(ensemble, x, y)
            limit = target if n_features == 100 else 2.0
            print(
                f"{n_features:>5} {name:>12} {rows:>7} {seconds / rows * 1e6:8.1f} {floor / rows * 1e6:8.1f} "
                f"{seconds / floor:7.2f} {limit:7.1f}"
            )


def seconds_per_row(replay: Callable[..., Float], arguments: tuple[Any, ...]) -> float:
    return best(lambda: replay(*arguments), 2) / len(arguments[0])


def against_plain(n_rows: int) -> None:
    print("\nAgainst plain versions, F = 100 (higher is better)")
    for name, drift in (("static", 0.0), ("random walk", 0.01)):
        ensemble, x, y = problem(n_rows, 100, drift)
        one = replay_seconds(ensemble, x, y) / n_rows
        two = replay_seconds(ensemble, x, y, 2) / n_rows
        few = 1000
        rows = x[:few], y[:few], ensemble.basis.frequencies.reshape(M, -1, D_IN), 100.0, drift
        printed, batched = seconds_per_row(row_by_row.as_printed, rows), seconds_per_row(row_by_row.batched, rows)
        print(f"  {name:12} ours, one thread              {one * 1e6:7.1f} µs/row")
        print(f"  {'':12} Algorithm 1 row by row, NumPy {printed * 1e6:7.1f} µs/row: {printed / one:5.1f} x (target 8)")
        print(f"  {'':12} the same, experts batched     {batched * 1e6:7.1f} µs/row: {batched / one:5.1f} x")
        print(f"  {'':12} ours, two threads             {two * 1e6:7.1f} µs/row: {one / two:5.2f} x (target 1.7)")


def delay_table(n_rows: int) -> None:
    """Labels that are known some rows later, over labels that are known at once."""
    print(f"\nLabels that come late, M = {M}, F = 100, one thread, all experts alive")
    print(f"{'experts':>12} {'delay':>6} {'µs/row':>8} {'over 0':>7} {'target':>7}")
    for name, drift in (("static", 0.0), ("random walk", 0.01)):
        ensemble, x, y = problem(n_rows, 100, drift)
        at_once = replay_seconds(ensemble, x, y) / n_rows
        print(f"{name:>12} {0:>6} {at_once * 1e6:8.1f}")
        for delay in (1, 24, 200):
            late_seconds(ensemble, x[:500], y[:500], delay)
            seconds = late_seconds(ensemble, x, y, delay) / n_rows
            print(f"{name:>12} {delay:>6} {seconds * 1e6:8.1f} {seconds / at_once:7.2f} {2.2:7.1f}")


def late_seconds(ensemble: ens.Ensemble, x: Float, y: Float, delay: int) -> float:
    waiting, options, rows = none_waiting(ensemble, D_IN, 1), ens.PassOptions(), Rows(x, y, np.ones(len(x)))
    return best(lambda: learn_delayed(ensemble, ens.start(ensemble), waiting, rows, delay, options))


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
            ensemble, x, y = problem(rows, n_features, drift)
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
        ensemble, x, y = problem(3000, 100, drift)
        state = ens.start(ensemble)
        ens.learn(ensemble, state, x[:1000], y[:1000])
        times = []
        for t in range(1000, 3000):
            start = time.perf_counter()
            ens.learn(ensemble, state, x[t : t + 1], y[t : t + 1])
            times.append(time.perf_counter() - start)
        print(f"  core, {name:12} {np.median(times) * 1e6:7.1f}   (target 120)")
    _, x, y = problem(3000, 100, 0.0)
    model = ie_gp(random_state=0, shutdown=0.0).warm_up(x[:1000], y[:1000, 0])
    labels = np.ascontiguousarray(y[:, 0])
    calls: dict[str, Callable[[int], object]] = {
        "estimator, prequential, checks skipped": lambda t: model.prequential(
            x[t : t + 1], labels[t : t + 1], check_input=False
        ),
        "estimator, partial_fit, checks skipped": lambda t: model.partial_fit(
            x[t : t + 1], labels[t : t + 1], check_input=False
        ),
        "estimator, predict, checks skipped": lambda t: model.predict(x[t : t + 1], check_input=False),
        "estimator, predict then partial_fit": lambda t: (
            model.predict(x[t : t + 1]),
            model.partial_fit(x[t : t + 1], labels[t : t + 1]),
        ),
        "scikit-learn's validation alone, once": lambda t: validate_data(
            model, x[t : t + 1], labels[t : t + 1], reset=False
        ),
    }
    for name, call in calls.items():
        times = []
        for t in range(1000, 2000):
            start = time.perf_counter()
            call(t)
            times.append(time.perf_counter() - start)
        print(f"  {name:40} {np.median(times) * 1e6:7.1f}")


def rows_of_estimators() -> None:
    """What a user waits for with one row at a time, checks included."""
    _, x, y = problem(3000, 100, 0.0)
    labels = np.ascontiguousarray(y[:, 0])
    models = {
        "M = 11 (presets.ie_gp)": ie_gp(random_state=0, shutdown=0.0).warm_up(x[:1000], labels[:1000]),
        "default": IEGPRegressor(random_state=0).fit(x[:1000], labels[:1000]),
    }
    print("\nOne row of a NumPy array at a time, d = 21, median and shortest µs")
    for name, model in models.items():
        for called in ("predict with std", "partial_fit", "prequential"):
            times = [_row_seconds(model, called, x[t : t + 1], labels[t : t + 1]) for t in range(1000, 2000)]
            print(f"  {name:24} {called:18} {np.median(times) * 1e6:7.1f} {min(times) * 1e6:7.1f}")


def _row_seconds(model: IEGPRegressor, called: str, x: Float, y: Float) -> float:
    start = time.perf_counter()
    if called == "predict with std":
        model.predict(x, return_std=True)
    elif called == "partial_fit":
        model.partial_fit(x, y)
    else:
        model.prequential(x, y)
    return time.perf_counter() - start


def several_outputs(n_outputs: int = 50, n_rows: int = 2000) -> None:
    """Intervals are one per output: what they add to learning."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_rows, D_IN))
    y = np.sin(x @ rng.standard_normal((D_IN, n_outputs)) / 4.0) + 0.1 * rng.standard_normal((n_rows, n_outputs))
    model = ie_gp(random_state=0).warm_up(x[:500], y[:500])
    learned = best(lambda: model.partial_fit(x, y))
    run = best(lambda: model.prequential(x, y))
    ratio = run / learned
    print(f"\nD = {n_outputs} outputs, M = 11: prequential with intervals over partial_fit {ratio:.2f} (target 1.3)")


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
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--memory-rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    print(machine.describe())
    replay_table(arguments.rows)
    against_plain(arguments.rows)
    delay_table(arguments.rows // 4)
    labels_table(arguments.rows // 10)
    one_row_at_a_time()
    rows_of_estimators()
    several_outputs()
    evidence_seconds()
    import_seconds()
    memory(arguments.memory_rows)


if __name__ == "__main__":
    main()
