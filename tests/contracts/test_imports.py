"""``import iegp`` is light: what only some need is imported by those who ask for it."""

from __future__ import annotations

import subprocess
import sys

import iegp

SCRIPT = """
import sys
import {module}
late = "matplotlib numba numpy pandas pooch pyarrow ray river scipy sklearn torch usearch"
print(*sorted({{name.split(".")[0] for name in sys.modules}} & {{*late.split()}}))
"""


def imported(module: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(module=module)], capture_output=True, text=True, timeout=300, check=True
    )
    return done.stdout.split()


def test_importing_the_package_imports_none_of_its_dependencies():
    assert imported("iegp") == []


def test_the_river_face_imports_river():
    """So that the test above cannot pass by looking at nothing."""
    assert "river" in imported("iegp.adapters")


def test_the_scikit_learn_face_needs_none_of_them():
    """scikit-learn itself imports pandas where it is installed; we do not ask for it."""
    hidden = "{'pandas', 'river', 'matplotlib'}"
    used = "from iegp import IEGPRegressor, load, presets; presets.ie_gp().fit([[0.0], [1.0]], [0.0, 1.0])"
    subprocess.run([sys.executable, "-W", "ignore", "-c", without(hidden) + used], timeout=300, check=True)


def test_all_public_names_can_be_imported_at_once_without_extras():
    script = without("{'river', 'matplotlib', 'torch', 'ray'}") + "from iegp import *; IEGPRegressor, plots, fleet"
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], timeout=300, check=True)
    assert "adapters" in dir(iegp)


def without(hidden: str) -> str:
    """The beginning of a script in which packages are not installed."""
    return f"""import sys
class Absent:
    def find_spec(name, *_):
        if name.split(".")[0] in {hidden}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Absent)
"""
