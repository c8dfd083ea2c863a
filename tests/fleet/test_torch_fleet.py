"""Fleets with PyTorch give what the CPU's fleets give. On a machine without a GPU: with PyTorch on the CPU."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from core.builders import Kind, build
from fleet.test_fleet import BAD, KINDS
from fleet.test_fleet import template as fleet_template
from history.static_models import stream
from hypothesis import given, settings
from hypothesis import strategies as st

from iegp import Fleet, IEGPRegressor
from iegp.core.weights import RULES
from iegp.errors import InputError
from iegp.kernels import RBF, Constant, Linear

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'iegp[gpu]'")

from iegp.fleet import TorchFleet  # noqa: E402
from iegp.fleet.pytorch import experts, noise, pages, rows, weights  # noqa: E402
from iegp.fleet.pytorch import fleet as gpu_fleet  # noqa: E402
from iegp.parallel import ProcessEnsemble, TorchEnsemble  # noqa: E402

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU here")),
]
NOISE_MODELS = {"drift_var": 0.0, "noise_forgetting": (1.0, 0.9, (0.8, 4.0)), "weights": "bayes"}
ALL_KINDS = KINDS | {"noise models": NOISE_MODELS, "bayes without shutdown": NOISE_MODELS | {"shutdown": 0.0}}
FIELDS = "mean", "std", "lower", "upper", "log_score", "weights"

pytestmark = [
    pytest.mark.parametrize("device", DEVICES),
    # Some versions of Triton announce changes of their defaults when they compile.
    pytest.mark.filterwarnings("ignore:.*:UserWarning:triton.*"),
]


def template(*arguments: Any, **changes: Any) -> IEGPRegressor:
    """Glitches are learned on a device."""
    return fleet_template(*arguments, **({"robust": False} | changes))


def test_robust_templates_are_refused(device):
    with pytest.raises(InputError, match="robust=False"):
        TorchFleet(fleet_template(), device=device)


def test_rules_that_pytorch_does_not_know_are_refused(device, monkeypatch):
    ensemble = build(Kind(rule="stacking"))
    monkeypatch.setattr(experts, "RULES", (*RULES, "own"))
    with pytest.raises(InputError, match="weights='own' is not available on PyTorch"):
        experts.experts_on(ensemble._replace(rule=len(RULES)), torch.device(device), torch.float64)


def test_sums_of_terms_of_different_sizes(device):
    """Kernels with fewer features are filled up with zeros; states come back as they were."""
    kernels = [RBF(0.7), RBF(2.0) + Linear() + Constant(drift_var=1e-2), Linear() + Constant(drift_var=1e-2)]
    settings = {"n_frequencies": 8, "warmup": 64, "drift_var": (1e-3, 1e-2), "random_state": 0, "robust": False}
    base = IEGPRegressor(kernels, **settings).warm_up(*stream(64, seed=99))
    ours, theirs = TorchFleet(base, ["a", "b"], device=device), Fleet(base, ["a", "b"])
    for n in (60, 1, 9):
        X, y = stream(n, seed=n)
        keys = np.resize(["a", "b", "c"], n).tolist()
        assert_same_runs(ours.learn(keys, X, y, 0.9), theirs.learn(keys, X, y, 0.9))
    assert_same_fleets(ours, theirs)


def model(kind: str, n_outputs: int | None = None) -> IEGPRegressor:
    return template("static", n_outputs, **ALL_KINDS[kind])


def assert_same(got: Any, wanted: Any, tolerance: float = 1e-8) -> None:
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


def assert_same_runs(got: Any, wanted: Any, tolerance: float = 1e-8) -> None:
    for name in FIELDS:
        if getattr(wanted, name) is not None:
            assert_same(getattr(got, name), getattr(wanted, name), tolerance)
    assert got.keys.tolist() == wanted.keys.tolist()
    np.testing.assert_array_equal(got.y, wanted.y)


def assert_same_fleets(got: TorchFleet | Fleet, wanted: Fleet, tolerance: float = 1e-8) -> None:
    assert got.keys == wanted.keys
    assert got.n_samples_seen_ == wanted.n_samples_seen_
    assert_same(got.expert_weights_, wanted.expert_weights_, tolerance)
    X = stream(30, seed=5)[0]
    keys = np.resize([*wanted.keys, "nobody"], 30).tolist()
    ours, theirs = got.predict_dist(keys, X), wanted.predict_dist(keys, X)
    for name in ("mean", "std"):
        assert_same(getattr(ours, name), getattr(theirs, name), tolerance)
    assert_same(ours.interval(0.9), theirs.interval(0.9), tolerance)
    assert_same(got.predict(keys, X, return_std=True), wanted.predict(keys, X, return_std=True), tolerance)


@pytest.mark.parametrize("n_outputs", [None, 2])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_equal_to_the_fleet_on_the_cpu(kind, n_outputs, device, monkeypatch):
    monkeypatch.setattr(pages, "FIRST_PAGE_KEYS", 3)
    base = model(kind, n_outputs)
    ours, theirs = TorchFleet(base, ["a", "b"], device=device), Fleet(base, ["a", "b"])
    rng = np.random.default_rng(1)
    # One to several blocks per key, padded and not, also single rows; new keys, pages that are full.
    for call, n in enumerate((200, 1, 40, 600, 8)):
        X, y = stream(n, seed=call, n_outputs=n_outputs)
        keys = rng.choice(list("abcdefgh"), size=n, p=[0.5, 0.3, *[0.2 / 6] * 6])
        assert_same_runs(ours.learn(keys, X, y, level=0.9), theirs.learn(keys, X, y, level=0.9))
    assert len(ours._pages.pages) > 1
    assert_same_fleets(ours, theirs)


@settings(max_examples=10)
@given(data=st.data())
def test_any_interleaving(device, data):
    kind = data.draw(st.sampled_from(list(ALL_KINDS)))
    n = data.draw(st.integers(0, 120))
    keys = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), dtype=np.int64)
    X, y = (part[:n] for part in stream(max(n, 1), seed=2))
    ours, theirs = TorchFleet(model(kind), device=device), Fleet(model(kind))
    cut = data.draw(st.integers(0, n))
    for part in (slice(0, cut), slice(cut, n)):
        assert_same_runs(ours.learn(keys[part], X[part], y[part]), theirs.learn(keys[part], X[part], y[part]))
    if n:
        assert_same_fleets(ours, theirs)


@pytest.mark.parametrize("ratio", [1e2, 1e6, 1e8])
@pytest.mark.parametrize("drift_var", [0.0, 1e-4])
def test_weak_noise(ratio, drift_var, device):
    """Prior over noise up to 1e8: blocks with surprising rows are absorbed row by row."""
    changes = {"prior_var": 1.0, "noise_var": 1.0 / ratio, "learn_warmup": False, "drift_var": drift_var}
    base = template("static", **changes, shutdown=0.0)
    ours, theirs = TorchFleet(base, device=device), Fleet(base)
    keys = np.arange(3000) % 3
    X, y = stream(3000)
    for part in np.array_split(np.arange(3000), 7):
        got, wanted = (fleet.learn(keys[part], X[part], y[part]) for fleet in (ours, theirs))
        tolerance = 1e-8 if ratio <= 1e6 else 1e-6
        assert_same(got.mean, wanted.mean, tolerance)
        assert_same(got.std, wanted.std, tolerance)
        assert_same(got.log_score, wanted.log_score, tolerance)


@pytest.mark.parametrize("kind", ["static", "drifting", "switching"])
def test_float32_keeps_four_digits_here(kind, device):
    base = model(kind)
    ours, theirs = TorchFleet(base, device=device, dtype="float32"), Fleet(base)
    assert ours.bytes_per_key < 0.6 * theirs.bytes_per_key
    keys = np.arange(2000) % 3
    X, y = stream(2000)
    for part in np.array_split(np.arange(2000), 40):
        assert_same_runs(*(fleet.learn(keys[part], X[part], y[part]) for fleet in (ours, theirs)), tolerance=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_files_go_both_ways(dtype, device, tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "FIRST_PAGE_KEYS", 4)
    monkeypatch.setattr(gpu_fleet, "CONVERT_BYTES", 3 * 30000)
    base = model("drifting")
    X, y = stream(400)
    keys = np.random.default_rng(0).integers(0, 11, size=400)
    tolerance = 1e-8 if dtype == "float64" else 1e-4
    ours, theirs = TorchFleet(base, device=device, dtype=dtype), Fleet(base, dtype=dtype)
    for fleet in (ours, theirs):
        fleet.learn(keys[:200], X[:200], y[:200])
        fleet.save(tmp_path / type(fleet).__name__)
    fleets = [
        ours,
        TorchFleet.load(tmp_path / "Fleet", device=device),
        TorchFleet.load(tmp_path / "TorchFleet", device=device),
        Fleet.load(tmp_path / "TorchFleet"),
    ]
    assert [(fleet.dtype, fleet.keys) for fleet in fleets] == [(dtype, theirs.keys)] * 4
    wanted = theirs.learn(keys[200:], X[200:], y[200:])
    for fleet in fleets:
        assert_same_runs(fleet.learn(keys[200:], X[200:], y[200:]), wanted, tolerance)
        assert_same_fleets(fleet, theirs, tolerance)
    again = IEGPRegressor.from_fleet(ours, 3)
    assert_same(again.predict(X[:5]), theirs.predict(3, X[:5]), tolerance)


@pytest.mark.parametrize("kind", ["static", "drifting", "noise models", "switching"])
def test_the_same_keys_call_after_call(kind, device):
    """On a GPU such calls are recorded: with what comes between them they still give what single calls give."""
    base = model(kind)
    ours, theirs = TorchFleet(base, device=device), Fleet(base)
    keys = np.array(list("cab"))
    for call in range(12):
        X, y = stream(3, seed=call)
        runs = [fleet.learn(keys, X, y) for fleet in (ours, theirs)]
        assert_same_runs(*runs)
        if call == 5:
            for fleet in (ours, theirs):
                fleet.learn(["d", "a", "a", "e"], *stream(4, seed=50))
        if call == 8:
            # Two rows of a key are a block, and other tensors in between must not be mixed up with recorded ones.
            for fleet in (ours, theirs):
                fleet.learn(np.array(list("cabcab")), *stream(6, seed=51))
        if call == 10:
            first = runs[0].mean.copy()
            copied = deepcopy(ours)
            copied.learn(keys, X, y)
            assert_same_fleets(ours, theirs)
            assert_same(runs[0].mean, first)
    assert_same_fleets(ours, theirs)


def test_data_on_the_device(device):
    base = model("noise models")
    fleets = [TorchFleet(base, range(7), device=device) for _ in range(3)]
    X, y = stream(6 * 5)
    x, labels = (torch.tensor(part, device=device) for part in (X, y))
    slots = np.array([5, 0, 1, 2, 6, 3])
    keys = np.repeat(slots, 5)
    for _ in range(2):
        run = fleets[0].learn(keys, X, y)
        tensors = fleets[1].learn(keys, x, labels, as_tensors=True)
        direct = fleets[2].learn_slots(slots, x.view(6, 5, 2), labels.view(6, 5))
        for answer in (tensors, direct):
            assert answer.mean.device.type == device
            assert_same(answer.mean[:, 0].cpu(), run.mean, 1e-12)
            assert_same(answer.log_score.cpu(), run.log_score, 1e-12)
            assert_same(answer.weights.cpu(), run.weights, 1e-12)
    fleets[2].learn_slots(None, x[:7, None], labels[:7, None])
    with pytest.raises(InputError, match="from 0 to 6"):
        fleets[2].learn_slots([0, 7], x[:2, None], labels[:2, None])


def test_a_thousand_experts(device, monkeypatch):
    kernels = [RBF(float(scale)) for scale in np.geomspace(0.1, 10.0, 300)]
    fixed = {"prior_var": 1.0, "noise_var": 0.1, "drift_var": (0.0, 1e-3), "noise_forgetting": (None, 0.98)}
    shape = {"n_frequencies": 5, "warmup": 64, "random_state": 0, "robust": False}
    base = IEGPRegressor(kernels, **shape, **fixed).warm_up(*stream(64, seed=99))
    # Not all kernels at once.
    monkeypatch.setattr(rows, "WORK_BYTES", 5_000_000)
    large = TorchEnsemble(base, device=device)
    X, y = stream(200)
    got, wanted = large.learn(X, y), base.prequential(X, y)
    for name in ("mean", "std", "log_score", "weights"):
        assert_same(getattr(got, name), getattr(wanted, name))
    assert large.expert_weights_.shape == (1200,)
    assert_same(large.expert_weights_, base.expert_weights_)
    assert_same(large.predict(X, return_std=True), base.predict(X, return_std=True))
    assert_same(large.predict(X), large.predict_dist(X).mean)
    assert large.n_samples_seen_ == base.n_samples_seen_
    again = large.to_model()
    assert type(again) is IEGPRegressor
    assert_same(again.predict(X), base.predict(X))


def test_one_large_ensemble_can_take_the_others_place(device):
    del device
    own = {"gram", "close", "n_workers"}
    faces = [{name for name in dir(kind) if not name.startswith("_")} for kind in (TorchEnsemble, ProcessEnsemble)]
    assert faces[0] - own == faces[1] - own


def test_switching_among_many_experts(device):
    log_weights = torch.log_softmax(torch.randn(3, 100, dtype=torch.float64, device=device) * 5.0, dim=-1)
    transitions = torch.softmax(torch.randn(100, 100, dtype=torch.float64, device=device), dim=-1)
    rule = weights.Rule(weights.SWITCHING, transitions.log(), 1.0, 0.0)
    wanted = (log_weights.exp() @ transitions).log()
    assert_same(weights.diffuse(log_weights, rule).cpu(), wanted.cpu(), 1e-12)


def test_sums_for_evidence(device):
    base = model("static")
    large = TorchEnsemble(base, device=device)
    X, y = stream(50)
    gram = large.gram(X[20:], y[20:], into=large.gram(X[:20], y[:20]))
    scaling, ensemble = base.model_.scaling, base.model_.experts.ensemble
    targets = (y - scaling.y_mean) / scaling.y_scale
    for k in range(ensemble.n_kernels):
        own = ensemble.kernel_basis(k).frequencies
        angles = ((X - scaling.x_mean) / scaling.x_scale) @ own.T
        phi = np.hstack([np.sin(angles), np.cos(angles)]) / np.sqrt(len(own))
        assert_same(gram.features[k].cpu(), phi.T @ phi)
        assert_same(gram.labels[k, :, 0].cpu(), phi.T @ targets)
    assert_same(gram.squares.cpu(), [targets @ targets])
    assert gram.n_rows == 50


def test_constant_labels_reach_the_noise_floor(device):
    """The closed form of learned noise knows floors, at any row of a block."""
    noise_model = noise.NoiseModel(0.7, float("nan"))
    squares = torch.rand((2, 40, 3, 1), dtype=torch.float64, device=device) * 1e-12
    squares[:, 5:30] = 0.0
    scale = torch.tensor([1e-9, 1.0, 1e-14], dtype=torch.float64, device=device).expand(2, 3)[..., None]
    shapes = noise.shapes_before(torch.tensor([1.0, 5.0], dtype=torch.float64, device=device), 0.7, 40)
    floors = noise.NOISE_FLOOR * (shapes + 0.5)[..., None, None]
    wanted = noise._conjugate_row_by_row(scale, squares, floors, 0.7)
    assert (wanted == floors).any()
    got = noise.scales_after(noise_model, scale, squares, shapes)
    np.testing.assert_allclose(got.cpu(), wanted.cpu(), rtol=1e-12)


def test_extreme_labels(device):
    """Rows of zero density under every expert leave the weights as they were, on any device."""
    for kind in ("static", "noise models", "drifting", "switching"):
        ours, theirs = TorchFleet(model(kind), device=device), Fleet(model(kind))
        X, y = stream(60)
        y[20] = 1e200
        got, wanted = (fleet.learn("a", X, y) for fleet in (ours, theirs))
        assert_same(got.weights, wanted.weights)
        assert_same(got.log_score[:21], wanted.log_score[:21])


@pytest.mark.parametrize(("keys", "X", "y", "message"), BAD, ids=[case[3] for case in BAD])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_bad_input_changes_nothing(keys, X, y, message, as_tensor, device):
    fleet = TorchFleet(template(), keys=["a"], device=device)
    fleet.learn(["a"] * 10, *stream(10))
    before = fleet.predict("a", np.ones((1, 2)))
    rows, labels = np.zeros((2, 2)) if X is None else X, np.zeros(2) if y is None else y
    if as_tensor and "not numbers" not in message:
        rows, labels = (torch.tensor(part, dtype=torch.float64, device=device) for part in (rows, labels))
    with pytest.raises(InputError, match=message):
        fleet.learn(keys, rows, labels)
    assert fleet.keys == ["a"]
    np.testing.assert_array_equal(fleet.predict("a", np.ones((1, 2))), before)


def test_the_rest_of_a_fleet(device):
    fleet = TorchFleet(template(), keys=["a", 5], device=device)
    assert (len(fleet), "a" in fleet, "z" in fleet) == (2, True, False)
    assert fleet.nbytes == 2 * fleet.bytes_per_key
    assert "TorchFleet(2 keys, 12 experts of 16 features, float64 on" in repr(fleet)
    with pytest.raises(InputError, match="key 'z' is not in this fleet of 2 keys"):
        fleet.online("z")
    with pytest.raises(InputError, match="device='nowhere' cannot be used"):
        TorchFleet(template(), device="nowhere")
    with pytest.raises(InputError, match="level=2"):
        fleet.learn("a", *stream(3), level=2)
    with pytest.raises(InputError, match="as_tensors=True"):
        fleet.learn("a", *stream(3), level=0.9, as_tensors=True)
