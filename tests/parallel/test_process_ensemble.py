"""An ensemble over processes is the model in one process, to the bit; a lost worker is reported."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fleet.test_fleet import KINDS
from history.static_models import stream
from history.workers_as_threads import use_threads
from hypothesis import given, settings
from hypothesis import strategies as st

from iegp import IEGPClassifier, IEGPRegressor, _compile, load
from iegp.core import ensemble as ens
from iegp.core.expert import sweep
from iegp.core.model import begin
from iegp.core.state import belief_at
from iegp.errors import InputError, WorkerError
from iegp.kernels import RBF
from iegp.parallel import ProcessEnsemble, process_ensemble
from iegp.parallel.process_ensemble import delayed_interrupts

ALL_KINDS: dict[str, dict[str, Any]] = {
    **KINDS,
    "default": {},
    "noise": {
        "drift_var": 0.0,
        "noise_forgetting": (1.0, 0.9, (0.8, 4.0)),
        "weights": "bayes",
        "shutdown": 1e-3,
    },
}
FIELDS = "mean", "std", "lower", "upper", "log_score", "weights"
CALLS = (200, 1, 5, 40, 7)


def template(kind: str = "drifting", n_outputs: int | None = None, n_kernels: int = 4) -> IEGPRegressor:
    kernels = [RBF(length_scale) for length_scale in np.geomspace(0.3, 3.0, n_kernels)]
    settings = {"n_frequencies": 8, "warmup": 64, "random_state": 0, "robust": False}
    model = IEGPRegressor(kernels, **(settings | ALL_KINDS[kind]))
    return model.warm_up(*stream(64, seed=99, n_outputs=n_outputs))


@pytest.fixture
def threads(monkeypatch):
    use_threads(monkeypatch)


@pytest.fixture
def interruptible():
    """SIGINT raises KeyboardInterrupt, as in a terminal; processes that a shell starts in the background ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def assert_same_state(got: IEGPRegressor, wanted: IEGPRegressor) -> None:
    for one, two in zip(got.model_.state, wanted.model_.state, strict=True):
        np.testing.assert_array_equal(one, two)


def check_calls(ensemble: ProcessEnsemble, one: IEGPRegressor, calls: Any, n_outputs: int | None = None) -> None:
    """Calls of so many rows, each against one process, and what is left at the end."""
    for call, n in enumerate(calls):
        X, y = stream(n, seed=call, n_outputs=n_outputs)
        got, wanted = ensemble.learn(X, y, level=0.9), one.prequential(X, y, level=0.9)
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(got, name), getattr(wanted, name), err_msg=name)
        np.testing.assert_array_equal(got.y, y)
    np.testing.assert_array_equal(ensemble.expert_weights_, one.expert_weights_)
    assert ensemble.n_samples_seen_ == one.n_samples_seen_
    X = stream(30, seed=77)[0]
    np.testing.assert_array_equal(ensemble.predict(X, return_std=True), one.predict(X, return_std=True))
    np.testing.assert_array_equal(ensemble.predict(X[:2]), one.predict(X[:2]))
    np.testing.assert_array_equal(ensemble.predict_dist(X).interval(0.9), one.predict_dist(X).interval(0.9))
    assert_same_state(ensemble.to_model(), one)


# -- the same as one process ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("n_outputs", [None, 2])
@pytest.mark.parametrize("n_workers", [1, 2, 3])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_same_bits_as_in_one_process(kind, n_workers, n_outputs, monkeypatch):
    for module in (ens, process_ensemble):
        monkeypatch.setattr(module, "CHUNK_ROWS", 64)
    base = template(kind, n_outputs)
    with ProcessEnsemble(base, n_workers=n_workers) as ensemble:
        assert ensemble.n_workers == n_workers
        check_calls(ensemble, deepcopy(base), CALLS, n_outputs)
    if kind == "shutdown":
        assert (ensemble.expert_weights_ == 0.0).any()


