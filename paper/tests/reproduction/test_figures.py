"""Figures show what was measured where it was measured, and say what their axes are."""

from __future__ import annotations

from itertools import pairwise

import pytest
from iegp_paper.catalogue import load_experiments
from iegp_paper.cell import Cell, cell_of
from iegp_paper.task import Outcome, Task
from iegp_paper.worker import perform

pytest.importorskip("matplotlib", reason="the plot extra is not installed")

from iegp_paper.figures import draw
from matplotlib.backends.backend_agg import FigureCanvasAgg


def experiment(name):
    return load_experiments()[name]


def test_times_are_dots_with_their_seconds_beside_them():
    cells = {("sarcos", "IE-GP"): Cell({"seconds": 0.2}), ("sarcos", "SSGP"): Cell({"seconds": 1830.2})}
    (axis,) = draw(experiment("time"), cells).axes
    assert [text.get_text() for text in axis.texts] == ["1,830", "0.20"]
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["SSGP", "IE-GP"]
    assert not axis.patches
    low, high = axis.get_xlim()
    assert low < 0.2 < 1830.2 < high


@pytest.mark.parametrize("fast", [0.004, 0.01, 0.05, 0.2, 2.0])
def test_labels_of_times_do_not_overlap(fast):
    cells = {("sarcos", "IE-GP"): Cell({"seconds": fast}), ("sarcos", "SSGP"): Cell({"seconds": 30.0})}
    figure = draw(experiment("classification-time"), {("banana", name): cell for (_, name), cell in cells.items()})
    FigureCanvasAgg(figure).draw()
    (axis,) = figure.axes
    low, high = axis.get_xlim()
    shown = [tick.label1 for tick in axis.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    boxes = sorted((label.get_window_extent().x0, label.get_window_extent().x1) for label in shown)
    assert len(boxes) >= 2
    assert all(before[1] < after[0] for before, after in pairwise(boxes))


def test_one_time_alone_is_drawn():
    (axis,) = draw(experiment("time"), {("sarcos", "IE-GP"): Cell({"seconds": 3.0})}).axes
    assert [text.get_text() for text in axis.texts] == ["3.0"]


@pytest.mark.parametrize(("first", "label"), [(1, "rows"), (1001, "rows, after the warm-up")])
def test_curves_count_rows_after_the_warmup_and_name_every_left_axis(first, label):
    line = {"row": [first, first + 9], "value": [1.0, 0.5]}
    names = ["toms_hardware", "sarcos", "air_quality", "twitter"]
    axes = draw(experiment("nmse"), {(name, "IE-GP"): Cell({"nMSE": 0.5}, {"nMSE": line}) for name in names}).axes
    assert [axis.get_ylabel() for axis in axes] == ["nMSE", "", "nMSE", ""]
    assert {axis.get_xlabel() for axis in axes} == {label}
    assert axes[0].lines[0].get_xdata().tolist() == [1, 10]


def test_regret_has_its_ticks_at_the_sizes():
    lines = {"size": [100, 200, 400], "regret": [1.0, 2.0, 3.0], "bound": [2.0, 3.0, 4.0], "average": [3.0, 2.0, 1.0]}
    lines |= {"size to RKHS": [100, 200], "to RKHS": [1.0, 4.0]}
    left, right = draw(experiment("static-regret"), {("wide_sines", "IE-GP"): Cell({}, lines)}).axes
    (alone,) = draw(experiment("switching-regret"), {("two_processes", "SIE-GP"): Cell({}, lines)}).axes
    for axis, sizes in ((left, [100, 200, 400]), (right, [100, 200]), (alone, [100, 200, 400])):
        assert axis.get_xticks().tolist() == sizes
        assert axis.get_xticks(minor=True).tolist() == []
        assert axis.yaxis.get_major_formatter()(12500.0) == "12,500"


def test_points_at_zero_error_are_whole_and_none_hides_another():
    cells = {("mnist", name): Cell({"error": 0.0, "seconds": 2.0}) for name in ("IE-GPLVM", "onGPLVM")}
    (axis,) = draw(experiment("maps"), cells).axes
    assert axis.get_ylim()[0] < 0.0
    assert {line.get_markerfacecolor() for line in axis.lines} == {"none"}


@pytest.mark.parametrize("fast", [0.002, 0.5, 4.4, 20.0])
def test_axes_of_times_have_two_labels_or_more(fast):
    cells = {("mnist", name): Cell({"error": 0.1, "seconds": s}) for name, s in (("onGPLVM", fast), ("GPLVM", 24.0))}
    figure = draw(experiment("maps"), cells | {("mnist", "kernel PCA"): Cell({"error": 0.3})})
    FigureCanvasAgg(figure).draw()
    (axis,) = figure.axes
    low, high = axis.get_xlim()
    assert sum(low <= place <= high for place in axis.get_xticks()) >= 2
    # A method without a time has no place on it.
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["onGPLVM", "GPLVM"]


def test_variants_of_own_models_are_in_the_table_alone():
    line = {"nMSE": {"row": [1, 10], "value": [1.0, 0.5]}}
    names = ["IE-GP", "iegp default", "iegp default (exponentiated gradients)"]
    (axis, *_) = draw(experiment("nmse"), {("sarcos", name): Cell({"nMSE": 0.5}, line) for name in names}).axes
    assert len(axis.lines) == 2


def runs(*values):
    outcomes = [Outcome("done", {"nMSE": 0.5}, {"nMSE": {"row": [1, 10], "value": [1.0, v]}}) for v in values]
    return cell_of([Task("regression", "sarcos", "IE-GP", seed) for seed in range(len(values))], outcomes, "nMSE")


def test_curves_are_medians_in_the_band_of_the_seeds():
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1]
    (axis,) = draw(experiment("nmse"), {("sarcos", "IE-GP"): runs(*values)}).axes
    assert axis.lines[0].get_ydata().tolist() == [1.0, pytest.approx(0.6)]
    band = axis.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(0.15)
    assert band.max() == pytest.approx(1.05)


