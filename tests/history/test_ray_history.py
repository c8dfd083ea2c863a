"""The same histories on a Ray cluster, here one on this machine."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from history.static_models import STATIC, assert_same_model, stream

from iegp import IEGPRegressor
from iegp.errors import InputError
from iegp.history import fit_history

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'iegp[ray]'")
# Ray's own imports warn about things of their own.
pytestmark = pytest.mark.filterwarnings("ignore")

X, Y = stream(1000)


@pytest.fixture(scope="module")
def cluster():
    # A cluster of our own, whatever else runs on this machine.
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


@pytest.fixture
def files(tmp_path):
    for number, part in enumerate(np.array_split(np.arange(1000), 3)):
        table = pa.table({"a": X[part, 0], "label": Y[part], "b": X[part, 1]})
        pa.parquet.write_table(table, tmp_path / f"{number}.parquet", row_group_size=100)
    return tmp_path


def fresh():
    return IEGPRegressor(**STATIC)


def in_one_process():
    return fresh().warm_up(X[:64], Y[:64]).partial_fit(X[64:], Y[64:])


@pytest.mark.usefixtures("cluster")
def test_files_learned_by_tasks(files):
    here = fit_history(files, fresh(), target="label", n_workers=1, part_rows=200)
    there = fit_history(files, fresh(), target="label", engine="ray", part_rows=200)
    assert_same_model(there, in_one_process())
    for one, two in zip(here.model_.state, there.model_.state, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.usefixtures("cluster")
def test_arrays_learned_by_tasks():
    pieces = ((X[i : i + 100], Y[i : i + 100]) for i in range(0, 1000, 100))
    model = fit_history(pieces, fresh(), engine="ray", n_workers=2, part_rows=150)
    assert_same_model(model, in_one_process())


@pytest.mark.usefixtures("cluster")
def test_a_ray_dataset(files):
    paths = [str(files / f"{number}.parquet") for number in range(3)]
    dataset = ray.data.read_parquet(paths)
    with pytest.raises(InputError, match="engine='ray'"):
        fit_history(dataset, fresh(), target="label")
    with pytest.raises(InputError, match="target="):
        fit_history(dataset, fresh(), engine="ray")
    # Which rows warm the model up is Ray's choice of order: start from a model that is warm.
    base = fresh().warm_up(X[:64], Y[:64])
    model = fit_history(dataset, base, target="label", engine="ray", part_rows=200)
    assert_same_model(model, fresh().warm_up(X[:64], Y[:64]).partial_fit(X, Y))
    cold = fit_history(dataset, fresh(), target="label", engine="ray", part_rows=200)
    assert cold.n_samples_seen_ == 1000 - 64
    assert list(cold.feature_names_in_) == ["a", "b"]
