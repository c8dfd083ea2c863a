"""Constructors of River models are those of the estimators: arguments, defaults, words."""

from __future__ import annotations

import inspect
import re

import pytest

from iegp import IEGPLVM, IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, IEGPRegressor
from iegp.adapters import RiverClassifier, RiverCountRegressor, RiverIEGPLVM, RiverOrdinalClassifier, RiverRegressor

PAIRS = {
    RiverRegressor: IEGPRegressor,
    RiverCountRegressor: IEGPCountRegressor,
    RiverClassifier: IEGPClassifier,
    RiverOrdinalClassifier: IEGPOrdinalClassifier,
    RiverIEGPLVM: IEGPLVM,
}
# What differs, and why: columns and classes come and go, a row is learned by one thread.
ADDED = {RiverClassifier: {"classes"}}
LEFT_OUT = {"features", "learn_warmup", "n_jobs", "random_state"}
FEWER = {RiverClassifier: LEFT_OUT | {"link"}, RiverIEGPLVM: {"random_state"}}
OTHER_DEFAULTS = {(RiverIEGPLVM, "n_frequencies"): 50}


@pytest.mark.parametrize("model", PAIRS)
def test_arguments_are_the_estimators(model):
    ours, theirs = inspect.signature(model).parameters, inspect.signature(PAIRS[model]).parameters
    assert set(ours) - set(theirs) == {"seed"} | ADDED.get(model, set())
    assert set(theirs) - set(ours) == FEWER.get(model, LEFT_OUT)
    for name in set(ours) & set(theirs):
        assert ours[name].default == OTHER_DEFAULTS.get((model, name), theirs[name].default), name
        assert ours[name].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert list(ours)[-1] == "seed"


@pytest.mark.parametrize("model", PAIRS)
def test_every_argument_is_documented_once(model):
    section = re.split(r"\n\w+\n-{4,}\n", model.__doc__)[1]
    entries = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", section, re.MULTILINE)
    names = [name for entry in entries for name in entry.split(", ")]
    assert sorted(names) == sorted(inspect.signature(model).parameters)
    assert "Examples\n--------\n>>> " in model.__doc__


@pytest.mark.parametrize("model", PAIRS)
def test_arguments_become_attributes(model):
    first = next(iter(inspect.signature(model).parameters))
    small = next(model._unit_test_params())
    made = model(
        None if first != "n_components" else 3, **{name: value for name, value in small.items() if name != first}
    )
    assert getattr(made, first) == (None if first != "n_components" else 3)
    assert {name: getattr(made, name) for name in small if name != first} == {
        n: v for n, v in small.items() if n != first
    }
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_frequency'"):
        model(n_frequency=3)
    with pytest.raises(TypeError, match=r"multiple values|too many"):
        model(None, **{first: None})