def test_regret_is_a_mean_in_its_interval():
    sizes = [100, 200, 400, 800]
    outcomes = [Outcome("done", {"average": 1.0}, {"size": sizes, "average": [float(seed)] * 4}) for seed in range(9)]
    cell = cell_of([Task("k", "d", "m", seed) for seed in range(9)], outcomes, "average")
    (axis,) = draw(experiment("switching-regret"), {("two_processes", "SIE-GP"): cell}).axes
    assert axis.lines[0].get_ydata().tolist() == [4.0] * 4
    band = axis.collections[0].get_paths()[0].vertices[:, 1]
    assert 1.0 < band.min() < 4.0 < band.max() < 7.0


def test_titles_of_bands_name_the_run():
    grid = [-4.0, 4.0]
    flat = {"grid": grid, "mean": grid, "lower": grid, "upper": grid}
    cells = {("sines", str(run)): Cell({}, flat | {"x": grid, "y": grid}, run=run) for run in (3, 7)}
    axes = draw(experiment("uncertainty"), cells).axes
    assert [axis.get_title(loc="left") for axis in axes] == ["3, run 3", "7, run 7"]
    assert axes[0].get_ylabel() == "y"


def test_the_band_is_that_of_the_median_run():
    tasks = [Task("uncertainty", "sines", "IE-GP", seed, rows=30) for seed in range(3)]
    outcomes = [perform(task) for task in tasks]
    cell = cell_of(tasks, outcomes, "width ratio")
    assert cell.run is not None
    assert cell.lines == outcomes[cell.run - 1].lines
    (axis,) = draw(experiment("uncertainty"), {("sines", "IE-GP"): cell}).axes
    assert axis.get_title(loc="left") == f"IE-GP, run {cell.run}"
