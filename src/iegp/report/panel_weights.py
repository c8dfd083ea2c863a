"""Panel of the weights over the run: experts of equal drift together, stacked up to one, and their kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iegp.report.about import ExpertRow
from iegp.report.blocks import Cell, Chart, Head, Section, Table, Text, Toggle, named, nothing, thinned
from iegp.report.chart import N_COLOURS, colour, stacked_chart
from iegp.report.scales import run_axis, shares
from iegp.report.text import percent, short
from iegp.stream.digest import Results
from iegp.typing import Float

STATIC = ("0", "0.0", "static", "")


class Group(NamedTuple):
    """Experts of equal kernel and drift: weights at the kept rows."""

    kernel: str
    drift: str
    size: int
    weight: Float

    @property
    def name(self) -> str:
        return f"{self.kernel}, {'static' if self.drift in STATIC else f'drift {self.drift}'}"


def groups_of(results: Results, experts: Sequence[ExpertRow]) -> list[Group]:
    """Group experts, largest mean weight first. Experts without a description are named by their position."""
    n = results.weights.values.shape[1]
    rows = list(experts) if len(experts) == n else [ExpertRow(f"expert {i + 1}", "") for i in range(n)]
    members: dict[tuple[str, str], list[int]] = {}
    for place, expert in enumerate(rows):
        members.setdefault(expert.group, []).append(place)
    values = results.weights.values
    groups = [Group(*key, len(own), values[:, own].sum(axis=1)) for key, own in members.items()]
    return sorted(groups, key=lambda group: -float(group.weight.mean()) if len(values) else 0.0)


class Speed(NamedTuple):
    """Experts of equal drift: weights at the kept rows."""

    name: str
    drift: str
    size: int
    weight: Float


# Names of speeds by how many there are, slowest first.
_SPEEDS = {1: ("drifting",), 2: ("slow", "fast"), 3: ("slow", "medium", "fast")}


def speeds_of(groups: Sequence[Group]) -> list[Speed]:
    """Group experts by drift, the slowest first; in words where there are few speeds."""
    members: dict[str, list[Group]] = {}
    for group in groups:
        members.setdefault("" if group.drift in STATIC else group.drift, []).append(group)
    order = sorted(members, key=_size_of_drift)
    moving = [drift for drift in order if drift]
    words = dict(zip(moving, _SPEEDS.get(len(moving), moving), strict=True)) | {"": "static"}
    return [
        Speed(
            words[drift] if words[drift] != drift else f"drift {drift}",
            drift or "0",
            sum(group.size for group in members[drift]),
            np.sum([group.weight for group in members[drift]], axis=0),
        )
        for drift in order
    ]


def _size_of_drift(drift: str) -> tuple[float, str]:
    try:
        return float(drift or 0.0), drift
    except ValueError:
        return float("inf"), drift


SECTION = Section(
    "experts",
    "How fast the model adapts",
    "The model is an ensemble of experts, each a Gaussian process with its own kernel and drift, the speed at which it "
    "lets the relation change. The taller a colour, the more weight these experts had: weight on fast ones means that "
    "the stream was changing.",
    link="Experts",
)


def weights(results: Results, experts: Sequence[ExpertRow], by_key: bool = False) -> Section:
    """Show the weights; with ``by_key`` every row was predicted by the model of its key."""
    if len(results.weights.row) < 2 or results.weights.values.shape[1] == 0:
        is_late = results.n_rows > 1
        late = "Weights are recorded of rows that come with their label; in this run labels came later than their rows."
        return SECTION.holding(nothing(late if is_late else "Weights are drawn from the second row on."))
    groups = groups_of(results, experts)
    speeds = speeds_of(groups)
    toggle = Toggle("Kernels of the experts", [Text(_largest(groups), "note"), _kernel_table(groups)])
    return SECTION.holding(_figure(results, speeds), _note(results, by_key), _speed_table(speeds), toggle)


def _figure(results: Results, speeds: list[Speed]) -> Chart:
    rows = results.weights.row.astype(np.float64)
    shown, rest = speeds[:N_COLOURS], speeds[N_COLOURS:]
    layers = [speed.weight for speed in shown]
    names = [named(speed.name, 44) for speed in shown]
    if rest:
        layers.append(np.sum([speed.weight for speed in rest], axis=0))
        names.append(Cell(f"{len(rest)} other{'' if len(rest) == 1 else 's'}"))
    name = "weights of the experts over the run"
    return stacked_chart(run_axis(results), shares("weight"), rows, layers, names, name=name, height="middle")


def _note(results: Results, by_key: bool) -> Text:
    by_model = " Each row has the weights of its own key's model." if by_key else ""
    step = thinned(results.weights.step)
    return Text(f"The first entry of the legend lies at the bottom. {step}{by_model}", "note")


def _largest(groups: list[Group]) -> str:
    top = max(groups, key=lambda group: float(group.weight[-1]))
    share = percent(float(top.weight[-1]), 0)
    return f"Largest: {short(top.name, 60)}, {share} of the weight at the end. Length scales are in standardised units."


def _speed_table(speeds: list[Speed]) -> Table:
    heads = [Head("Experts", False), Head("Drift per row", is_minor=True), Head("Number", is_minor=True)]
    heads += [Head("Weight at the end"), Head("Mean weight")]
    lines = [
        [named(speed.name, 30, f"area {colour(place)}"), named(speed.drift), *_shares(speed)]
        for place, speed in enumerate(speeds)
    ]
    return Table(heads, lines, N_COLOURS)


def _kernel_table(groups: list[Group]) -> Table:
    heads = [Head("Kernel", False), Head("Drift per row", False), Head("Experts", is_minor=True)]
    heads += [Head("Weight at the end"), Head("Mean weight", is_minor=True)]
    lines = [
        [named(group.kernel, 44), named("static" if group.drift in STATIC else group.drift), *_shares(group)]
        for group in groups
    ]
    return Table(heads, lines, N_COLOURS)


def _shares(group: Group | Speed) -> list[Cell]:
    at_end, mean = float(group.weight[-1]), float(group.weight.mean())
    return [Cell(str(group.size)), Cell(percent(at_end)), Cell(percent(mean))]
