"""One table or figure of the paper: the runs it needs, and the paper's claims about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from iegp.errors import InputError
from iegp_paper.checks import check_keys, check_names
from iegp_paper.rules import Rule, rule_from


@dataclass(frozen=True)
class Data:
    """A data set of an experiment; ``rows`` None is all of them."""

    name: str
    title: str
    rows: int | None = None
    quick_rows: int | None = None
    methods: tuple[str, ...] | None = None
    """Those that can take it; None is all of the experiment."""
    quick_methods: tuple[str, ...] | None = None
    runs_of: Mapping[str, int] = field(default_factory=dict)
    """Numbers of runs of methods that take long here, in place of those of the experiment."""
    paper: Mapping[str, Any] = field(default_factory=dict)
    """What the paper's table says of it."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and the rule that judges it."""

    text: str
    rule: Rule
    cause: str = ""
    """Of a verdict other than confirmed: a key of ``CAUSES``; empty if not examined."""
    why: str = ""
    """That cause in words."""


@dataclass(frozen=True)
class Experiment:
    """An experiment, as its TOML file describes it."""

    name: str
    title: str
    kind: str
    paper: str
    """What the paper shows there."""
    metric: str
    """The score that picks the median run, smaller being better."""
    shows: tuple[str, ...]
    """Scores that its table lists."""
    figure: str
    data: tuple[Data, ...]
    methods: tuple[str, ...]
    extra: tuple[str, ...]
    """Methods that the paper does not have; they get tables of their own."""
    claims: tuple[Claim, ...]
    runs: int
    quick_runs: int
    runs_of: Mapping[str, int]
    """Fewer runs for methods that take long, unless a number of runs was asked for."""
    seconds: float
    """Time limit of one run."""
    quick_seconds: float
    settings: Mapping[str, Mapping[str, Any]]
    """Of methods, beyond their defaults."""
    quick_settings: Mapping[str, Mapping[str, Any]]
    options: Mapping[str, Any]
    quick_options: Mapping[str, Any]
    protocol: Mapping[str, Mapping[str, str]]
    """Of methods: what they learn, how inputs are scaled, which output is scored."""
    note: str = ""
    sensitivity_of: str = ""
    """The experiment that this one repeats with other choices; its claims are then not counted as the paper's."""


def experiment_from(
    name: str, table: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]], file: str = ""
) -> Experiment:
    """Make an experiment from its TOML table; ``same_runs_as`` takes over the runs of another one.

    ``file`` is named in error messages.
    """
    file = file or f"{name}.toml"
    check_keys(file, table)
    merged = _merged(file, table, others)
    missing = [key for key in ("title", "kind", "paper", "metric", "data", "methods") if key not in merged]
    if missing:
        raise InputError(f"{file} does not say {', '.join(missing)}; add it")
    check_names(file, merged)
    if merged.get("sensitivity_of", name) not in {name, *others}:
        raise InputError(f"{file}: sensitivity_of = {merged['sensitivity_of']!r} is no experiment of this folder")
    return Experiment(
        name=name,
        title=merged["title"],
        kind=merged["kind"],
        paper=merged["paper"],
        metric=merged["metric"],
        shows=tuple(merged.get("shows", (merged["metric"],))),
        figure=merged.get("figure", ""),
        data=tuple(_data(entry) for entry in merged["data"]),
        methods=tuple(merged["methods"]),
        extra=tuple(merged.get("extra", ())),
        claims=tuple(Claim(**claim | {"rule": rule_from(claim["rule"])}) for claim in merged.get("claim", ())),
        runs=int(merged.get("runs", 3)),
        quick_runs=int(merged.get("quick_runs", 1)),
        runs_of=dict(merged.get("runs_of", {})),
        seconds=float(merged.get("seconds", 3600)),
        quick_seconds=float(merged.get("quick_seconds", 120)),
        settings=dict(merged.get("settings", {})),
        quick_settings=dict(merged.get("quick_settings", {})),
        options=dict(merged.get("options", {})),
        quick_options=dict(merged.get("quick_options", {})),
        protocol=dict(merged.get("protocol", {})),
        note=merged.get("note", ""),
        sensitivity_of=merged.get("sensitivity_of", ""),
    )


def _merged(file: str, table: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    same = table.get("same_runs_as")
    if same is None:
        return dict(table)
    if same not in others:
        raise InputError(f"{file} has the runs of {same!r}, which is no experiment; use one of {', '.join(others)}")
    own = {"title", "paper", "shows", "figure", "claim", "note", "protocol", "sensitivity_of"}
    shared = {key: value for key, value in others[same].items() if key not in own}
    return shared | dict(table)


def _data(entry: Mapping[str, Any]) -> Data:
    lists = {key: tuple(entry[key]) for key in ("methods", "quick_methods") if key in entry}
    return Data(**{"title": entry["name"]} | dict(entry) | lists)
