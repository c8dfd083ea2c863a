"""The package's own implementations beside the libraries that offer the same: the reason for each, measured.

    python benchmarks/own_code.py [NAME ...]

Times are of the processor, the best of many repetitions taken in turn; a ratio above 1 means that ours is faster. What
a library cannot do at all is said in the docstring of the module.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import csv
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import machine
import mpmath
import numpy as np
import pyarrow.csv
from scipy import special
from scipy.linalg import blas, lapack

from iegp._compile import compiled
from iegp.core.compute import linalg
from iegp.core.compute.exponential import exp_negative
from iegp.core.compute.sincos import sincos
from iegp.core.likelihoods import categorical
from iegp.core.predictive import count_cdf
from iegp.core.predictive.student import student_cdf_pdf, student_log_normaliser
from iegp.readers import open_source
from iegp.typing import Float


class Line(NamedTuple):
    what: str
    ours: float
    library: float
    remark: str = ""


def best(ours: Callable[[], object], library: Callable[[], object], repetitions: int = 200) -> tuple[float, float]:
    """The least processor time of either call in seconds; they take turns, so that a busy machine is busy for both."""
    times = [float("inf"), float("inf")]
    for _ in range(repetitions):
        for i, call in enumerate((ours, library)):
            begin = time.process_time()
            call()
            times[i] = min(times[i], time.process_time() - begin)
    return times[0], times[1]


def sines() -> Iterator[Line]:
    angles = np.random.default_rng(0).normal(scale=20.0, size=100 * 50)
    sine, cosine = np.empty_like(angles), np.empty_like(angles)

    def library() -> None:
        np.sin(angles, out=sine)
        np.cos(angles, out=cosine)

    yield Line("sincos, 5,000 angles: np.sin, np.cos", *best(lambda: sincos(angles, sine, cosine), library))


def exponentials() -> Iterator[Line]:
    x = np.random.default_rng(0).exponential(scale=5.0, size=5000)
    bits, out = np.empty(x.size, dtype=np.int64), np.empty_like(x)

    def library() -> None:
        np.negative(x, out=out)
        np.exp(out, out=out)

    yield Line("exp_negative, 5,000 numbers: np.exp", *best(lambda: exp_negative(x, bits, out), library))


def triangles() -> Iterator[Line]:
    """BLAS sees a row-major matrix as its transpose: the layout of the core, without a copy."""
    rng = np.random.default_rng(0)
    for n, sides in ((100, 100), (200, 64)):
        # Close to the identity, so that repeated solutions neither grow nor vanish.
        upper = np.eye(n) + np.triu(rng.normal(scale=0.01 / n, size=(n, n)), 1)
        lower, b, c = upper.T.copy(), rng.normal(size=(sides, n)), rng.normal(size=(n, sides))
        ours, library = best(
            partial(linalg.solve_from_right, upper, b),
            partial(blas.dtrsm, 1.0, upper.T, b.T, lower=1, overwrite_b=1),
        )
        yield Line(f"solve_from_right, F = {n}, {sides} rows: BLAS dtrsm", ours, library)
        ours, library = best(
            partial(linalg.solve_lower, lower, c),
            partial(blas.dtrsm, 1.0, lower.T, c.T, side=1, lower=0, overwrite_b=1),
        )
        yield Line(f"solve_lower, F = {n}, {sides} columns: BLAS dtrsm", ours, library)


@compiled
def grow_factor(whitened: Float, growth: Float, factor: Float) -> None:
    """The factor of a static belief after a block of rows, as the core computes it."""
    linalg.gram_of_columns(whitened, growth)
    for i in range(growth.shape[0]):
        growth[i, i] += 1.0
    linalg.cholesky_upper(growth)
    linalg.multiply_uppers(growth, factor)


def pentagons() -> Iterator[Line]:
    """A QR factorisation of a triangle above few rows; LAPACK wants columns one after another, so both are turned."""
    rng = np.random.default_rng(0)
    for n_features in (50, 100, 200):
        factor = np.triu(rng.normal(size=(n_features, n_features))) + 20.0 * np.eye(n_features)
        growth = np.empty_like(factor)
        for n in (8, 32):
            rows = rng.normal(size=(n, n_features)) / 20.0

            def library(factor: Float = factor, rows: Float = rows) -> Float:
                turned = np.array(factor, order="F"), np.array(rows, order="F")
                return np.ascontiguousarray(lapack.dtpqrt(0, 8, *turned, overwrite_a=1, overwrite_b=1)[0])

            ours = partial(grow_factor, rows, growth)
            times = best(lambda ours=ours, factor=factor: ours(factor.copy()), library)  # type: ignore[misc]
            yield Line(f"factor of F = {n_features} and {n} rows: dtpqrt", *times)


@compiled
def modes(means: Float, var: float, link: Float, out: Float) -> None:
    """Joint modes of rows."""
    for t in range(means.shape[0]):
        categorical.joint_site(t % link.size, means[t], var, link, out)


@compiled
def class_probabilities(means: Float, var: float, link: Float, out: Float) -> None:
    """Log probabilities of the classes of rows."""
    for t in range(means.shape[0]):
        categorical.log_probabilities(t % link.size, means[t], var, link, out)


def classes() -> Iterator[Line]:
    """No library beside it: the joint mode takes its place."""
    for n_classes in (3, 10):
        means = np.random.default_rng(0).normal(size=(1000, n_classes))
        link, out = np.zeros(n_classes), np.empty(n_classes)
        for var in (0.01, 0.1, 2.0):
            ours, mode = (partial(call, means, var, link, out) for call in (class_probabilities, modes))
            times = best(ours, mode, 20)
            yield Line(f"probabilities of {n_classes} classes, 1,000 rows, variance {var}: mode", *times)


@compiled
def student_cdfs(r: Float, dof: float, out: Float) -> None:
    for i in range(r.size):
        out[i] = student_cdf_pdf(r[i], dof, student_log_normaliser(dof))[0]


def exact_student_cdf(r: float, dof: float) -> float:
    """The lower tail, by the incomplete beta function with 40 digits."""
    with mpmath.workdps(40):
        x = mpmath.mpf(dof) / (mpmath.mpf(dof) + mpmath.mpf(r) ** 2)
        return float(mpmath.betainc(mpmath.mpf(dof) / 2, 0.5, 0, x, regularized=True) / 2)


def students() -> Iterator[Line]:
    r = np.random.default_rng(0).normal(size=5000)
    out, tail = np.empty_like(r), -np.linspace(1.0, 30.0, 30)
    for dof in (4.5, 60.0, 1000.0):
        ours, library = best(partial(student_cdfs, r, dof, out), partial(special.stdtr, dof, r, out=out))
        exact = np.array([exact_student_cdf(float(value), dof) for value in tail])
        found = np.empty_like(tail)
        student_cdfs(tail, dof, found)
        errors = [np.max(np.abs(values / exact - 1.0)[exact > 0.0]) for values in (found, special.stdtr(dof, tail))]
        remark = "largest relative error in the lower tail {:.0e}, SciPy {:.0e}".format(*errors)
        yield Line(f"student_cdf_pdf, dof = {dof:g}: scipy.special.stdtr", ours, library, remark)


def trapezoidal(log_mean: Float, log_var: Float, k: Float, n_nodes: int) -> Float:
    """``P(y <= k)`` of Poisson-log-normal components (n, M), by the trapezoidal rule over the log of the rate."""
    z = np.linspace(-6.5, 6.5, n_nodes)
    mass = np.exp(-0.5 * z * z)
    rates = np.exp(log_mean[:, :, None] + np.sqrt(log_var)[:, :, None] * z)
    values: Float = np.mean(special.pdtr(k[:, None, None], rates) @ (mass / mass.sum()), axis=1)
    return values


def counts() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    n, n_experts = 200, 24
    log_mean, log_var = (
        rng.normal(2.0, 1.0, (n, 1)) + rng.normal(0.0, 0.1, (n, n_experts)),
        np.full((n, n_experts), 0.5),
    )
    k = np.floor(np.exp(log_mean[:, 0]) * rng.exponential(size=n))
    weights = np.full((n, n_experts), 1.0 / n_experts)
    found, exact = count_cdf.cdf(weights, log_mean, log_var, k, 0.0), trapezoidal(log_mean, log_var, k, 2001)
    for size in (26, 101):
        ours, library = best(
            partial(count_cdf.cdf, weights, log_mean, log_var, k, 0.0),
            partial(trapezoidal, log_mean, log_var, k, size),
            repetitions=20,
        )
        errors = [np.max(np.abs(values - exact)) for values in (found, trapezoidal(log_mean, log_var, k, size))]
        remark = "largest error {:.0e}, library {:.0e}".format(*errors)
        yield Line(f"count_cdf, 200 rows of 24 experts: pdtr at {size} nodes", ours, library, remark)


def csv_files() -> Iterator[Line]:
    rows = np.random.default_rng(0).normal(size=(100_000, 8))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([f"x{j}" for j in range(rows.shape[1])])
    writer.writerows(rows.tolist())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        path.write_text(text.getvalue())

        def ours() -> None:
            with open_source(str(path)) as source:
                n_read = 0
                while (records := source.read(1 << 14)) is not None:
                    n_read += len(records)
            assert n_read == len(rows)

        def library() -> None:
            options = pyarrow.csv.ReadOptions(use_threads=False)
            with pyarrow.csv.open_csv(path, options) as reader:
                assert sum(batch.num_rows for batch in reader) == len(rows)

        times = best(ours, library, repetitions=5)
        remark = "ours knows the place of every record, and goes on after a bad one"
        yield Line("CSV, 100,000 rows of 8: pyarrow.csv.open_csv", *times, remark)


WRITE = """
import resource, sys, time
from pathlib import Path
import numpy as np
from safetensors.numpy import save_file
from iegp.storage.model_file import pieces

