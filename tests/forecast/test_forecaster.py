"""Forecasts equal those of a plain loop, see no future, do not depend on chunking, and are kept in files."""

from __future__ import annotations

import numpy as np
import pytest
from forecast.series import HORIZON, SEASON, forecaster, regressor, series
from numpy.testing import assert_allclose, assert_array_equal
from oracles.forecast import LoopForecaster
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import iegp
from iegp import IEGPForecaster
from iegp.core.compute.tolerances import DEPENDENCE_ORIGINS, INTERVAL_STEP, LARGEST_NORMAL_SCORE
from iegp.errors import InputError, ModelFileError
from iegp.evaluate.forecasts import ForecastRun

PARTS = ("origin", "mean", "lower", "upper", "y")
CUTS = [1, 2, 5, 31, 32, 60]


@pytest.fixture(scope="module")
def run():
    return forecaster().prequential(series())


def in_pieces(y, cuts=CUTS, **more):
    model = forecaster()
    pieces = [{name: values[part] for name, values in more.items()} for part in _slices(len(y), cuts)]
    runs = [model.prequential(y[part], **piece) for part, piece in zip(_slices(len(y), cuts), pieces, strict=True)]
    return model, ForecastRun.concatenate(runs)


def _slices(n, cuts):
    return [slice(a, b) for a, b in zip([0, *cuts], [*cuts, n], strict=True)]


