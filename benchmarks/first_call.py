"""Seconds that the first calls take in a process that finds nothing compiled, and the import of the package.

    python benchmarks/first_call.py [regressor classifier stream]

Seconds waited, and processor seconds (user and system) of a process of its own, and of that and the one that helps it
compile, with an empty cache, and of the same again: what is left is not compiling. On a machine that is busy with other
things the processor seconds of the first process say what would be waited; `alone` is without the second process
(IEGP_COMPILE_PROCESSES=1).
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

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
CLOCK = "import atexit, time\natexit.register(lambda: open('first', 'w').write(str(time.process_time())))\n"
IMPORTS = {
    "numpy": "import numpy",
    "iegp": "import iegp",
    "numpy, scipy, numba": "import numpy, scipy.linalg, scipy.optimize, scipy.spatial, numba",
    "iegp.core.model": "import iegp.core.model",
    "sklearn.base, numba": "import sklearn.base, numba",
    "from iegp import IEGPRegressor": "from iegp import IEGPRegressor",
}


class Seconds(NamedTuple):
    """What a process took."""

    waited: float
    first: float
    """Processor seconds of the process, which has to wait for the other only at the end."""
    both: float

    def __str__(self) -> str:
        return " / ".join(f"{value:.1f}" for value in self)


def seconds(code: str, cache: str, **variables: str) -> Seconds:
    """Those of a process that runs the code, and of processes that it started."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    variables = os.environ | {"NUMBA_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"} | variables
    subprocess.run(
        [sys.executable, "-c", CLOCK + code], check=True, env=variables, cwd=cache, stdout=subprocess.DEVNULL
    )
    waited, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    both = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Seconds(waited, float((Path(cache) / "first").read_text()), both)


def main() -> None:
    print(machine.describe())
    print("seconds waited / processor seconds of the first process / of both")
    print(f"{'':>12} {'two processes':>20} {'again':>20} {'alone':>20}")
    for name in sys.argv[1:] or CALLS:
        with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as other:
            cold, warm = (seconds(ROWS + CALLS[name], cache) for _ in range(2))
            alone = seconds(ROWS + CALLS[name], other, IEGP_COMPILE_PROCESSES="1")
            print(f"{name:>12} {cold!s:>20} {warm!s:>20} {alone!s:>20}", flush=True)
    for name, code in IMPORTS.items():
        with tempfile.TemporaryDirectory() as cache:
            print(f"  {name:32} {min(seconds(code, cache).both for _ in range(5)):.2f} s")


if __name__ == "__main__":
    main()
