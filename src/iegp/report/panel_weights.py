"""Panel of the weights over the run: experts of equal kernel and drift together, stacked up to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iegp.report.about import ExpertRow
from iegp.report.chart import N_COLOURS, colour, stacked_chart
from iegp.report.scales import last_row, row_axis, shares
from iegp.report.sections import long_table, nothing, section, thinned
from iegp.report.text import named, percent
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


def weights(results: Results, experts: Sequence[ExpertRow], by_key: bool = False) -> str:
    """Render the weights; with ``by_key`` every row was predicted by the model of its key."""
    if len(results.weights.row) < 2 or results.weights.values.shape[1] == 0:
        return section(*HEADING, nothing("Weights are drawn from the second row on."))
    groups = groups_of(results, experts)
    return section(*HEADING, _figure(results, groups), _note(results, by_key), _table(groups))


HEADING = (
    "experts",
    "Weights of the experts",
    "Every expert is a Gaussian process with its own kernel and drift; the taller its colour, the more weight it had.",
)


def _figure(results: Results, groups: list[Group]) -> str:
    rows = results.weights.row.astype(np.float64)
    x, y = row_axis(last_row(results)), shares("weight")
    shown, rest = groups[:N_COLOURS], groups[N_COLOURS:]
    layers = [group.weight for group in shown]
    texts = [named(group.name, 44) for group in shown]
    if rest:
        layers.append(np.sum([group.weight for group in rest], axis=0))
        texts.append(f"{len(rest)} other{'' if len(rest) == 1 else 's'}")
    return stacked_chart(x, y, rows, layers, texts, name="weights of the experts over the run", height="middle")


def _note(results: Results, by_key: bool) -> str:
    by_model = " Each row has the weights of its own key's model." if by_key else ""
    step = thinned(results.weights.step)
    return f'<p class="note">The first entry of the legend lies at the bottom. {step}{by_model}</p>'


def _table(groups: list[Group]) -> str:
    lines = [
        [
            f'<i class="key area {colour(place)}"></i>{named(group.kernel, 44)}',
            "static" if group.drift in STATIC else named(group.drift),
            str(group.size),
            percent(float(group.weight[-1])),
            percent(float(group.weight.mean())),
        ]
        for place, group in enumerate(groups)
    ]
    heads = ["Kernel", "Drift per row", "Experts", "Weight at the end", "Mean weight"]
    return long_table(heads, lines, N_COLOURS, numbers_from=2)
