"""``iegp inspect``: what a model file holds, for people or as JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from iegp.cli.about import input_rows, key_facts, notes, used_options
from iegp.cli.printable import printable
from iegp.core.model import Online
from iegp.errors import ModelFileError
from iegp.estimators import IEGPForecaster, load
from iegp.estimators.experts_table import Expert, as_text, experts_of
from iegp.estimators.latent import IEGPLVM
from iegp.fleet import files as fleet_file
from iegp.fleet.base import DTYPES
from iegp.fleet.keyed_learner import Fleets
from iegp.fleet.pages import Pages
from iegp.storage import model_file as modelfile
from iegp.stream import checkpoint
from iegp.stream.job_storage import KIND

_SHOWN = 12
# Signs of the longest bar.
_BAR = 20


def inspect(path: str, as_json: bool) -> int:
    """Print it; the exit code."""
    try:
        header, _ = modelfile.read(path)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read ({error.strerror or 'is there such a file?'})") from error
    inputs: list[dict[str, Any]] = []
    if header.get("estimator") == KIND:
        facts, model, inputs = _of_stream(path)
    elif header.get("estimator") == fleet_file.KIND:
        facts, model = _of_fleet(path)
    elif header.get("estimator") == IEGPForecaster.__name__:
        facts, model = _of_forecaster(path, header), None
    else:
        facts, model, inputs = _of_estimator(path, header)
    facts = {"file format": header["format"], "written by iegp": header.get("iegp", "?"), **facts}
    experts = [] if model is None else [_entry(expert) for expert in experts_of(model)]
    if as_json:
        sys.stdout.write(json.dumps({**facts, "inputs": inputs, "experts": experts}, indent=1) + "\n")
        return 0
    console = Console(soft_wrap=False, markup=False, emoji=False)
    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in facts.items():
        table.add_row(printable(name), printable(_words(value)))
    console.print(table)
    if inputs:
        console.print(_inputs_table(inputs, model is not None and model.is_warming_up, console.options.ascii_only))
    if experts:
        console.print(_experts_table(experts, " each key starts with" if "models" in facts else ""))
    return 0


def _of_stream(path: str) -> tuple[dict[str, Any], Online | None, list[dict[str, Any]]]:
    job, run_state = checkpoint.read(path, by_key=Fleets())
    model = None if job.learner is None else job.learner.model
    facts: dict[str, Any] = {
        "kind": "a run of `iegp stream`",
        "task": job.plan.task,
        "target": job.plan.target,
        "source": run_state.source,
        "rows answered": job.counters.rows,
        "rows learned": job.counters.learned,
        "finished": run_state.is_finished,
        "columns": [column.name for column in job.encoder.columns],
    }
    if job.plan.has_classes and job.learner is not None:
        facts["classes"] = list(job.learner.classes)
    facts |= key_facts(job)
    results = job.digest.results()
    if np.isfinite(results.loss.model):
        facts["error" if job.plan.has_classes else "nMSE"] = round(results.loss.model, 6)
    facts |= dict(notes(job))
    facts["configuration"] = used_options(run_state)
    inputs = [] if model is None else [row._asdict() for row in input_rows(job, model)]
    return facts | _settings(model), model, inputs


def _of_fleet(path: str) -> tuple[dict[str, Any], Online | None]:
    """A file that :meth:`Fleet.save` wrote; its experts are those that every key starts with."""
    stored = fleet_file.read(path, DTYPES)
    model = stored.model
    facts: dict[str, Any] = {
        "kind": "a fleet, one model per key (iegp.Fleet.load)",
        "models": len(stored.keys),
        "bytes per key": Pages(model.state, stored.dtype).bytes_per_key,
        "stored as": stored.dtype,
        "keys": [str(key) for key in stored.keys],
        "columns": model.n_columns if stored.names is None else list(stored.names),
    }
    return facts | _settings(model), model


def _of_estimator(path: str, header: dict[str, Any]) -> tuple[dict[str, Any], Online | None, list[dict[str, Any]]]:
    estimator = load(path)
    if isinstance(estimator, IEGPLVM):
        return _of_latent(estimator, header), None, []
    model: Online | None = getattr(estimator, "model_", None)
    facts: dict[str, Any] = {"kind": type(estimator).__name__, "parameters": header["parameters"]}
    inputs = []
    if model is not None:
        inputs = [{"name": name, "relevance": share} for name, share in estimator.relevance_.items()]
        facts["rows learned"] = model.n_seen
        names = getattr(estimator, "feature_names_in_", None)
        facts["columns"] = model.n_columns if names is None else [str(name) for name in names]
    return facts | _settings(model), model, inputs


def _of_forecaster(path: str, header: dict[str, Any]) -> dict[str, Any]:
    forecaster = IEGPForecaster.load(path)
    facts: dict[str, Any] = {"kind": "IEGPForecaster (iegp.IEGPForecaster.load)", "parameters": header["parameters"]}
    fitted = forecaster.__sklearn_is_fitted__()
    return facts | ({"rows learned": forecaster.n_samples_seen_} if fitted else {"model": "has seen no row yet"})


def _of_latent(model: IEGPLVM, header: dict[str, Any]) -> dict[str, Any]:
    facts: dict[str, Any] = {"kind": "IEGPLVM", "parameters": header["parameters"]}
    if not model.__sklearn_is_fitted__():
        return facts | {"model": "has seen no row yet"}
    facts |= {"rows learned": model.n_samples_seen_, "columns": model.n_features_in_}
    if model.n_samples_seen_ >= 2:
        facts |= {
            "rows on the map": len(model.stored_rows_),
            "expert weights": [round(weight, 4) for weight in model.expert_weights_.tolist()],
        }
    return facts


def _settings(model: Online | None) -> dict[str, Any]:
    if model is None:
        return {"model": "has seen no row yet"}
    settings = model.settings
    return {
        "likelihood": settings.likelihood,
        "weights": settings.weights,
        "frequencies per expert": settings.n_frequencies,
        "features": settings.features,
        "lags": model.experts.ensemble.lags.offsets.tolist(),
        "still warming up": model.is_warming_up,
    }


def _entry(expert: Expert) -> dict[str, Any]:
    return {
        "kernel": expert.kernel.short(),
        "weight": expert.weight,
        "drift_var": expert.drift_var,
        "prior_var": float(np.mean(expert.prior_var)),
        "noise_var": None if np.isnan(np.mean(expert.noise_var)) else float(np.mean(expert.noise_var)),
    }


def _inputs_table(inputs: list[dict[str, Any]], is_warming_up: bool, is_ascii: bool) -> Table:
    """The inputs with what else is known of them, the most relevant first, and a bar for each."""
    ranked = sorted(inputs, key=lambda row: -row["relevance"])
    caption = f"{len(ranked) - _SHOWN} more" if len(ranked) > _SHOWN else None
    caption = "all alike until the warm-up is over" if is_warming_up else caption
    table = Table(title="Inputs by relevance", caption=caption)
    names = [name for name in ("name", "kind", "gaps") if name in ranked[0]]
    for name in names:
        table.add_column("input" if name == "name" else name, justify="right" if name == "gaps" else "left")
    table.add_column("relevance", no_wrap=True)
    for row in ranked[:_SHOWN]:
        bar = ("#" if is_ascii else "█") * round(_BAR * row["relevance"])
        table.add_row(*(printable(_words(row[name])) for name in names), f"{100 * row['relevance']:4.0f} % {bar}")
    return table


def _experts_table(experts: list[dict[str, Any]], heading: str) -> Table:
    ranked = sorted(experts, key=lambda expert: -expert["weight"])
    rest = sum(expert["weight"] for expert in ranked[_SHOWN:])
    caption = f"{len(ranked) - _SHOWN} more with a weight of {rest:.3f} together" if len(ranked) > _SHOWN else None
    table = Table(title=f"Experts{heading}, largest weight first", caption=caption)
    for name in ("weight", "drift_var", "noise_var", "prior_var"):
        table.add_column(name, justify="right")
    table.add_column("kernel")
    for expert in ranked[:_SHOWN]:
        noise = "" if expert["noise_var"] is None else f"{expert['noise_var']:.3g}"
        drift = as_text(expert["drift_var"])
        numbers = [f"{expert['weight']:.3f}", drift, noise, f"{expert['prior_var']:.3g}"]
        table.add_row(*numbers, printable(expert["kernel"]))
    return table


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} = {_quoted(entry)}" for name, entry in value.items())
    if isinstance(value, list):
        shown = ", ".join(str(entry) for entry in value[:12])
        shown = shown or "none"
        return shown if len(value) <= 12 else f"{shown}, ... ({len(value)} in all)"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _quoted(entry: Any) -> str:
    """Text with a comma or a space in quotes, so that a list of settings stays readable."""
    is_unclear = isinstance(entry, str) and ("," in entry or " " in entry)
    return repr(entry) if is_unclear else str(entry)
