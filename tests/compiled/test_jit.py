"""One source, compiled or not: the same results, one signature per function, any number of threads."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from compiled import plain_run
from core.builders import Kind, at_once, build, one_by_one, stream
from numpy.testing import assert_allclose, assert_array_equal

from iegp import IEGPClassifier, IEGPCountRegressor, _compile
from iegp.core import ensemble as ens
from iegp.core.expert import sweep
from iegp.kernels import RBF

needs_numba = pytest.mark.skipif(not _compile.COMPILED, reason="compilation is off")
TESTS = Path(__file__).parents[1]


@needs_numba
def test_compiled_is_plain_python_to_1e_10(tmp_path):
    target = tmp_path / "plain.npz"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(TESTS)}
    script = str(TESTS / "compiled" / "plain_run.py")
    done = subprocess.run(
        [sys.executable, script, str(target)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    here = plain_run.run()
    with np.load(target) as plain:
        assert plain["compiled"] == np.array(False)
        assert here["compiled"] == np.array(True)
        assert set(plain.files) == set(here)
        for name in sorted(set(here) - {"compiled"}):
            size = float(np.max(np.abs(here[name][np.isfinite(here[name])]), initial=0.0))
            assert_allclose(plain[name], here[name], rtol=1e-10, atol=1e-10 * max(size, 1e-300), err_msg=name)


TYPICAL = [
    Kind(),
    Kind(drifts=(0.0, 0.02), forgetting=(None, 0.95), n_outputs=3),
    Kind(rule="switching", switch="matrix", n_kernels=1),
    Kind(rule="stacking", n_columns=1, n_frequencies=1),
]


@needs_numba
@pytest.mark.parametrize(
    "function",
    [sweep.sweep_kernel, ens.predict_into, ens.learn_rows, ens.weigh],
    ids=lambda f: f.__name__,
)
def test_one_signature_per_function_over_typical_calls(function):
    for kind in TYPICAL:
        x, y = stream(50, kind.n_columns, kind.n_outputs)
        ensemble = build(kind)
        at_once(ensemble, x, y, level=0.9)
        _, state = one_by_one(ensemble, x[:3], y[:3])
        ens.learn(ensemble, state, x[10:30], y[10:30], n_threads=2)
        ens.predict(ensemble, state, x)
    # Labels that are not Gaussian are a type of their own; other tests may have brought some.
    gaussian = [signature for signature in function.signatures if "LabelModel" not in str(signature)]
    assert len(gaussian) == 1, gaussian


@needs_numba
@pytest.mark.parametrize("function", [sweep.sweep_kernel, ens.learn_rows, ens.weigh], ids=lambda f: f.__name__)
def test_one_more_signature_for_all_other_labels(function):
    x, y = stream(50)
    small = {"kernels": [RBF(1.0)], "n_frequencies": 4, "warmup": 8, "random_state": 0}
    for model, labels in (
        (IEGPClassifier(**small), y[:, 0] > 0.0),
        (IEGPClassifier(**small), np.digitize(y[:, 0], [-0.5, 0.5])),
        (IEGPCountRegressor(**small), np.floor(np.exp(y[:, 0]))),
    ):
        model.prequential(x, labels)
        model.prequential(x[:1], labels[:1])
    other = [signature for signature in function.signatures if "LabelModel" in str(signature)]
    assert len(other) == 1, other


@pytest.mark.parametrize("kind", [*TYPICAL, Kind(n_kernels=7, drifts=(0.0, 0.02), shutdown=1e-3)], ids=str)
@pytest.mark.parametrize("n_threads", [2, 5])
def test_results_do_not_depend_on_the_number_of_threads(kind, n_threads):
    ensemble = build(kind)
    x, y = stream(200, kind.n_columns, kind.n_outputs)
    runs = []
    for count in (1, n_threads):
        state = ens.start(ensemble)
        runs.append((*ens.learn(ensemble, state, x, y, n_threads=count, level=0.9), *state))
    for one, other in zip(*runs, strict=True):
        assert_array_equal(one, other)


@needs_numba
def test_a_rerun_gives_the_same_bits():
    ensemble = build(TYPICAL[1])
    x, y = stream(100, 2, 3)
    for one, other in zip(at_once(ensemble, x, y, 0.9), at_once(ensemble, x, y, 0.9), strict=True):
        for a, b in zip(one, other, strict=True):
            assert_array_equal(a, b)


def test_fast_sums_may_be_wrong_for_nan_and_infinity():
    assert not {"nnan", "ninf", "fast"} & set(_compile.FAST_SUMS)


def test_non_finite_values_travel_through_unharmed():
    """A NaN label spoils its own expert's future, visibly; it is refused one layer up."""
    ensemble = build(Kind(n_kernels=1))
    x, y = stream(20)
    y[10] = np.nan
    trace, _ = at_once(ensemble, x, y)
    assert np.all(np.isfinite(trace.mean[:11]))
    assert np.all(np.isnan(trace.mean[11:]))


@needs_numba
def test_options_are_compared_as_numba_does():
    from numba.core.compiler import Flags  # noqa: PLC0415 - may be absent

    plain, same, other = Flags(), Flags(), Flags()
    same.nrt, other.nrt = plain.nrt, not plain.nrt
    for one in (plain, same, other):
        assert _compile._hash(one) == hash(one)
        for two in (plain, same, other):
            assert _compile._are_equal(one, two) == (one == two)


@needs_numba
def test_garbage_is_collected_again_after_compiling():
    assert gc.isenabled()
    assert _compile.compiled(_first)(np.arange(3.0)) == 0.0
    assert gc.isenabled()


def _first(x):
    return x[0]


@needs_numba
def test_a_slice_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="another shape"):
        _compile.compiled(_assign)(np.zeros(3), np.zeros(2))


def _assign(target, source):
    target[:] = source
