"""One thread at a time changes a model: the second is refused and loses nothing; threads that predict are free."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from contracts.models import small, stream

from iegp import IEGPLVM, Fleet, IEGPClassifier, IEGPRegressor
from iegp._writers import writing
from iegp.adapters import RiverRegressor
from iegp.errors import ConcurrentWriteError
from iegp.estimators import base
from iegp.kernels import RBF

X, Y = stream(120)
LABELS = np.where(Y > 0.0, "up", "down")
SIZES: dict[str, Any] = {"kernels": [RBF(1.0)], "n_frequencies": 3, "warmup": 20, "random_state": 0}


def in_another_thread(model: object, act: Callable[[], object]) -> BaseException | None:
    """What ``act`` raises while another thread changes ``model``."""
    entered, done = threading.Event(), threading.Event()

    def hold() -> None:
        with writing(model):
            entered.set()
            done.wait(60.0)

    holder = threading.Thread(target=hold)
    holder.start()
    assert entered.wait(60.0)
    try:
        act()
    except ConcurrentWriteError as error:
        return error
    finally:
        done.set()
        holder.join()
    return None


def writers() -> list[tuple[str, Any, Callable[[Any], object]]]:
    number = small(n_frequencies=3).fit(X, Y)
    classes = IEGPClassifier(**SIZES).fit(X, LABELS)
    river = RiverRegressor(**{k: v for k, v in SIZES.items() if k != "random_state"}, seed=0)
    river.learn_one({"a": 1.0}, 1.0)
    fleet = Fleet(IEGPRegressor(**SIZES | {"warmup": 0}).warm_up(X, Y))
    fleet.learn("a", X[:5], Y[:5])
    latent = IEGPLVM(n_frequencies=3, warmup=20, init="pca", random_state=0).fit(X)
    return [
        ("fit", number, lambda model: model.fit(X[:9], Y[:9])),
        ("partial_fit", number, lambda model: model.partial_fit(X[:9], Y[:9])),
        ("unchecked", number, lambda model: model.partial_fit(X[:1], Y[:1], check_input=False)),
        ("prequential", number, lambda model: model.prequential(X[:9], Y[:9])),
        ("warm_up", number, lambda model: model.warm_up(X, Y)),
        ("save", number, lambda model: model.save("never-written")),
        ("classes", classes, lambda model: model.prequential(X[:9], LABELS[:9])),
        ("classes, partial_fit", classes, lambda model: model.partial_fit(X[:9], LABELS[:9])),
        ("river", river, lambda model: model.learn_one({"a": 2.0}, 2.0)),
        ("fleet", fleet, lambda model: model.learn("a", X[:5], Y[:5])),
        ("fleet, save", fleet, lambda model: model.save("never-written")),
        ("map", latent, lambda model: model.partial_fit(X[:5])),
        ("map, fit", latent, lambda model: model.fit(X)),
    ]


def test_a_second_thread_is_refused_and_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, model, write in writers():
        before = pickle.dumps(model)
        refusal = in_another_thread(model, lambda model=model, write=write: write(model))
        assert refusal is not None, name
        assert type(model).__name__ in str(refusal)
        assert pickle.dumps(model) == before, name
        write(model)
    assert {path.name for path in tmp_path.iterdir()} == {"never-written"}


def test_predicting_and_copying_are_free():
    model = small(n_frequencies=3).fit(X, Y)
    expected = model.predict(X[:5])
    copies = []
    assert in_another_thread(model, lambda: np.testing.assert_array_equal(model.predict(X[:5]), expected)) is None
    assert in_another_thread(model, lambda: copies.append(copy.deepcopy(model).partial_fit(X[:5], Y[:5]))) is None
    assert copies[0].n_samples_seen_ == model.n_samples_seen_ + 5


def test_threads_that_learn_at_once_lose_no_row_without_an_error(monkeypatch):
    """Each call is either refused or learned; two are made to meet."""
    model, meeting = small(n_frequencies=3).fit(X, Y), threading.Barrier(2, timeout=0.5)
    n_before, real = model.n_samples_seen_, base.online.absorb

    def absorb(*arguments: Any) -> None:
        try:
            meeting.wait()
        except threading.BrokenBarrierError:
            meeting.reset()
        real(*arguments)

    monkeypatch.setattr(base.online, "absorb", absorb)
    learned = []

    def learn() -> None:
        for start in range(0, 40, 10):
            try:
                model.partial_fit(X[start : start + 10], Y[start : start + 10])
                learned.append(10)
            except ConcurrentWriteError:
                pass

    threads = [threading.Thread(target=learn) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.n_samples_seen_ == n_before + sum(learned)
    assert len(learned) < 8


def test_after_an_error_the_model_is_free_again():
    model = small(n_frequencies=3).fit(X, Y)
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit([[np.inf] * X.shape[1]], [0.0])
    assert in_another_thread(object(), lambda: model.partial_fit(X[:3], Y[:3])) is None
