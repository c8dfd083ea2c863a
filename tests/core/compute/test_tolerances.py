"""Numbers that affect results are in ``core/compute/tolerances.py``, each with its reason, and nowhere else.

What counts as such a number, in a module of the core or of the fleet on a GPU:

- a constant of a module, in upper case, whose value is a number or numbers (enumerations 0, 1, 2, ... and sizes of
  memory, ``..._BYTES``, which affect no result, excepted);
- a float anywhere in the code, other than a whole number up to 12 and a quarter, half or three quarters of a small one:
  these stand in formulas. Defaults of arguments are not looked at: users see and set them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import iegp
from iegp.core.compute import tolerances

PACKAGE = Path(iegp.__file__).parent
MODULES = sorted(
    path.relative_to(PACKAGE).as_posix()
    for folder in ("core", "fleet/pytorch")
    for path in (PACKAGE / folder).glob("**/*.py")
    if path.name != "tolerances.py"
)

_SETTINGS = "ranges of arguments, which the message beside them repeats for the user"
_RULE = "nodes, steps and branches of one quadrature, whose error they bound together; tested beside it"
_MEMORY = "how memory is divided affects no result"
_SERIES = "coefficients of a series or of a rational approximation"
ALLOWED = {
    # module: names of constants or functions (or * for all of it), and why
    ("core/compute/sincos.py", "*"): "coefficients of polynomials, parts of π",
    ("core/compute/exponential.py", "*"): "coefficients of polynomials, parts of log 2, the layout of a float64",
    ("core/column_keys.py", "FIRST_NAMED"): "divides two kinds of keys; stored models depend on it",
    ("core/editing/new_class.py", "_NEW_DRAWS"): "the number of a stream of random numbers",
    ("core/expert/noise.py", "_stirling_remainder"): _SERIES,
    ("core/kernels/stationary.py", "*"): "Matérn kernels of orders 3/2 and 5/2",
    ("core/kernels/base.py", "*"): _SETTINGS,
    ("core/kernels/others.py", "*"): _SETTINGS,
    ("core/fitting/experts.py", "_TERM_BITS"): "divides the numbers of a seed; stored models depend on it",
    ("core/latent/settings.py", "*"): _SETTINGS,
    ("core/settings.py", "*"): _SETTINGS,
    ("core/predictive/count_cdf.py", "*"): _RULE,
    ("core/predictive/crps.py", "_KRONROD"): "nodes and weights of the Gauss-Kronrod rule",
    ("core/predictive/quantiles.py", "_gaussian_distance"): _SERIES,
    ("core/predictive/student.py", "_DENSITY_RATIO"): _SERIES,
    ("core/predictive/student.py", "student_log_normaliser"): _SERIES,
    ("fleet/pytorch/noise.py", "_log_normaliser"): _SERIES,
    ("fleet/pytorch/pages.py", "FIRST_PAGE_KEYS"): _MEMORY,
    ("fleet/pytorch/rows.py", "WORK_COPIES"): _MEMORY,
    ("fleet/pytorch/plan.py", "CALLS_BEFORE"): "when a call is recorded affects no result",
    ("fleet/pytorch/fused.py", "_weigh_rows"): "a Triton kernel, which may use no variable of its module",
    ("core/likelihoods/categorical.py", "*"): _RULE,
    ("core/compute/logistic.py", "*"): _RULE,
    ("core/compute/normal.py", "*"): _RULE,
    ("core/predictive/poisson_log_normal.py", "*"): _RULE,
    ("core/likelihoods/__init__.py", "GAUSSIAN"): "the code of a likelihood in compiled code and files",
    ("core/likelihoods/poisson.py", "Poisson"): "ranges of what a model file may hold",
    ("core/likelihoods/protocol.py", "Likelihood"): "defaults that a likelihood may set otherwise",
}


def is_plain(value: float) -> bool:
    """Whether a float is one that stands in formulas."""
    return ((4.0 * value).is_integer() and value <= 4.0) or (value.is_integer() and value <= 12.0)


def numbers(node: ast.expr) -> list[float] | None:
    """The numbers of an expression that is made of nothing else; None if it has other parts."""
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return [float(node.value)]
        case ast.UnaryOp(operand=operand):
            return numbers(operand)
        case ast.BinOp(left=left, right=right):
            parts = [numbers(left), numbers(right)]
        case ast.Tuple(elts=elements):
            parts = [numbers(element) for element in elements]
        case _:
            return None
    return None if None in parts else [number for part in parts for number in part or []]


def constants(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Upper-case names of the module that stand for numbers."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            names = [name.id for name in ast.walk(target) if isinstance(name, ast.Name)]
            values = numbers(node.value)
            is_enumeration = len(names) > 1 and values == [float(i) for i in range(len(names))]
            if values and not is_enumeration:
                yield from ((name, node.lineno) for name in names if name.isupper() and not name.endswith("_BYTES"))


def floats(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Floats that are not plain, with the outermost name they belong to."""
    for outer in tree.body:
        name = getattr(outer, "name", None)
        if isinstance(outer, ast.Assign) and isinstance(outer.targets[0], ast.Name):
            name = outer.targets[0].id
        defaults = {
            id(part)
            for node in ast.walk(outer)
            if isinstance(node, ast.arguments)
            for default in [*node.defaults, *node.kw_defaults]
            if default is not None
            for part in ast.walk(default)
        }
        for node in ast.walk(outer):
            is_float = isinstance(node, ast.Constant) and isinstance(node.value, float)
            if is_float and id(node) not in defaults and not is_plain(node.value):
                yield str(name), node.lineno


