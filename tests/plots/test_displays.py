"""Displays show the given run on the given axes, with labels, titles and legends."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from contracts.models import (
    class_stream,
    count_stream,
    grade_stream,
    small,
    small_classifier,
    small_counts,
    small_ordinal,
    state_bytes,
    stream,
)
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge, SGDRegressor

from iegp.core.changes import Change
from iegp.errors import InputError
from iegp.evaluate.classification import running_error
from iegp.evaluate.metrics import coverage, running_nmse
from iegp.evaluate.protocol import prequential
from iegp.evaluate.runs import ClassificationRun, PrequentialRun

matplotlib = pytest.importorskip("matplotlib", reason="the plot extra is not installed")
matplotlib.use("agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from iegp.plots import CalibrationDisplay, ExpertWeightsDisplay, PrequentialDisplay  # noqa: E402
from iegp.plots.expert_weights_display import expert_names  # noqa: E402
from iegp.plots.stream import MARK  # noqa: E402

N = 300


def two_outputs():
    X, y = stream(N)
    return X, np.column_stack([y, 10 * y + 3])


STREAMS = {
    "numbers": (small, stream(N)),
    "two outputs": (small, two_outputs()),
    "counts": (small_counts, count_stream(N)[:2]),
    "two classes": (small_classifier, class_stream(N, 2)),
    "four classes": (small_classifier, class_stream(N, 4)),
    "grades": (small_ordinal, grade_stream(N)),
}
KINDS = list(STREAMS)
NUMBERS = ["numbers", "two outputs", "counts"]
CLASSES = ["two classes", "four classes", "grades"]


@pytest.fixture(scope="module", name="runs")
def runs_of_every_kind():
    """A fitted model and its run for every kind of label."""
    found = {}
    for kind, (make, (X, y)) in STREAMS.items():
        model = make()
        found[kind] = model, model.prequential(X, y)
    return found


@pytest.fixture(autouse=True)
def close_figures():
    """Also those that tests of other modules have left open."""
    pyplot.close("all")
    yield
    pyplot.close("all")


def texts(axes):
    return [text.get_text().replace("\n", " ") for text in axes.get_legend().get_texts()]


def drawn(display):
    """Drawing finds what laying out does not."""
    display.figure_.canvas.draw()
    return display


def make(kind, runs, display, **options):
    model, run = runs[kind]
    if display is ExpertWeightsDisplay:
        return display.from_run(run, model.experts_, **options)
    return display.from_run(run, **options)


DISPLAYS = [PrequentialDisplay, ExpertWeightsDisplay, CalibrationDisplay]


# -- all of them -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_panel_is_named_and_has_a_title(kind, display, runs):
    shown = drawn(make(kind, runs, display, title="a stream"))
    assert shown.ax_.get_title(loc="left") == "a stream"
    panels = [shown.ax_] if shown.lower_ax_ is None else [shown.ax_, shown.lower_ax_]
    assert shown.figure_.axes == panels
    assert all(panel.get_ylabel() for panel in panels)
    assert panels[-1].get_xlabel()
    assert texts(shown.ax_)


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_axes_of_the_caller_are_used(kind, display, runs):
    figure = Figure()
    above, below, other = figure.subplots(3, 1)
    shown = drawn(make(kind, runs, display, ax=above))
    assert shown.ax_ is above
    assert shown.lower_ax_ is None
    assert shown.figure_ is figure
    assert above.get_xlabel()
    assert above.has_data()
    assert not below.has_data()
    if display is not ExpertWeightsDisplay:
        pair = drawn(make(kind, runs, display, ax=[below, other]))
        assert (pair.ax_, pair.lower_ax_) == (below, other)
        assert below.has_data()
        assert other.has_data()
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("ax", [3, "axes", [], ["a", "b"], (None, None)])
def test_what_cannot_be_drawn_on_is_refused(display, ax, runs):
    with pytest.raises(InputError, match=r"cannot be drawn on; give one matplotlib Axes"):
        make("numbers", runs, display, ax=ax)


def test_three_panels_are_too_many(runs):
    with pytest.raises(InputError, match="a pair for both panels"):
        make("numbers", runs, PrequentialDisplay, ax=Figure().subplots(3, 1))


@pytest.mark.parametrize("display", DISPLAYS)
def test_plot_draws_again_elsewhere(display, runs):
    shown = make("numbers", runs, display)
    first = shown.figure_
    assert shown.plot() is shown
    assert shown.figure_ is not first


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_from_estimator_passes_a_clone_over_the_rows(kind, display, runs):
    make_model, (X, y) = STREAMS[kind]
    model, run = runs[kind]
    before = state_bytes(model)
    shown = display.from_estimator(model, X, y)
    assert state_bytes(model) == before
    fresh = make_model()
    display.from_estimator(fresh, X, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    if display is ExpertWeightsDisplay:
        assert_allclose(shown.weights, run.weights)
    else:
        assert_allclose(shown.run.log_score, run.log_score)


@pytest.mark.parametrize("display", DISPLAYS)
def test_from_estimator_passes_arguments_on(display):
    X, y, exposure = count_stream(100)
    figure = Figure()
    shown = display.from_estimator(
        small_counts(), X, y, prequential_params={"exposure": exposure}, ax=figure.subplots(), title="visitors"
    )
    assert shown.figure_ is figure
    assert shown.ax_.get_title(loc="left") == "visitors"
    run = small_counts().prequential(X, y, exposure=exposure)
    if display is ExpertWeightsDisplay:
        assert_allclose(shown.weights, run.weights)
    else:
        assert_allclose(shown.run.mean, run.mean)


@pytest.mark.parametrize("display", DISPLAYS)
def test_estimators_that_cannot_run_are_refused(display):
    with pytest.raises(InputError, match=r"Ridge\(\) has no prequential; give an estimator of iegp"):
        display.from_estimator(Ridge(), *stream(10))
    with pytest.raises(InputError, match="y is None"):
        display.from_estimator(small(), stream(10)[0], None)


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("kind", ["numbers", "counts", "two classes"])
@pytest.mark.parametrize("rows", [0, 1])
def test_runs_too_short_for_a_figure_are_refused(kind, display, rows, runs):
    model, run = runs[kind]
    with pytest.raises(InputError, match=f"a run of {rows} row.* too short.*concatenate"):
        make(kind, {kind: (model, first_rows(run, rows))}, display)
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("display", DISPLAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_short_runs_are_drawn(kind, display, runs):
    model, run = runs[kind]
    drawn(make(kind, {kind: (model, first_rows(run, 3))}, display))


def first_rows(run, n):
    if isinstance(run, ClassificationRun):
        return ClassificationRun(run.proba[:n], run.log_score[:n], run.weights[:n], run.y[:n], run.classes)
    parts = [getattr(run, name)[:n] for name in ("mean", "std", "lower", "upper", "log_score", "weights", "y")]
    return PrequentialRun(*parts, level=run.level, n_blind=run.n_blind)


@pytest.mark.parametrize("display", DISPLAYS)
def test_objects_other_than_runs_are_refused(display):
    with pytest.raises(InputError, match="is not a run; give what prequential"):
        make("x", {"x": (small().fit(*stream(5)), np.zeros(5))}, display)


@pytest.mark.parametrize("display", DISPLAYS)
def test_changes_are_marked_and_rows_counted_from_the_start_of_the_stream(display, runs):
    shown = make("numbers", runs, display, first_row=1000, changes=(20, 1100, 1200))
    panels = [shown.ax_] if shown.lower_ax_ is None else [shown.ax_, shown.lower_ax_]
    for panel in panels:
        assert sorted(line.get_xdata()[0] for line in panel.lines if to_hex(line.get_color()) == MARK)[:2] == [
            1100,
            1200,
        ]
        assert panel.get_xlim()[1] == 1000 + N - 1
    assert texts(shown.ax_).count("the stream changes") == 1


@pytest.mark.parametrize("display", [PrequentialDisplay, ExpertWeightsDisplay])
@pytest.mark.parametrize("kind", ["numbers", "two classes"])
def test_zoom(kind, display, runs):
    shown = drawn(make(kind, runs, display, first_row=1000, zoom=(1050, 1100)))
    assert shown.ax_.get_xlim() == (1050, 1099)
    drawn(make(kind, runs, display, zoom=(50, 51)))
    with pytest.raises(InputError, match=r"zoom=\(0, 50\) shows none of the rows 1000 to 1299"):
        make(kind, runs, display, first_row=1000, zoom=(0, 50))


# -- predictions and scores ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("score", [None, "nmse", "pnll"])
def test_numbers_with_their_band_and_score(kind, score, runs):
    _, run = runs[kind]
    shown = PrequentialDisplay.from_run(run, target="torque (N m)", score=score)
    assert shown.ax_.get_ylabel() == "torque (N m)"
    assert shown.lower_ax_.get_xlabel() == "row of the stream"
    assert texts(shown.ax_) == ["95 % interval", "predicted mean", "label, seen afterwards"]
    y, mean = (part.reshape(N, -1)[:, 0] for part in (run.y, run.mean))
    assert_allclose(shown.ax_.lines[0].get_ydata(), mean)
    assert_allclose(shown.ax_.lines[1].get_ydata(), y)
    curve = shown.lower_ax_.lines[0].get_ydata()
    assert np.isnan(curve[0])
    if score == "pnll":
        assert_allclose(curve[-1], run.pnll)
        assert "log score (nats)" in shown.lower_ax_.get_ylabel()
    else:
        assert_allclose(curve[1:], running_nmse(y[1:], mean[1:]))
        assert "nMSE" in shown.lower_ax_.get_ylabel()
    assert texts(shown.lower_ax_) == [f"{curve[-1]:#.3g} after row {N - 1}"]


def test_the_level_of_the_interval_is_named():
    shown = PrequentialDisplay.from_estimator(small(), *stream(50), prequential_params={"level": 0.8})
    assert texts(shown.ax_)[0] == "80 % interval"


def test_a_column_of_several_outputs(runs):
    _, run = runs["two outputs"]
    shown = PrequentialDisplay.from_run(run, output=1)
    assert_allclose(shown.ax_.lines[1].get_ydata(), run.y[:, 1])
    for display in (PrequentialDisplay, CalibrationDisplay):
        with pytest.raises(InputError, match="output=2 must be a whole number from 0 to 1"):
            display.from_run(run, output=2)


@pytest.mark.parametrize("kind", CLASSES)
def test_classes_with_error_and_log_loss(kind, runs):
    _, run = runs[kind]
    shown = PrequentialDisplay.from_run(run)
    truth, wrong = shown.ax_.lines
    column = {label: i for i, label in enumerate(run.classes)}
    assert_allclose(truth.get_ydata(), [p[column[label]] for p, label in zip(run.proba, run.y, strict=True)], rtol=1e-6)
    assert_allclose(wrong.get_ydata(), running_error(run.y, run.predicted))
    assert_allclose(shown.lower_ax_.lines[0].get_ydata()[-1], run.log_loss)
    assert "log loss (nats)" in shown.lower_ax_.get_ylabel()
    names = ["probability of the true class", f"error rate so far: {100 * run.error:.1f} % after row {N - 1}"]
    assert texts(shown.ax_) == names


def test_a_score_that_does_not_fit_is_refused(runs):
    with pytest.raises(InputError, match="score='log_loss' is not one of a PrequentialRun; use 'nmse' or 'pnll'"):
        PrequentialDisplay.from_run(runs["numbers"][1], score="log_loss")
    with pytest.raises(InputError, match="score='nmse' is not one of a ClassificationRun; use 'log_loss'"):
        PrequentialDisplay.from_run(runs["grades"][1], score="nmse")


def test_labels_all_alike():
    X, _ = stream(40)
    shown = drawn(PrequentialDisplay.from_estimator(small(), X, np.full(40, 7.0)))
    assert "log score" in shown.lower_ax_.get_ylabel()
    drawn(CalibrationDisplay.from_estimator(small(), X, np.full(40, 7.0)))


def numbered_run(n, glitches=(), **fields):
    """A run whose intervals are one wide at each side, with labels of 1,000 at ``glitches``."""
    mean = np.sin(np.arange(n) / 9.0)
    y = mean + 0.3 * np.random.default_rng(0).normal(size=n)
    y[list(glitches)] = 1000.0
    return PrequentialRun(mean, np.full(n, 0.5), mean - 1, mean + 1, np.zeros(n), np.ones((n, 1)), y, **fields)


def test_glitches_do_not_stretch_the_axis_and_are_counted_at_its_edge():
    shown = drawn(numbered_run(2000, (50, 700, 701)).plot())
    low, high = shown.ax_.get_ylim()
    assert -3.0 < low < -1.9
    assert 1.9 < high < 3.0
    assert texts(shown.ax_)[-1] == "3 labels outside the axis"
    assert_allclose(shown.ax_.lines[-1].get_xdata(), [50, 700, 701])
    # Those outside are counted among the rows in view.
    assert texts(numbered_run(2000, (50, 700)).plot(zoom=(40, 60)).ax_)[-1] == "1 label outside the axis"
    assert len(texts(numbered_run(2000).plot().ax_)) == 3


def test_many_dots_are_translucent_and_below_the_mean():
    few, many = (numbered_run(n).plot().ax_.lines[:2] for n in (200, 8000))
    assert few[1].get_alpha() == 1.0
    assert few[1].get_zorder() >= few[0].get_zorder()
    assert many[1].get_alpha() < 0.5
    assert many[1].get_markersize() < few[1].get_markersize()
    assert many[1].get_zorder() < many[0].get_zorder()
    # A line that goes up and down 280 times would fill the panel.
    assert many[0].get_linewidth() < 0.5 < few[0].get_linewidth()


def test_changes_that_were_noticed_are_marked():
    found = tuple(Change(row, np.nan, "level", 12.0) for row in (1100, 1150))
    run = numbered_run(200, changes=found, n_before=1000)
    for shown, places in ((run.plot(), [1100, 1150]), (PrequentialDisplay.from_run(run), [100, 150])):
        for panel in (shown.ax_, shown.lower_ax_):
            marks = [line for line in panel.lines if to_hex(line.get_color()) == MARK]
            assert [line.get_xdata()[0] for line in marks] == places
            assert {line.get_linestyle() for line in marks} == {"--"}
        assert texts(shown.ax_)[-1] == "change noticed"
    assert "change noticed" not in texts(run.plot(changes=()).ax_)
    assert texts(run.plot(changes=[1020]).ax_)[-1] == "the stream changes"


def test_the_label_has_the_name_of_the_series():
    pandas = pytest.importorskip("pandas")
    X, y = stream(60)
    run = small().prequential(X, pandas.Series(y, name="pressure"))
    assert run.targets == ("pressure",)
    assert run.plot().ax_.get_ylabel() == "pressure"
    assert run.plot(target="pressure (Pa)").ax_.get_ylabel() == "pressure (Pa)"
    assert PrequentialRun.concatenate([run, run]).plot().ax_.get_ylabel() == "pressure"
    two = small().prequential(X, pandas.DataFrame({"flow": y, 7: y}))
    assert [two.plot(output=k).ax_.get_ylabel() for k in (0, 1)] == ["flow", "7"]
    for labels in (y, pandas.Series(y)):
        assert small().prequential(X, labels).plot().ax_.get_ylabel() == "y"
    for model in (small(), SGDRegressor(random_state=0)):
        found = prequential(model, X, pandas.Series(y, name="pressure"))
        assert drawn(found.plot()).ax_.get_ylabel() == "pressure"


# -- weights ---------------------------------------------------------------------------------------------------------


def test_experts_with_the_largest_weights_are_named_and_all_fill_the_panel(runs):
    model, run = runs["numbers"]
    shown = ExpertWeightsDisplay.from_run(run, model.experts_, n_named=3)
    best = np.argsort(-run.weights.mean(axis=0))[:3]
    assert texts(shown.ax_) == ["5 others", *[expert_names(model.experts_)[i] for i in best[::-1]]]
    tops = [part.get_paths()[0].vertices[:, 1].max() for part in shown.ax_.collections]
    assert_allclose(tops[0], run.weights[:, best[0]].max())
    assert_allclose(tops[-1], 1.0)
    assert len(tops) == 4


@pytest.mark.parametrize(("n_named", "others"), [(1, "7 others"), (7, "1 other"), (8, None)])
def test_others(n_named, others, runs):
    model, run = runs["numbers"]
    shown = ExpertWeightsDisplay.from_run(run, model.experts_, n_named=n_named)
    assert len(texts(shown.ax_)) == min(n_named + 1, 8)
    if others is not None:
        assert texts(shown.ax_)[0] == others


@pytest.mark.parametrize("kind", KINDS)
def test_bars_of_present_weights(kind, runs):
    model, _ = runs[kind]
    before = state_bytes(model)
    shown = drawn(ExpertWeightsDisplay.from_estimator(model, n_named=3, title="now"))
    assert state_bytes(model) == before
    widths = [bar.get_width() for bar in shown.ax_.patches]
    assert_allclose(widths[:3], np.sort(model.expert_weights_)[::-1][:3])
    assert_allclose(sum(widths), 1.0)
    labels = [label.get_text() for label in shown.ax_.get_yticklabels()]
    assert labels[0] == expert_names(model.experts_)[int(np.argmax(model.expert_weights_))]
    assert shown.ax_.get_xlabel() == "weight now"


def test_an_estimator_that_has_learned_nothing_has_no_bars():
    with pytest.raises(InputError, match=r"has no expert_weights_; give a fitted estimator of iegp, or X and y"):
        ExpertWeightsDisplay.from_estimator(small())


@pytest.mark.parametrize("value", [0, -1, 9, 2.5, "all"])
def test_bad_numbers_of_names(value, runs):
    with pytest.raises(InputError, match=r"n_named=.* whole number from 1 to 8"):
        make("numbers", runs, ExpertWeightsDisplay, n_named=value)


def test_experts_of_another_model(runs):
    with pytest.raises(InputError, match=r"weights of shape \(300, 8\) do not belong to 4 experts"):
        ExpertWeightsDisplay.from_run(runs["numbers"][1], runs["counts"][0].experts_)


def test_names_say_what_differs_and_no_more(runs):
    assert expert_names(runs["numbers"][0].experts_)[:2] == ["RBF 1, static, fixed noise", "RBF 1, static, noise 0.98"]
    assert expert_names(runs["two classes"][0].experts_)[:3] == [
        "RBF 1, static, sharpness 1",
        "RBF 1, static, sharpness 2",
        "RBF 1, drift 0.01, sharpness 1",
    ]
    same = runs["counts"][0].experts_[0]
    assert expert_names([same]) == ["RBF 1"]
    assert expert_names([same, same]) == ["RBF 1 (#0)", "RBF 1 (#1)"]


# -- calibration -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", NUMBERS)
def test_coverage_by_window(kind, runs):
    _, run = runs[kind]
    shown = CalibrationDisplay.from_run(run, bins=4, target="torque (N m)")
    found = shown.calibration
    # 299 rows that count.
    assert found.rows.tolist() == [74, 75, 75, 75]
    y, lower, upper = (part.reshape(N, -1)[:, 0] for part in (run.y, run.lower, run.upper))
    for window, rows in enumerate([slice(1, 75), slice(75, 150), slice(150, 225), slice(225, 300)]):
        assert_allclose(found.observed[window], coverage(y[rows], lower[rows], upper[rows]))
    assert_allclose(found.expected, 0.95)
    assert_allclose(found.low[1:], stats.binom.ppf(0.025, 75, 0.95) / 75)
    assert_allclose(found.high[1:], stats.binom.ppf(0.975, 75, 0.95) / 75)
    overall = 100 * coverage(y[1:], lower[1:], upper[1:])
    assert {"95 % of calibrated windows", "nominal: 95 %", f"observed: {overall:.1f} % in all"} <= set(texts(shown.ax_))
    assert shown.lower_ax_.get_ylabel() == "width of interval,\ntorque (N m)"
    assert_allclose(shown.lower_ax_.patches[0].get_data().values[1], np.mean((upper - lower)[75:150]))


def test_calibrated_intervals_stay_in_the_band_and_others_turn_red():
    rng = np.random.default_rng(0)
    y, zero = rng.normal(size=2000), np.zeros(2000)

    def run(width):
        return PrequentialRun(zero, zero + 1, zero - width, zero + width, zero, np.ones((2000, 1)), y)

    calibrated = CalibrationDisplay.from_run(run(1.96))
    assert len(calibrated.calibration.rows) == 20
    inside = (calibrated.calibration.low <= calibrated.calibration.observed) & (
        calibrated.calibration.observed <= calibrated.calibration.high
    )
    assert inside.mean() >= 0.85
    narrow = CalibrationDisplay.from_run(run(1.0))
    assert (narrow.calibration.observed < narrow.calibration.low).all()
    red = [line for line in narrow.ax_.lines if to_hex(line.get_color()) == MARK]
    assert len(red[0].get_xdata()) == 20
    assert "outside the grey band" in texts(narrow.ax_)


@pytest.mark.parametrize("kind", CLASSES)
def test_reliability(kind, runs):
    _, run = runs[kind]
    shown = CalibrationDisplay.from_run(run, bins=5)
    found = shown.calibration
    assert found.rows.sum() == N
    gap = np.average(np.abs(found.observed - found.expected), weights=found.rows)
    assert f"observed: calibration error {gap:.3f}" in texts(shown.ax_)
    assert "95 % of calibrated groups" in texts(shown.ax_)
    assert [bar.get_height() for bar in shown.lower_ax_.patches] == found.rows.tolist()
    # Every group lies in the bin of its bar.
    left = np.array([bar.get_x() for bar in shown.lower_ax_.patches])
    assert ((left < found.expected) & (found.expected <= left + 0.2 + 1e-9)).all()
    assert shown.lower_ax_.get_xlabel() == "probability of the predicted class"
    assert_allclose(CalibrationDisplay(run).calibration.rows.sum(), N)


def test_small_groups_are_only_counted():
    proba = np.concatenate([np.full(40, 0.9), np.full(3, 0.55)])
    run = ClassificationRun(
        np.column_stack([1 - proba, proba]), np.log(proba), np.ones((43, 1)), np.ones(43, dtype=int), np.array([0, 1])
    )
    shown = CalibrationDisplay.from_run(run)
    assert shown.calibration.rows.tolist() == [3, 40]
    observed = next(line for line in shown.ax_.lines if line.get_marker() == "o")
    assert_allclose(observed.get_xdata(), [0.9])
    certain = ClassificationRun(run.proba.round(), run.log_score, run.weights, run.y, run.classes)
    drawn(CalibrationDisplay.from_run(certain))


@pytest.mark.parametrize("bins", [0, -1, 2.5, True, "ten"])
def test_bad_bins(bins, runs):
    with pytest.raises(InputError, match=r"bins=.*whole number of at least 1"):
        CalibrationDisplay.from_run(runs["numbers"][1], bins=bins)


def test_more_windows_than_rows(runs):
    with pytest.raises(InputError, match="bins=1000 windows cannot be made of 299 rows"):
        CalibrationDisplay.from_run(runs["numbers"][1], bins=1000)


# -- imports --------------------------------------------------------------------------------------------------------


def test_without_matplotlib_a_figure_says_what_to_install():
    script = "import sys\nsys.modules['matplotlib'] = None\nimport iegp\niegp.plots.plot_run"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert "needs matplotlib, which is not installed; pip install matplotlib" in done.stderr


@pytest.mark.parametrize(("step", "n_lines"), [("1h", 2), ("1D", 1)])
def test_rows_with_times_have_them_at_the_ticks(step, n_lines):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    X, y = stream(N)
    index = pd.date_range("2025-03-01", periods=N, freq=step, tz="Europe/Berlin")
    run = small().prequential(pd.DataFrame(X, index=index), pd.Series(y, index=index))
    display = run.plot(zoom=(100, 200), first_row=50)
    display.figure_.canvas.draw()
    ticks = display.lower_ax_.get_xticks()
    texts = [label.get_text() for label in display.lower_ax_.get_xticklabels()]
    shown = [(int(row), text) for row, text in zip(ticks, texts, strict=True) if 100 <= row < 200]
    assert len(shown) > 2
    for row, text in shown:
        assert text == index[row - 50].strftime("%Y-%m-%d\n%H:%M" if n_lines == 2 else "%Y-%m-%d")
    assert display.lower_ax_.get_xlabel() == "time of the row"
    pyplot.close(display.figure_)
