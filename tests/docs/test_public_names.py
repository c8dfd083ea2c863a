"""The public face: exported names are those of ``__all__``, all documented, and importing them is light."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import subprocess
import sys
import types
from importlib.metadata import version
from pathlib import Path

import pytest

import iegp
import iegp.plots
from iegp import IEGPRegressor, errors

PUBLIC = [
    "iegp",
    "iegp.kernels",
    "iegp.presets",
    "iegp.datasets",
    "iegp.estimators",
    "iegp.adapters",
    "iegp.evaluate.regret",
    "iegp.fleet",
    "iegp.preprocessing",
]
# What importing the package may not bring in.
OPTIONAL = ["river", "matplotlib", "pandas", "polars", "rich", "psutil", "pyarrow"]


def public_names(module: types.ModuleType) -> set[str]:
    """Names without underscore that are not modules, not ``annotations``."""
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    }


def exported_from(module: types.ModuleType, name: str) -> object:
    """What a module exports; where an optional package is not installed, the error must say what installs it."""
    try:
        return getattr(module, name)
    except errors.MissingPackageError as error:
        if "pip install" not in str(error):
            raise
        return error


@pytest.mark.parametrize("name", PUBLIC)
def test_all_is_what_there_is(name):
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    for exported in module.__all__:
        assert exported_from(module, exported) is not None, exported


@pytest.mark.parametrize("name", ["iegp", "iegp.kernels", "iegp.estimators"])
def test_nothing_else_is_exported(name):
    module = importlib.import_module(name)
    assert public_names(module) <= set(module.__all__) | {"version"}


def test_the_face_of_the_package():
    assert {"IEGPRegressor", "load", "__version__"} <= set(iegp.__all__)
    assert iegp.__version__ == version("iegp")
    assert iegp.load.__module__.startswith("iegp.")


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_a_docstring(name):
    module = importlib.import_module(name)
    assert inspect.getdoc(module)
    for exported in module.__all__:
        value = exported_from(module, exported)
        if inspect.isclass(value) or inspect.isfunction(value):
            # The docstring a dataclass makes up for itself, "Name(a, b)", says nothing.
            text = value.__doc__ or ""
            assert text, f"{name}.{exported} has no docstring"
            assert not text.startswith(f"{exported}("), f"{name}.{exported} has no docstring of its own"


@pytest.mark.parametrize(
    "member",
    [name for name in vars(IEGPRegressor) if not name.startswith("_") and callable(getattr(IEGPRegressor, name))],
)
def test_every_public_method_has_a_docstring(member):
    assert getattr(IEGPRegressor, member).__doc__


def test_every_parameter_is_documented():
    text = IEGPRegressor.__doc__
    for parameter in inspect.signature(IEGPRegressor).parameters:
        assert parameter in text.split("Attributes")[0], parameter
    for attribute in ("expert_weights_", "experts_", "n_samples_seen_", "n_features_in_", "feature_names_in_"):
        assert attribute in text.split("Attributes")[1], attribute


def test_every_error_is_one_of_ours_and_drawn_in_the_tree():
    for name, value in vars(errors).items():
        if inspect.isclass(value):
            assert issubclass(value, errors.IegpError)
            assert name in errors.__doc__
            assert value.__doc__


@pytest.mark.parametrize("statement", ["import iegp", "import iegp.presets, iegp.kernels"])
def test_importing_is_light(statement):
    loaded = packages_after(statement)
    assert "iegp" in loaded
    # scikit-learn itself looks for some of them; we add none.
    assert not (loaded - packages_after("import sklearn.base")) & set(OPTIONAL)


def packages_after(statement: str) -> set[str]:
    script = f"import json, sys\n{statement}\nprint(json.dumps(sorted(m.split('.')[0] for m in sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stderr == ""
    return set(json.loads(done.stdout))


def test_every_name_of_the_figures_is_listed():
    assert set(iegp.plots.__all__) <= set(dir(iegp.plots))
    folder = Path(iegp.plots.__file__).parent
    displays = {
        name for path in folder.glob("*.py") for name in re.findall(r"^class (\w+Display)\b", path.read_text(), re.M)
    }
    assert displays - {"RunDisplay"} <= set(dir(iegp.plots))


def test_the_seed_is_called_random_state_but_in_river():
    for module_name in PUBLIC:
        module = importlib.import_module(module_name)
        for name in module.__all__:
            thing = exported_from(module, name)
            if callable(thing) and module_name != "iegp.adapters":
                parameters = inspect.signature(thing).parameters
                assert "seed" not in parameters, f"{module_name}.{name}"
            elif inspect.isclass(thing) and "random_state" in inspect.signature(thing).parameters:
                raise AssertionError(f"{name} has random_state, and River says seed")