arrays = {f"matrix {i}": np.ones((8, 1024, 1024)) for i in range(4)}
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin = time.process_time()
if sys.argv[1] == "ours":
    with Path(sys.argv[2]).open("wb") as file:
        file.writelines(pieces(arrays, {}))
else:
    save_file(arrays, sys.argv[2])
print(time.process_time() - begin, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def model_files() -> Iterator[Line]:
    """Compare in separate processes, because the peak of the memory is what counts."""
    with tempfile.TemporaryDirectory() as folder:
        ours, library = (
            [float(value) for value in _output(WRITE, name, f"{folder}/model").split()] for name in ("ours", "library")
        )
    remark = f"memory beyond the model: {ours[1]:.0f} MiB, library {library[1]:.0f} MiB"
    yield Line("safetensors, 256 MiB: safetensors.numpy.save_file", ours[0], library[0], remark)


def _output(script: str, *arguments: str) -> str:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


TABLES = {
    "sincos": sines,
    "exponential": exponentials,
    "substitution": triangles,
    "pentagonal": pentagons,
    "classes": classes,
    "student": students,
    "count_cdf": counts,
    "csv": csv_files,
    "safetensors": model_files,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(TABLES)}; all of them if none is named"
    )
    names = parser.parse_args().names or list(TABLES)
    if unknown := set(names) - set(TABLES):
        parser.error(f"{', '.join(sorted(unknown))}: choose of {', '.join(TABLES)}")
    print(machine.describe())
    print(f"{'ours: library':<62} {'ours':>10} {'library':>10} {'ratio':>6}")
    for name in names:
        for line in TABLES[name]():
            times = f"{line.ours * 1e6:8.0f} us {line.library * 1e6:7.0f} us {line.library / line.ours:6.2f}"
            print(f"{line.what:<62} {times}")
            if line.remark:
                print(f"    {line.remark}")


if __name__ == "__main__":
    main()
