"""One BLAS thread while experts run, restored afterwards; tasks run once each, and failures are heard."""

from __future__ import annotations

import os
import threading

import pytest
from threadpoolctl import threadpool_info

from iegp.core import threads


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_is_held_to_one_thread_and_let_go():
    before = blas_threads()
    with threads.one_blas_thread():
        assert set(blas_threads()) <= {1}
        with threads.one_blas_thread():
            pass
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


def test_blas_is_let_go_after_a_failure():
    before = blas_threads()
    with pytest.raises(RuntimeError, match="inside"), threads.one_blas_thread():
        raise RuntimeError("inside")
    assert blas_threads() == before


def test_blas_is_held_in_a_worker_thread_too():
    """Recent threadpoolctl lets one thread at a time set limits: the main thread must give that right back."""
    with threads.one_blas_thread():
        pass
    seen = []

    def work():
        with threads.one_blas_thread():
            seen.extend(blas_threads())
        seen.append(blas_threads())

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert set(seen[:-1]) <= {1}
    assert seen[-1] == blas_threads()


def test_concurrent_limits_are_lifted_by_the_last_to_leave():
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with threads.one_blas_thread():
            entered.set()
            leave.wait(5)

    other = threading.Thread(target=hold)
    with threads.one_blas_thread():
        other.start()
        assert entered.wait(5)
    assert set(blas_threads()) <= {1}
    leave.set()
    other.join()
    assert blas_threads() == before


@pytest.mark.parametrize("n_threads", [1, 2, 8])
def test_every_task_runs_once(n_threads):
    done = []
    threads.run_all([lambda i=i: done.append(i) for i in range(7)], n_threads)
    assert sorted(done) == list(range(7))
    threads.run_all([], n_threads)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_failing_task_is_raised(n_threads):
    def fail():
        raise ValueError("expert 1")

    with pytest.raises(ValueError, match="expert 1"):
        threads.run_all([lambda: None, fail], n_threads)


def test_n_jobs_follows_the_convention():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for n_jobs, wanted in [(None, 1), (1, 1), (3, 3), (-1, cores), (-2, max(1, cores - 1)), (-100, 1)]:
        assert threads.n_threads_from(n_jobs) == wanted
