"""Texts that docstrings share are filled in wherever users read them."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
import sys
from functools import wraps
from pathlib import Path

import pytest
from sklearn.base import clone

from iegp import IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, IEGPRegressor
from iegp._docstrings import PLACEHOLDER, entries, fill_docstrings, filled
from iegp.core.weights import RULES

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import check_docstrings

TEXTS = entries("""
X : array-like (n, d)
    Rows.

    A second paragraph.
y
    Labels.
""")


def test_a_section_is_split_by_the_names_of_its_parameters():
    assert list(TEXTS) == ["X", "y"]
    assert TEXTS["X"] == "X : array-like (n, d)\n    Rows.\n\n    A second paragraph."


def test_a_placeholder_takes_the_indentation_of_its_line():
    assert filled("Learn.\n\n        {y}\n", TEXTS) == "Learn.\n\n        y\n            Labels.\n"


def test_braces_inside_a_line_are_text():
    text = 'Learn.\n\n    link : {"logit"}\n    a {y} b\n'
    assert filled(text, TEXTS) == text


def test_an_unknown_name_is_an_error():
    with pytest.raises(KeyError, match="nothing"):
        filled("    {nothing}", TEXTS)


def test_the_section_of_parameters_follows_the_signature():
    @fill_docstrings(TEXTS | entries("w, v : float\n    Weights.") | {"one_label": "y : float\n    A label."})
    class Model:
        def learn(self, y, w, X, v=1.0):
            """Learn.

            {parameters: one_label}

            Returns nothing.
            """

    heading = "Learn.\n\nParameters\n----------\n"
    weights = "w, v : float\n    Weights.\n"
    shown = f"{heading}y : float\n    A label.\n{weights}{TEXTS['X']}\n\nReturns nothing."
    assert inspect.getdoc(Model.learn) == shown


def test_the_section_of_a_class_is_that_of_its_constructor():
    @fill_docstrings(TEXTS)
    class Model:
        """{parameters}"""

        def __init__(self, y):
            self.y = y

    assert Model.__doc__ == "Parameters\n----------\ny\n    Labels."


def test_a_parameter_without_a_text_is_an_error():
    with pytest.raises(KeyError, match="w"):

        @fill_docstrings(TEXTS)
        def learn(X, w):
            """{parameters}"""


def test_no_docstring_stays_none():
    assert filled(None, TEXTS) is None


def test_methods_of_every_kind_are_filled():
    def guarded(method):
        return wraps(method)(lambda self: method(self))

    @fill_docstrings(TEXTS)
    class Model:
        """{y}"""

        def plain(self):
            """{y}"""

        @classmethod
        def of_class(cls):
            """{y}"""

        @guarded
        def wrapped(self):
            """{y}"""

    for documented in (Model, Model.plain, Model.of_class, Model.wrapped):
        assert documented.__doc__ == "y\n    Labels."


def test_no_public_docstring_has_a_placeholder_left():
    texts = {path: pydoc.getdoc(pydoc.locate(path)) for path in check_docstrings.surface()}
    assert len(texts) > 300
    assert [path for path, text in texts.items() if PLACEHOLDER.search(text)] == []


@pytest.mark.parametrize("estimator", [IEGPRegressor, IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier])
def test_parameters_are_still_those_of_the_signature(estimator):
    model = clone(estimator(n_frequencies=7))
    assert list(model.get_params()) == sorted(inspect.signature(estimator).parameters)
    for name in model.get_params():
        assert name in estimator.__doc__.split("Attributes\n")[0]


@pytest.mark.parametrize("estimator", [IEGPRegressor, IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier])
def test_documented_defaults_are_those_of_the_signature(estimator):
    section = inspect.getdoc(estimator).split("\nAttributes\n")[0]
    documented = re.findall(r"^([\w, ]+) : .*default=(.+)$", section, re.MULTILINE)
    defaults = {name: ast.literal_eval(value) for names, value in documented for name in names.split(", ")}
    actual = {name: own.default for name, own in inspect.signature(estimator).parameters.items()}
    assert defaults == actual


def test_every_weight_rule_is_among_the_documented_choices():
    texts = {path: pydoc.getdoc(pydoc.locate(path)) for path in check_docstrings.surface()}
    choices = {path: re.search(r"^weights : \{(.+)\}", text, re.MULTILINE) for path, text in texts.items()}
    listed = {path: set(ast.literal_eval(f"[{found[1]}]")) for path, found in choices.items() if found}
    assert len(listed) >= 6
    assert {path: names for path, names in listed.items() if names != set(RULES)} == {}
