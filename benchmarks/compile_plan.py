"""Record what first calls need compiled, for the second compiling process: ``python benchmarks/compile_plan.py``.

Writes src/iegp/compile_plan.json from the calls of benchmarks/first_call.py. tests/compiled says whether it is current.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from first_call import CALLS, ROWS

from iegp import _compile, _compile_helper

PLANS = Path(__file__).parents[1] / "src" / "iegp" / "compile_plan.json"
# Calls as the package names them, and as the benchmark does.
NAMES = {"IEGPRegressor": "regressor", "IEGPClassifier": "classifier", "stream": "stream"}


def record(call: str) -> list[Any]:
    """Functions and types of their arguments, in the order of their first use in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, __file__, call], check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        return list(json.loads((Path(folder) / "calls.json").read_text()))


def record_here(call: str) -> None:
    """The same in this process, into a file."""
    found: list[Any] = []
    entry_class: Any = _compile._Entry
    compile_one = entry_class.compile

    def noted(entry: Any, signature: Any) -> Any:
        with suppress(ValueError):
            new = [_compile_helper.path_of(entry.py_func), [_compile_helper.describe(one) for one in signature]]
            if new not in found:  # threads may begin with one function
                found.append(new)
        return compile_one(entry, signature)

    entry_class.compile = noted
    with suppress(SystemExit):
        exec(ROWS + CALLS[call], {})
    Path("calls.json").write_text(json.dumps(found))


def shared(described: Any, table: list[Any]) -> Any:
    """A type with parts that stand once, in the table."""
    if isinstance(described, str):
        return described
    *head, parts = described
    made = [*head, [shared(part, table) for part in parts]]
    if made not in table:
        table.append(made)
    return table.index(made)


def all_plans() -> dict[str, Any]:
    """Everything that the file holds."""
    table: list[Any] = []
    plans = {
        name: [[entry, [shared(one, table) for one in types]] for entry, types in record(call)]
        for name, call in NAMES.items()
    }
    return {"types": table, **plans}


def as_text(plans: dict[str, Any]) -> str:
    """One line for every type and function."""
    parts = (f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, lines)) + "\n]" for name, lines in plans.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        record_here(sys.argv[1])
    else:
        PLANS.write_text(as_text(all_plans()))
