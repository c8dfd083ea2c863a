"""A latent variable model stopped anywhere goes on with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from iegp import IEGPLVM, load
from iegp.errors import ModelFileError
from iegp.kernels import RBF
from iegp.storage import model_file as modelfile

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 2)) @ RNG.normal(size=(2, 6)) + 0.1 * RNG.normal(size=(400, 6))
GAPPY = np.where(RNG.random(X.shape) < 0.02, np.nan, X)
SMALL = {"kernels": [RBF(0.5), RBF(2.0)], "n_frequencies": 8, "warmup": 50, "init": "pca", "random_state": 0}

VARIANTS = {
    "plain": {},
    "switching, forgetting": {"weights": "switching", "switch_prob": 0.1, "forgetting": 0.98},
    "bounded": {"max_stored": 100},
    "t-SNE": {"init": "tsne", "features": "orthogonal"},
    "picture": {"init": X[:50, :2]},
    "walking": {"drift_var": 1e-3, "weigh_warmup": True, "max_iter": 20},
}


def facts(model):
    return [model.embedding_, model.stitched_embedding_, model.expert_weights_, model.stored_rows_]


@pytest.mark.parametrize("at", [30, 50, 117, 128, 300])
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_same_bits_after_resuming(tmp_path, variant, at):
    straight = IEGPLVM(**(SMALL | variant)).partial_fit(X[:at])
    straight.save(tmp_path / "model")
    resumed = load(tmp_path / "model")
    for ours, theirs in zip(facts(resumed), facts(straight), strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert (resumed.transform(X[at:]) == straight.transform(X[at:])).all()
    straight.partial_fit(X[at:])
    resumed.partial_fit(X[at:])
    for ours, theirs in zip(facts(resumed), facts(straight), strict=True):
        assert ours.tobytes() == theirs.tobytes()
    assert (resumed.score_samples(X) == straight.score_samples(X)).all()


@pytest.mark.parametrize("drift_var", [0.0, 1e-3])
def test_gaps_are_remembered(tmp_path, drift_var):
    straight = IEGPLVM(**SMALL, drift_var=drift_var).partial_fit(GAPPY[:150])
    straight.save(tmp_path / "model")
    resumed = load(tmp_path / "model").partial_fit(GAPPY[150:])
    assert resumed.embedding_.tobytes() == straight.partial_fit(GAPPY[150:]).embedding_.tobytes()


def test_an_unfitted_model_keeps_its_parameters(tmp_path):
    model = IEGPLVM(**(SMALL | {"max_stored": 70, "warmup": 60}))
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.max_stored == 70
    assert (loaded.fit_transform(X) == model.fit_transform(X)).all()


def test_damaged_parts_are_refused(tmp_path):
    IEGPLVM(**SMALL).fit(X).save(tmp_path / "model")
    header, arrays = modelfile.read(tmp_path / "model")
    for name in ("experts.second", "memory.positions", "log_weights"):
        modelfile.write(tmp_path / "bad", header, arrays | {name: arrays[name][..., :-1]})
        with pytest.raises(ModelFileError, match="do not fit together"):
            load(tmp_path / "bad")
    modelfile.write(tmp_path / "bad", header, {name: a for name, a in arrays.items() if name != "axes"})
    with pytest.raises(ModelFileError):
        load(tmp_path / "bad")


@pytest.mark.parametrize(
    "entry", [{"n_neighbors": 10**9}, {"n_steps": 10**12}, {"max_iter": 10**12}, {"max_stored": 60}]
)
def test_settings_that_would_take_all_memory_or_all_time_are_refused(tmp_path, entry):
    IEGPLVM(**SMALL).fit(X).save(tmp_path / "model")
    header, arrays = modelfile.read(tmp_path / "model")
    header["latent"]["settings"] |= entry
    modelfile.write(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError, match=next(iter(entry))):
        load(tmp_path / "model")
