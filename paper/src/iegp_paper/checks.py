"""Validation of the TOML file of an experiment, before the first run, because a run may take hours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from iegp.errors import InputError
from iegp_paper.rules import Rule, rule_from
from iegp_paper.worker import KINDS

# Names of ``figures``, which is not imported because it needs matplotlib; a test keeps the two equal.
FIGURES = ("average", "band", "curves", "maps", "parts", "regret", "scatter", "times")

TEXT, LIST, TABLE, COUNT, NUMBER = "a text", "a list", "a table", "a whole number above 0", "a number"
EXPERIMENT = {
    **dict.fromkeys(("title", "kind", "paper", "metric", "figure", "note", "same_runs_as", "sensitivity_of"), TEXT),
    **dict.fromkeys(("data", "methods", "shows", "claim", "extra"), LIST),
    **dict.fromkeys(("runs", "quick_runs"), COUNT),
    **dict.fromkeys(("seconds", "quick_seconds"), NUMBER),
    **dict.fromkeys(("runs_of", "settings", "quick_settings", "options", "quick_options", "protocol"), TABLE),
}
DATA = {
    **dict.fromkeys(("name", "title"), TEXT),
    **dict.fromkeys(("rows", "quick_rows"), COUNT),
    **dict.fromkeys(("methods", "quick_methods"), LIST),
    **dict.fromkeys(("paper", "runs_of"), TABLE),
}
CLAIM = {**dict.fromkeys(("text", "cause", "why"), TEXT), "rule": TABLE}
PROTOCOL = ("learns", "inputs", "scored")
CAUSES = {"paper": "the paper", "competitor": "a competitor's setting", "ours": "ours", "unknown": "not known"}
RULE_TYPES = {
    **dict.fromkeys(("kind", "metric", "by"), TEXT),
    **dict.fromkeys(("data", "ours", "others"), LIST),
    **dict.fromkeys(("limit", "slack"), NUMBER),
}
RULE = {own.name: RULE_TYPES.get(own.name, "") for own in fields(Rule)}
RULE_NEEDS = [own.name for own in fields(Rule) if own.default is MISSING and own.default_factory is MISSING]


def check_keys(file: str, table: Mapping[str, Any]) -> None:
    """Raise for unknown keys, and for values of the wrong type, in a file as it was written."""
    _check(file, "an experiment", table, EXPERIMENT)
    for entry in table.get("data", ()):
        _check(file, "[[data]]", entry, DATA, needs=("name",))
    for claim in table.get("claim", ()):
        _check(file, "[[claim]]", claim, CLAIM, needs=("text", "rule"))
        _check(file, f"the rule of {claim['text']!r}", claim["rule"], RULE, needs=RULE_NEEDS)
        _check_rule(file, claim["rule"])
        _check_known(file, f"the cause of {claim['text']!r}:", [claim["cause"]] if "cause" in claim else [], CAUSES)
    for method, words in table.get("protocol", {}).items():
        _check(file, f"the protocol of {method}", words, dict.fromkeys(PROTOCOL, TEXT), needs=PROTOCOL)


def check_names(file: str, table: Mapping[str, Any]) -> None:
    """Raise for unknown names of kinds, figures, data sets and methods; ``same_runs_as`` is resolved."""
    _check_known(file, "kind", [table["kind"]], KINDS)
    _check_known(file, "figure", [table["figure"]] if table.get("figure") else [], FIGURES)
    for key in ("data", "methods"):
        if not table[key]:
            raise InputError(f"{file}: {key} is empty; name at least one")
    sets = [entry["name"] for entry in table["data"]]
    for entry in table["data"]:
        for key in ("methods", "quick_methods"):
            _check_known(file, f"{key} of data {entry['name']!r}:", entry.get(key, ()), table["methods"])
        _check_known(file, f"runs_of of data {entry['name']!r}:", entry.get("runs_of", {}), table["methods"])
    for key in ("runs_of", "settings", "quick_settings", "protocol", "extra"):
        _check_known(file, f"{key}: method", table.get(key, {}), table["methods"])
    for claim in table.get("claim", ()):
        rule, words = claim["rule"], f"the rule of {claim['text']!r}:"
        _check_known(file, f"{words} data set", rule["data"], sets)
        _check_known(file, f"{words} method", [*rule["ours"], *rule.get("others", ())], table["methods"])


def _check(file: str, what: str, table: Any, allowed: Mapping[str, str], needs: Iterable[str] = ()) -> None:
    if not isinstance(table, Mapping):
        raise InputError(f"{file}: {what} is {table!r}; write a table, key = value")
    for key, value in table.items():
        if key not in allowed:
            raise InputError(f"{file}: {key!r} is no key of {what}; use {', '.join(allowed)}")
        if not _is_of(allowed[key], value):
            raise InputError(f"{file}: {key} = {value!r} in {what} must be {allowed[key]}")
    missing = [key for key in needs if key not in table]
    if missing:
        raise InputError(f"{file}: {what} does not say {', '.join(missing)}; add it to {dict(table)!r}")


def _check_rule(file: str, table: Mapping[str, Any]) -> None:
    """Check a rule, and add the file's name to its error."""
    try:
        rule_from(table)
    except InputError as error:
        raise InputError(f"{file}: {error}") from error


def _is_of(wanted: str, value: Any) -> bool:
    # A truth value is a whole number to Python, and a mistake here.
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return {
        TEXT: isinstance(value, str),
        LIST: isinstance(value, list | tuple),
        TABLE: isinstance(value, Mapping),
        COUNT: is_number and isinstance(value, int) and value > 0,
        NUMBER: is_number,
    }.get(wanted, True)


def _check_known(file: str, what: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise InputError(f"{file}: {what} {name!r} is not known there; use one of {', '.join(known)}")