def test_real_processes_give_the_same_bits_and_a_killed_one_is_reported():
    base = template("drifting")
    ensemble = ProcessEnsemble(base, n_workers=2)
    assert repr(ensemble) == "ProcessEnsemble(24 experts of 16 features, 2 workers)"
    check_calls(ensemble, deepcopy(base), CALLS)
    workers = list(ensemble._pool.workers)
    os.kill(workers[1].process.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match=r"exit code -9.*is lost.*iegp\.load"):
        ensemble.learn(*stream(10))
    # The other one has ended too, in good order.
    assert [worker.process.exitcode for worker in workers] == [0, -signal.SIGKILL]
    assert ensemble.n_workers == 0
    for call in (lambda: ensemble.predict(stream(2)[0]), ensemble.to_model):
        with pytest.raises(WorkerError, match="is lost"):
            call()


@pytest.mark.usefixtures("threads")
def test_never_more_workers_than_kernels():
    base = template(n_kernels=2)
    with ProcessEnsemble(base, n_workers=5) as ensemble:
        assert ensemble.n_workers == 2
        check_calls(ensemble, deepcopy(base), (20,))


@settings(max_examples=15)
@given(calls=st.lists(st.integers(0, 30), min_size=1, max_size=5), n_workers=st.integers(1, 4))
def test_any_calls_and_any_workers(calls, n_workers):
    with pytest.MonkeyPatch.context() as patch:
        use_threads(patch)
        base = template()
        with ProcessEnsemble(base, n_workers=n_workers) as ensemble:
            for call, n in enumerate(calls):
                X, y = (part[:n] for part in stream(max(n, 1), seed=call))
                run = ensemble.learn(X, y)
                assert len(run) == n
                assert run.lower is None
                if n:
                    base.partial_fit(X, y)
            assert_same_state(ensemble.to_model(), base)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_the_order_of_experts_does_not_matter(kind):
    base, order = template(kind), np.array([2, 0, 3, 1])
    other = deepcopy(base)
    experts, state = base.model_.experts, base.model_.state
    n_drifts, n_noise = experts.ensemble.n_drifts, len(experts.ensemble.forgetting)
    beliefs = (order[:, None] * n_drifts + np.arange(n_drifts)).ravel()
    places = (beliefs[:, None] * n_noise + np.arange(n_noise)).ravel()
    ensemble = experts.ensemble.part(order)._replace(transitions=experts.ensemble.transitions)
    own = [belief_at(experts.ensemble.layout, state, b) for b in beliefs]
    moved = state._replace(
        matrix=np.concatenate([belief.matrix.ravel() for belief in own]),
        vector=np.concatenate([belief.vector for belief in own]),
        **{name: getattr(state, name)[places] for name in ("noise_scale", "log_weights")},
    )
    other.model_ = replace(base.model_, experts=experts._replace(ensemble=ensemble), state=moved)
    with ProcessEnsemble(base, n_workers=3) as ours, ProcessEnsemble(other, n_workers=2) as theirs:
        for call, n in enumerate(CALLS):
            X, y = stream(n, seed=call)
            one, two = ours.learn(X, y, level=0.9), theirs.learn(X, y, level=0.9)
            np.testing.assert_allclose(one.weights[:, places], two.weights, rtol=0, atol=1e-10)
            for name in ("mean", "std", "lower", "upper", "log_score"):
                np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-10, atol=1e-10)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.parametrize("t", [0, 3, 30])
def test_no_leak(kind, t):
    """Labels from row t on, permuted or absurd, change no prediction up to and including row t."""
    X, y = stream(50, seed=1)
    runs = []
    for future in (y[t:], y[t:][::-1], np.full(50 - t, 1e6)):
        with ProcessEnsemble(template(kind), n_workers=2) as ensemble:
            labels = np.concatenate([y[:t], future])
            parts = [ensemble.learn(X[rows], labels[rows], level=0.9) for rows in (slice(5), slice(5, 50))]
            runs.append({name: np.concatenate([getattr(part, name) for part in parts]) for name in FIELDS})
    for other in runs[1:]:
        for name in FIELDS:
            last = t if name == "log_score" else t + 1
            np.testing.assert_array_equal(other[name][:last], runs[0][name][:last], err_msg=name)
        assert (other["mean"][t + 1 :] != runs[0]["mean"][t + 1 :]).any()