def test_equal_to_a_loop(run):
    y = series()
    loop = LoopForecaster(
        regressor, HORIZON, (1, 2), (SEASON,), 0.95, INTERVAL_STEP, DEPENDENCE_ORIGINS, LARGEST_NORMAL_SCORE
    )
    for value in y:
        loop.learn(value)
    model = forecaster().fit(y)
    for place, origin in enumerate(run.origin):
        assert_allclose([run.mean[place], run.lower[place], run.upper[place]], loop.answers(origin), rtol=1e-8)
    assert_allclose([model.predict(), *model.predict_interval()], loop.forecast(), rtol=1e-8)
    moments = np.array(loop.moments)
    std = np.sqrt(np.diag(moments))
    assert_allclose(model.correlation_, moments / np.outer(std, std), rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("season", [7, 12])
def test_the_first_forecasts_have_intervals_of_the_size_of_the_series(season, seed):
    """Before its beginning a series repeats its first value: no rounding error of that is a scale."""
    y = series(40, seed)
    run = forecaster(season=season).prequential(y)
    assert np.all(run.upper - run.lower < 10.0 * np.abs(y).max())


def test_every_origin_is_there_with_its_labels(run):
    y = series()
    assert_array_equal(run.origin, np.arange(len(y) - HORIZON))
    assert_array_equal(run.y, np.array([y[o + 1 : o + 1 + HORIZON] for o in run.origin]))


@pytest.mark.parametrize("t", [20, 70])
def test_no_leak(run, t):
    """Whatever follows row t changes no forecast from it. (Labels far out are learned in other blocks: rounding.)"""
    y = series()
    for future in (series(seed=1)[t + 1 :], np.full(len(y) - t - 1, 1e6)):
        other = forecaster().prequential(np.concatenate([y[: t + 1], future]))
        for name in ("mean", "lower", "upper"):
            assert_allclose(getattr(other, name)[: t + 1], getattr(run, name)[: t + 1], rtol=1e-12)


def test_an_origin_is_what_predict_says_there(run):
    """Nothing of the rows after it is needed for a forecast."""
    model = forecaster().fit(series()[:61])
    lower, upper = model.predict_interval()
    for mine, its in ((model.predict(), run.mean), (lower, run.lower), (upper, run.upper)):
        assert_allclose(mine, its[60], rtol=1e-9)


def test_chunking_does_not_matter(run):
    model, joined = in_pieces(series())
    for name in PARTS:
        assert_allclose(getattr(joined, name), getattr(run, name), rtol=1e-9)
    whole = forecaster().fit(series())
    assert_allclose(model.predict(), whole.predict(), rtol=1e-9)
    assert_allclose(model.correlation_, whole.correlation_, rtol=1e-9)


def test_columns_and_times_in_pieces():
    y, X = series(), np.random.default_rng(3).standard_normal((93, 2))
    time = np.datetime64("2024-01-01") + np.arange(90) * np.timedelta64(1, "h")
    model, joined = in_pieces(y, X=X[:90], time=time)
    whole = forecaster().fit(y, X[:90], time)
    assert_allclose(model.predict(X=X[90:]), whole.predict(X=X[90:]), rtol=1e-9)
    assert len(joined) == 90 - HORIZON


def test_a_column_known_beforehand_helps():
    X = np.random.default_rng(4).standard_normal((150, 1))
    y = series(150) + 2.0 * X[:, 0]
    without, with_it = forecaster().prequential(y), forecaster().prequential(y, X)
    assert with_it.mae.max() < 0.5 * without.mae.min()


def test_paths_have_the_quantiles_and_the_dependence():
    model = forecaster().fit(series())
    paths = model.sample_paths(4000)
    assert paths.shape == (4000, HORIZON)
    assert_array_equal(paths, model.sample_paths(4000))
    assert (paths != model.sample_paths(4000, random_state=1)).any()
    spread = np.subtract(*model.predict_quantile([0.9, 0.1]))
    for q in (0.1, 0.5, 0.9):
        assert np.all(np.abs(np.quantile(paths, q, axis=0) - model.predict_quantile(q)) < 0.1 * spread)
    ranks = np.argsort(np.argsort(paths, axis=0), axis=0)
    assert_allclose(np.corrcoef(ranks.T), 6 / np.pi * np.arcsin(model.correlation_ / 2), atol=0.06)


def test_paths_do_not_depend_on_the_signs_of_vectors(monkeypatch):
    """Libraries differ in the signs of the vectors of a decomposition."""
    model, plain = forecaster().fit(series()), np.linalg.eigh
    paths = model.sample_paths(5)

    def turned(matrix):
        values, vectors = plain(matrix)
        return values, vectors * [-1.0, 1.0, -1.0]

    monkeypatch.setattr(np.linalg, "eigh", turned)
    assert_allclose(model.sample_paths(5), paths, rtol=1e-9)


def test_dependence_is_found():
    """The errors of a random walk add up; those of independent values do not."""
    rng = np.random.default_rng(0)
    walk = forecaster(season=None).fit(np.cumsum(rng.standard_normal(600)))
    noise = forecaster(season=None).fit(rng.standard_normal(600))
    assert abs(walk.correlation_[0, 1] - np.sqrt(0.5)) < 0.1
    assert abs(noise.correlation_[0, 1]) < 0.15


def test_coverage_at_every_horizon():
    run = forecaster().prequential(series(800))
    assert np.all((run.coverage > 0.93) & (run.coverage < 0.97))
    assert np.all(run.mae < run.naive_mae())
    assert np.all(run.mae < run.naive_mae(SEASON))
    assert "797 origins" in repr(run)


def test_fewer_rows_and_single_quantiles():
    model = forecaster().fit(series())
    assert_array_equal(model.predict(2), model.predict()[:2])
    assert model.predict_quantile(0.5).shape == (HORIZON,)
    assert model.sample_paths(5, horizon=1).shape == (5, 1)
    lower, upper = model.predict_interval(0.5)
    wide = model.predict_interval()
    assert np.all((wide[0] < lower) & (lower < upper) & (upper < wide[1]))


def test_memory_is_constant():
    """What the forecaster keeps does not grow with the rows."""
    model = forecaster().fit(series(60))
    before = {name: np.shape(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}
    model.update(series(200))
    assert before == {name: np.shape(value) for name, value in vars(model).items() if isinstance(value, np.ndarray)}


def test_parameters_and_clone():
    model = forecaster().fit(series())
    copy = clone(model)
    assert not hasattr(copy, "models_")
    params = copy.get_params()
    assert params["horizon"] == HORIZON
    assert params["regressor__warmup"] == 32
    assert_array_equal(copy.set_params(level=0.95).fit(series()).predict(), model.predict())
    with pytest.raises(NotFittedError):
        clone(model).predict()


@pytest.mark.parametrize("more", [{}, {"regressor": None, "season": (SEASON, 12), "lags": (1, 4)}])
def test_files(tmp_path, more):
    y, time = series(), np.arange(100.0) * 3600.0
    model = forecaster(**more).fit(y, time=time[:90])
    model.save(tmp_path / "a.model")
    restored = IEGPForecaster.load(tmp_path / "a.model")
    for each in (model, restored):
        each.update(y[:10], time=time[90:])
    assert_array_equal(restored.predict_quantile([0.1, 0.9]), model.predict_quantile([0.1, 0.9]))
    assert_array_equal(restored.sample_paths(3), model.sample_paths(3))
    with pytest.raises(ModelFileError, match=r"IEGPForecaster\.load"):
        iegp.load(tmp_path / "a.model")


def test_lags_and_seasons_may_be_arrays_in_files_too(tmp_path):
    model = forecaster(lags=np.array([1, 4]), season=np.array([SEASON, 12])).fit(series())
    model.save(tmp_path / "a.model")
    assert IEGPForecaster.load(tmp_path / "a.model").lags == (1, 4)
    single = iegp.IEGPRegressor(lags=np.array([1, 4]), n_frequencies=4, warmup=16, random_state=0)
    single.fit(np.ones((20, 1)), series()[:20]).save(tmp_path / "b.model")
    assert iegp.load(tmp_path / "b.model").lags == (1, 4)


def test_files_of_others(tmp_path):
    IEGPForecaster().save(tmp_path / "new.model")
    assert IEGPForecaster.load(tmp_path / "new.model").get_params() == IEGPForecaster().get_params()
    regressor().save(tmp_path / "other.model")
    with pytest.raises(ModelFileError, match="no forecaster"):
        IEGPForecaster.load(tmp_path / "other.model")


@pytest.mark.parametrize(
    ("y", "more", "message"),
    [
        ([1.0, np.nan], {}, "nan at row 1"),
        ([1.0, 1e200], {}, "1e.200 at row 1; use other units"),
        (np.ma.array([1.0, 2.0], mask=[False, True]), {}, "nan at row 1; fill gaps"),
        ([1.0 + 1j], {}, "complex"),
        ([[1.0]], {}, "shape"),
        ([], {}, "at least one row"),
        (["a"], {}, "not made of numbers"),
        ([1.0], {"X": [[1.0]]}, "as at the start"),
        ([1.0], {"time": [1.0]}, "at the start of the series"),
    ],
)
def test_bad_rows_change_nothing(y, more, message):
    model = forecaster().fit(series())
    before = model.predict()
    with pytest.raises(InputError, match=message):
        model.partial_fit(y, **more)
    assert model.n_samples_seen_ == 90
    assert_array_equal(model.predict(), before)


def test_times_increase():
    model = forecaster().fit(series(), time=np.arange(90.0))
    with pytest.raises(InputError, match=r"row 1 is 90\.0, not after 90\.0 of the row before"):
        model.update([1.0, 2.0], time=[90.0, 90.0])
    with pytest.raises(InputError, match=r"row 0 is 80\.0, not after 89\.0 of the row before"):
        model.update([1.0, 2.0], time=[80.0, 90.0])
    with pytest.raises(InputError, match="row 1 is inf, which is no time"):
        model.update([1.0, 2.0], time=[90.0, np.inf])
    with pytest.raises(InputError, match="shape"):
        model.update([1.0, 2.0], time=[90.0])
    with pytest.raises(InputError, match="row 1 is missing"):
        model.update([1.0, 2.0], time=[90.0, np.nan])


@pytest.mark.parametrize(
    "bad",
    [
        {"horizon": 0},
        {"season": 1},
        {"season": 12.0},
        {"lags": 2.5},
        {"lags": (0,)},
        {"lags": -1},
        {"lags": True},
        {"level": 1.0},
        {"regressor": 3},
        {"lags": (10**9,)},
    ],
)
def test_bad_arguments(bad):
    with pytest.raises(InputError):
        forecaster(**bad).fit(series())


def test_settings_that_a_forecaster_has_itself():
    with pytest.raises(InputError, match="a forecaster sets itself"):
        forecaster(regressor=regressor(delay=2)).fit(series())


def test_too_few_rows_or_too_far_ahead():
    with pytest.raises(InputError, match="needs more than its horizon"):
        forecaster().fit([1.0, 2.0, 3.0]).predict()
    with pytest.raises(InputError, match="cannot forecast 4 rows"):
        forecaster().fit(series()).predict(4)
    with pytest.raises(InputError, match=r"X has shape.*fit\(y, X\)"):
        forecaster().fit(series(), X=np.arange(90.0))
    with pytest.raises(InputError, match="season='24' is text; pass whole numbers"):
        forecaster(season="24").fit(series())


def test_scores_of_a_run():
    y = np.array([[1.0, 2.0], [2.0, 3.0], [3.0, 5.0], [5.0, 4.0]])
    run = ForecastRun(np.arange(2, 6), y - 1.0, y - [2.0, 0.0], y - [-1.0, 1.0], y, 0.9)
    assert_allclose(run.mae, 1.0)
    assert_allclose(run.coverage, [1.0, 0.0])
    assert_allclose(run.interval_score, [3.0, -1.0 + 20.0])
    assert_allclose(run.naive_mae(), [(1 + 1 + 2) / 3, (2 + 3 + 1) / 3])
    assert "made before" in repr(ForecastRun(np.arange(1), y[:1], y[:1], y[:1], y[:1]))


def test_a_summary_has_the_scores_by_row_ahead():
    run = forecaster().prequential(series())
    scored = run.origin >= run.horizon
    error = (run.y - run.mean)[scored]
    found = run.summary()
    assert list(found) == ["mae", "rmse", "crps", "coverage", "width"]
    assert_allclose(found["mae"], np.abs(error).mean(axis=0))
    assert_allclose(found["rmse"], np.sqrt(np.mean(error**2, axis=0)))
    assert_allclose(found["width"], (run.upper - run.lower)[scored].mean(axis=0))
    assert_allclose(found["coverage"], run.coverage)
    std = (run.upper - run.lower)[scored] / (2 * stats.norm.ppf(0.5 + 0.5 * run.level))
    draws = np.random.default_rng(0).standard_normal((2, 20_000, 1, 1)) * std[:20] - error[:20]
    by_draws = np.abs(draws[0]).mean(axis=0) - 0.5 * np.abs(draws[0] - draws[1]).mean(axis=0)
    few = ForecastRun(*(part[scored][:20] for part in (run.origin, run.mean, run.lower, run.upper, run.y)), run.level)
    assert_allclose(few.crps, by_draws.mean(axis=0), rtol=0.02)


def test_all_rows_ahead_together_are_in_the_last_line():
    run = forecaster().prequential(series())
    scored = run.is_scored
    overall = run.summary().overall
    assert overall["rmse"] == pytest.approx(np.sqrt(np.mean((run.y - run.mean)[scored] ** 2)))
    assert overall["mae"] == pytest.approx(np.abs(run.y - run.mean)[scored].mean())
    lines = repr(run.summary()).splitlines()
    assert [line.split()[0] for line in lines] == ["step", "1", "2", "3", "all"]
    assert f"{overall['rmse']:.4g}" in lines[-1]


def test_a_long_summary_is_abridged():
    y = np.random.default_rng(0).standard_normal((200, 60))
    lines = repr(ForecastRun(np.arange(200), y + 1, y - 1, y + 2, y).summary()).splitlines()
    assert len(lines) == 27
    assert lines[13].split()[0] == "..."
    assert lines[-2].split()[0] == "60"


def test_a_run_without_scored_origins_has_no_scores():
    y = np.ones((1, 2))
    for n in (0, 1):
        run = ForecastRun(np.arange(n), y[:n], y[:n], y[:n], y[:n])
        assert np.isnan(list(run.summary().values())).all()
        assert "nan" in repr(run.summary())
        assert len(run.to_frame()) == 2 * n


def test_a_frame_has_a_row_for_each_origin_and_row_ahead():
    y = series()
    run = forecaster().prequential(y)
    frame = run.to_frame()
    assert list(frame) == ["origin", "step", "y", "mean", "lower", "upper"]
    assert len(frame) == len(run) * run.horizon
    assert_allclose(frame["y"], y[frame["origin"] + frame["step"]])
    scored = frame[frame["origin"] >= run.horizon]
    assert_allclose((scored["y"] - scored["mean"]).abs().groupby(scored["step"]).mean(), run.mae)


def test_a_run_of_forecasts_draws_itself():
    pytest.importorskip("matplotlib", reason="the plot extra is not installed").use("agg")
    run = forecaster().prequential(series())
    display = run.plot(season=12, target="metres", step=2)
    assert "metres" in display.ax_.get_ylabel()
    assert "2 rows ahead" in display.ax_.get_title(loc="left")
    means = {tuple(line.get_ydata()) for line in display.ax_.get_lines()}
    assert tuple(run.mean[run.is_scored, 1]) in means
    errors = {line.get_label(): line.get_ydata() for line in display.lower_ax_.get_lines()}
    assert_allclose(errors["forecast"], run.mae)
    assert len(errors) == 3
    rows = display.ax_.get_lines()[0].get_xdata()
    assert rows[0] == run.horizon + 2
    with pytest.raises(InputError, match="from 1 to 3"):
        run.plot(step=4)
    with pytest.raises(InputError, match="needs a series of 7 rows"):
        forecaster().prequential(series()[:5]).plot()
    with pytest.raises(InputError, match="not a ForecastRun"):
        type(display).from_run("forecast")
