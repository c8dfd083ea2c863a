"""One BLAS thread while experts run, restored afterwards; tasks run once each, and failures are heard."""

from __future__ import annotations

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController, threadpool_info

from iegp.core.compute import threads


@pytest.fixture(params=[1, 2], ids="{} threads".format)
def n_outside(request):
    """The number of BLAS threads outside of the library: with one, there is nothing to limit."""
    before = blas_threads()
    set_blas_threads([request.param] * len(before))
    yield request.param
    set_blas_threads(before)


def set_blas_threads(counts):
    """In a thread that ends: recent threadpoolctl leaves the right to set limits to the first thread that sets one."""
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers

    def work():
        for library, count in zip(libraries, counts, strict=True):
            library.set_num_threads(count)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert blas_threads() == counts


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.usefixtures("n_outside")
def test_blas_is_held_to_one_thread_and_let_go():
    before = blas_threads()
    with threads.one_blas_thread():
        assert set(blas_threads()) <= {1}
        with threads.one_blas_thread():
            pass
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before


@pytest.mark.usefixtures("n_outside")
def test_blas_is_let_go_after_a_failure():
    before = blas_threads()
    with pytest.raises(RuntimeError, match="inside"), threads.one_blas_thread():
        raise RuntimeError("inside")
    assert blas_threads() == before


@pytest.mark.usefixtures("n_outside")
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


@pytest.mark.usefixtures("n_outside")
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


def test_a_limit_of_our_own_is_not_taken_for_a_setting_of_the_user(n_outside, monkeypatch):
    """An inner use asks for the limit too, else BLAS could be let go in the middle of it; with one thread none asks."""
    asked, enter = [], threads._Limit.enter
    monkeypatch.setattr(threads._Limit, "enter", lambda limit: (asked.append(limit), enter(limit)))
    with threads.one_blas_thread(), threads.one_blas_thread():
        assert len(asked) == (0 if n_outside == 1 else 2)


COSTS = st.lists(st.integers(1, 4), min_size=1, max_size=12)


@given(COSTS, st.integers(1, 400), st.integers(1, 60), st.integers(1, 6))
def test_a_plan_holds_every_row_of_every_task_once_and_cuts_between_blocks(costs, n_rows, block, n_threads):
    plan = threads.wrap_around(costs, n_rows, [block] * len(costs), n_threads)
    assert len(plan) <= n_threads
    for task in range(len(costs)):
        pieces = sorted(piece for pieces in plan for piece in pieces if piece.task == task)
        assert [piece.begin for piece in pieces] == [0, *(piece.stop for piece in pieces[:-1])]
        assert pieces[-1].stop == n_rows
        assert all(piece.begin % block == 0 and piece.begin < piece.stop for piece in pieces)


@given(COSTS, st.integers(1, 6))
def test_a_plan_is_balanced_and_first_rows_come_first(costs, n_threads):
    plan = threads.wrap_around(costs, 1000, [1] * len(costs), n_threads)
    loads = [sum((piece.stop - piece.begin) * costs[piece.task] / 1000 for piece in pieces) for pieces in plan]
    assert max(loads) <= max(sum(costs) / n_threads, *costs) + 0.05 * max(costs)
    for pieces in plan:
        # Whatever another thread waits for is done first; whatever waits is done last.
        assert all(piece.stop == 1000 for piece in pieces[1:])
        assert all(piece.begin == 0 for piece in pieces[:-1])


@pytest.mark.parametrize("n_threads", [1, 2, 3, 8])
def test_pieces_run_once_and_in_the_order_of_rows(n_threads):
    done = []
    plan = threads.wrap_around([1.0] * 7, 100, [10] * 7, n_threads)
    threads.run_in_pieces(done.append, plan)
    assert sorted(done) == sorted(piece for pieces in plan for piece in pieces)
    for task in range(7):
        begins = [piece.begin for piece in done if piece.task == task]
        assert begins == sorted(begins)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("bad_task", range(5))
def test_a_failing_piece_is_raised_and_no_thread_waits_for_ever(n_threads, bad_task):
    def work(piece):
        if piece.task == bad_task:
            raise ValueError(f"expert {piece.task}")

    with pytest.raises(ValueError, match=f"expert {bad_task}"):
        threads.run_in_pieces(work, threads.wrap_around([1.0] * 5, 100, [10] * 5, n_threads))


def test_n_jobs_follows_the_convention():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for n_jobs, wanted in [(None, 1), (1, 1), (3, 3), (-1, cores), (-2, max(1, cores - 1)), (-100, 1)]:
        assert threads.n_threads_from(n_jobs) == wanted


def test_a_thread_that_cannot_start_leaves_no_other_waiting(monkeypatch):
    """The second list cannot be handed out; the first waits for rows of a task that is never begun."""
    real, calls = threads.ThreadPoolExecutor.submit, []

    def refuse(self, *arguments):
        calls.append(arguments)
        if len(calls) > 1:
            raise RuntimeError("can't start new thread")
        return real(self, *arguments)

    monkeypatch.setattr(threads.ThreadPoolExecutor, "submit", refuse)
    with pytest.raises(RuntimeError, match="new thread"):
        threads.run_in_pieces([].append, threads.wrap_around([1.0] * 3, 100, [10] * 3, 2))


@pytest.mark.usefixtures("n_outside")
def test_an_interrupt_inside_leaves_blas_as_it_was():
    before = blas_threads()
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), threads.one_blas_thread():
            raise KeyboardInterrupt
    assert blas_threads() == before
    with threads.one_blas_thread():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