@pytest.mark.usefixtures("threads")
def test_from_a_model_to_a_file_and_back(tmp_path):
    base = template("default")
    whole = deepcopy(base)
    with ProcessEnsemble(base, n_workers=2) as ensemble:
        ensemble.learn(*stream(100, seed=1))
        model = ensemble.to_model()
        ensemble.learn(*stream(10, seed=3))
    assert type(model) is IEGPRegressor
    assert str(model.get_params()) == str(base.get_params())
    model.save(tmp_path / "model")
    assert_same_state(template("default"), base)  # the template is as it was
    with ProcessEnsemble(load(tmp_path / "model"), n_workers=3) as ensemble:
        ensemble.learn(*stream(50, seed=2))
        whole.partial_fit(*stream(100, seed=1)).partial_fit(*stream(50, seed=2))
        assert_same_state(ensemble.to_model(), whole)
    assert str(model.experts_)


# -- what cannot be ------------------------------------------------------------------------------------------------

BAD = [
    ([[0.0, np.nan], [0.0, 0.0]], None, "X has nan at row 0, column 1"),
    ([[0.0], [0.0]], None, r"X has shape \(2, 1\).*2 columns"),
    ([["u", 0.0], [0.0, 0.0]], None, "X has values that are not numbers"),
    (None, [0.0, np.inf], "y has inf at row 1"),
    (None, [0.0, 1.0, 2.0], r"y has shape \(3,\)"),
    (None, [0.0, 1e308], "y has 1e[+]308 at row 1"),
]


@pytest.mark.usefixtures("threads")
def test_bad_input_changes_nothing_in_any_worker():
    with ProcessEnsemble(template(), n_workers=2) as ensemble:
        ensemble.learn(*stream(10))
        before = ensemble.to_model()
        for X, y, message in BAD:
            with pytest.raises(InputError, match=message):
                ensemble.learn(np.zeros((2, 2)) if X is None else X, np.zeros(2) if y is None else y)
        with pytest.raises(InputError, match="level=2"):
            ensemble.learn(*stream(10), level=2)
        with pytest.raises(InputError, match="X has shape"):
            ensemble.predict([[1.0]])
        assert_same_state(ensemble.to_model(), before)


@pytest.mark.usefixtures("threads")
def test_what_is_refused():
    X, y = stream(40)
    with pytest.raises(InputError, match="warm it up first"):
        ProcessEnsemble(IEGPRegressor())
    with pytest.raises(InputError, match=r"warm-up is not over \(40 of 64 rows\)"):
        ProcessEnsemble(IEGPRegressor(**template().get_params()).fit(X, y))
    with pytest.raises(InputError, match="only IEGPRegressor"):
        ProcessEnsemble(SimpleNamespace(model_=begin(IEGPClassifier(random_state=0).settings(2), 2, 2)))
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(InputError, match="n_workers="):
            ProcessEnsemble(template(), n_workers=wrong)
    ensemble = ProcessEnsemble(template(), n_workers=1)
    for copied in (deepcopy, pickle.dumps):
        with pytest.raises(InputError, match=r"use to_model\(\)"):
            copied(ensemble)
    ensemble.close()
    ensemble.close()
    for call in (lambda: ensemble.learn(X, y), lambda: ensemble.predict(X), ensemble.to_model):
        with pytest.raises(InputError, match="is closed"):
            call()


# -- what may happen -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("threads")
def test_threads_take_turns():
    X, y = stream(400)
    with ProcessEnsemble(template(), n_workers=2) as ensemble:
        wanted = [ensemble.predict(X[i : i + 3]) for i in (0, 100)]
        wrong: list[Any] = []

        def ask(which: int) -> None:
            for _ in range(60):
                got = ensemble.predict(X[100 * which : 100 * which + 3])
                if not np.array_equal(got, wanted[which]):
                    wrong.append(got)

        askers = [threading.Thread(target=ask, args=(which,)) for which in (0, 1)]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        assert not wrong
        ensemble.learn(X, y)


@pytest.mark.usefixtures("threads")
def test_a_worker_that_fails_says_why(monkeypatch):
    ensemble = ProcessEnsemble(template(), n_workers=2)

    def no_memory(*_: Any) -> None:
        raise MemoryError("no memory for a block")

    monkeypatch.setattr(sweep, "sweep_kernel", no_memory)
    with pytest.raises(WorkerError, match="no memory for a block"):
        ensemble.learn(*stream(10))
    assert ensemble.n_workers == 0