def found(module: str, source: str) -> list[str]:
    tree = ast.parse(source)
    return [
        f"{module}:{line}: {name}"
        for name, line in [*constants(tree), *floats(tree)]
        if (module, "*") not in ALLOWED and (module, name) not in ALLOWED
    ]


@pytest.mark.parametrize("module", MODULES)
def test_numbers_that_affect_results_are_in_one_module(module):
    assert found(module, (PACKAGE / module).read_text()) == [], "move them to core/compute/tolerances.py"


@pytest.mark.parametrize(
    "source",
    ["FLOOR = 1e-9", "STEPS = 100", "A, B = 0.5, 8", "FLOOR: float = -1.0", "def f(x):\n    return max(x, 1e-9)"],
)
def test_the_rule_finds_numbers(source):
    assert found("core/any.py", source)


@pytest.mark.parametrize(
    "source",
    [
        "A, B, C = 0, 1, 2",
        "PAGE_BYTES = 4 * 2**30",
        "NAMES = ('a', 'b')",
        "ROOT = math.sqrt(0.5)",
        "def f(x, rate=0.05):\n    return 0.5 * x**2 + 3.0 * x + 0.25",
    ],
)
def test_the_rule_leaves_formulas_alone(source):
    assert found("core/any.py", source) == []


def test_what_is_allowed_is_there():
    for module, name in ALLOWED:
        source = (PACKAGE / module).read_text()
        assert name == "*" or f"{name} =" in source or f"def {name}(" in source or f"class {name}" in source, (
            f"{module}: {name}"
        )


def test_every_number_of_the_module_has_its_reason_above_it():
    lines = Path(tolerances.__file__).read_text().splitlines()
    assigned = [i for i, line in enumerate(lines) if line[:1].isupper() and " = " in line]
    assert len(assigned) > 80
    for i in assigned[1:]:  # EPS explains itself
        above = lines[i - 1]
        assert (above.startswith("# ") and not above.startswith("# ---")) or i - 1 in assigned, lines[i]


def assigned_twice(source: str) -> list[str]:
    targets = [target for node in ast.parse(source).body if isinstance(node, ast.Assign) for target in node.targets]
    names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return sorted({name for name in names if names.count(name) > 1})


def test_no_name_is_given_two_values():
    """The second value would hold for all, whatever the first was meant for."""
    source = Path(tolerances.__file__).read_text()
    assert assigned_twice(source) == []
    assert assigned_twice("A = 8\nB, A = 1, 4") == ["A"]
