"""Seconds that the first calls take in a process that finds nothing compiled, and the import of the package.

    python benchmarks/first_call.py [regressor classifier stream]

Processor seconds (user and system) of a process of its own with an empty cache, and of the same again: what is left is
not compiling. Processor seconds hardly depend on what else the machine does; on an idle one they are the time waited.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile

import machine

ROWS = "import numpy as np\nx = np.random.default_rng(0).normal(size=(600, 5))\ny = np.sin(x[:, 0]) + 0.1 * x[:, 1]\n"
CALLS = {
    "regressor": "from iegp import IEGPRegressor\nIEGPRegressor(random_state=0).fit(x, y).predict(x[:1])\n",
    "classifier": "from iegp import IEGPClassifier\nIEGPClassifier(random_state=0).fit(x, y > 0).predict(x[:1])\n",
    "stream": (
        "import sys\nnp.savetxt('in.csv', np.c_[x, y], delimiter=',', header='a,b,c,d,e,y', comments='')\n"
        "from iegp.cli.app import main\n"
        "sys.argv = 'iegp stream in.csv --target y --out out.jsonl --overwrite --quiet'.split()\nmain()\n"
    ),
}
IMPORTS = {
    "numpy": "import numpy",
    "iegp": "import iegp",
    "numpy, scipy, numba": "import numpy, scipy.linalg, scipy.optimize, scipy.spatial, numba",
    "iegp.core.model": "import iegp.core.model",
    "sklearn.base, numba": "import sklearn.base, numba",
    "from iegp import IEGPRegressor": "from iegp import IEGPRegressor",
}


def seconds(code: str, cache: str) -> float:
    """Processor seconds of a process that runs the code."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    variables = os.environ | {"NUMBA_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, env=variables, cwd=cache, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    print(machine.describe())
    print(f"{'first call':>12} {'nothing compiled, s':>20} {'again, s':>10}")
    for name in sys.argv[1:] or CALLS:
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = (seconds(ROWS + CALLS[name], cache) for _ in range(2))
            print(f"{name:>12} {cold:20.1f} {warm:10.1f}", flush=True)
    for name, code in IMPORTS.items():
        with tempfile.TemporaryDirectory() as cache:
            print(f"  {name:32} {min(seconds(code, cache) for _ in range(5)):.2f} s")


if __name__ == "__main__":
    main()