@pytest.mark.usefixtures("threads", "interruptible")
def test_ctrl_c_waits_for_the_chunk(monkeypatch):
    monkeypatch.setattr(process_ensemble, "CHUNK_ROWS", 16)
    base = template()
    X, y = stream(48)
    with ProcessEnsemble(base, n_workers=2) as ensemble:
        interrupted(monkeypatch, ensemble, times=1)
        with pytest.raises(KeyboardInterrupt):
            ensemble.learn(X, y)
        monkeypatch.undo()
        use_threads(monkeypatch)
        n = ensemble.n_samples_seen_ - base.n_samples_seen_
        assert n == 16
        assert_same_state(ensemble.to_model(), base.partial_fit(X[:n], y[:n]))


@pytest.mark.usefixtures("threads", "interruptible")
def test_a_second_ctrl_c_stops_at_once(monkeypatch):
    ensemble = ProcessEnsemble(template(), n_workers=2)
    interrupted(monkeypatch, ensemble, times=2)
    with pytest.raises(KeyboardInterrupt):
        ensemble.learn(*stream(48))
    assert ensemble.n_workers == 0
    with pytest.raises(WorkerError, match="broken off by KeyboardInterrupt"):
        ensemble.learn(*stream(48))


def interrupted(monkeypatch: Any, ensemble: ProcessEnsemble, times: int) -> None:
    """Ctrl-C while workers are learning."""
    learn = ensemble._pool.learn

    def interrupt_and_learn(*arrays: Any) -> None:
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
        learn(*arrays)

    monkeypatch.setattr(ensemble._pool, "learn", interrupt_and_learn)


def test_other_threads_are_not_interrupted_anyway():
    def work() -> None:
        with delayed_interrupts():
            handlers.append(signal.getsignal(signal.SIGINT))

    handlers: list[Any] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]


PARENT = """
import sys
if __name__ == "__main__":
    import numpy as np
    from iegp import IEGPRegressor
    from iegp.kernels import RBF
    from iegp.parallel import ProcessEnsemble
    model = IEGPRegressor([RBF(1.0)], n_frequencies=2, robust=False, random_state=0).warm_up(np.eye(9), np.arange(9.0))
    ensemble = ProcessEnsemble(model, n_workers=1)
    print(ensemble._pool.workers[0].process.pid, flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, script], **pipes, text=True) as parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    patience = time.monotonic() + 20.0
    while _is_running(pid) and time.monotonic() < patience:
        time.sleep(0.05)
    assert not _is_running(pid)


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


CALLS_AND_SIGNATURES = """
import pytest
from parallel.test_process_ensemble import CALLS, stream, template
from history.workers_as_threads import use_threads
from iegp.core.expert import sweep
from iegp.parallel import ProcessEnsemble

use_threads(pytest.MonkeyPatch())
with ProcessEnsemble(template("default"), n_workers=2) as ensemble:
    functions = sweep.sweep_rows, sweep.sweep_kernel, sweep.predict_rows
    before = [len(function.signatures) for function in functions]
    for n in CALLS:
        ensemble.learn(*stream(n))
        ensemble.predict(stream(n)[0])
    after = [len(function.signatures) for function in functions]
assert after == before == [1, 1, 1], (after, before)
"""


@pytest.mark.skipif(not _compile.COMPILED, reason="compilation is off")
def test_workers_call_nothing_that_their_parent_has_not_compiled():
    """In a process of its own: what other tests have compiled would count."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run([sys.executable, "-c", CALLS_AND_SIGNATURES], env=environment, check=True, timeout=120)


FRESH = """
import os
if __name__ == "__main__":
    from pathlib import Path
    from parallel.test_process_ensemble import stream, template
    from iegp.parallel import ProcessEnsemble

    def written():
        files = Path(os.environ["NUMBA_CACHE_DIR"]).glob("**/sweep.*")
        return {str(file): file.stat().st_mtime_ns for file in files}

    with ProcessEnsemble(template("default"), n_workers=2) as ensemble:
        before = written()
        for n in (1, 20):
            ensemble.learn(*stream(n))
            ensemble.predict(stream(n)[0])
        assert before and written() == before
"""


@pytest.mark.slow
@pytest.mark.skipif(not _compile.COMPILED, reason="compilation is off")
def test_workers_write_nothing_into_a_fresh_cache(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(FRESH)
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join(filter(None, [str(tests), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": paths}
    subprocess.run([sys.executable, script], env=environment, check=True, timeout=600)
