"""Every configuration still gives what it gave when ``data/configurations.npz`` was stored.

Where results were changed on purpose: ``python tests/reference/configurations.py --write
tests/reference/data/configurations.npz --thin``, and say why in the commit.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from reference import configurations

STORED, _ = configurations.read(Path(__file__).parent / "data" / "configurations.npz")

# Relative to max(1, |value|). Other processors and other BLAS add up in another order: with OpenBLAS told to use its
# kernels for another processor (OPENBLAS_CORETYPE=Nehalem), nearly all configurations change by less than 1e-9.
TOLERANCE = 1e-7
# Those in which the last bits count for more.
TOLERANCES = {
    # Beliefs are rounded to seven digits.
    "fleet/float32": 1e-5,
    "torch-fleet/float32": 1e-5,
    # The search for hyperparameters ends where the evidence is flat.
    "stream/count": 1e-5,
    "command/fit-history": 1e-5,
    # Sixty iterations on the rows of the warm-up, which `iegp embed` always makes.
    "command/embed-line": 1e-4,
    "command/embed-plane": 1e-4,
    "river/latent": 1e-4,
}


def test_the_file_holds_the_configurations_of_the_table():
    assert STORED.keys() == configurations.CONFIGURATIONS.keys()


@pytest.mark.parametrize("name", configurations.CONFIGURATIONS)
def test_a_configuration_gives_what_it_gave(name):
    missing = configurations.absent(name)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}, which is not installed")
    found = {key: configurations.thinned(values) for key, values in configurations.results(name).items()}
    rows = configurations.compared(STORED[name], found)
    tolerance = TOLERANCES.get(name, TOLERANCE)
    far = {key: f"{relative:.1e}" for key, _, relative, _ in rows if not relative <= tolerance}
    assert not far, f"differences relative to max(1, |value|), of which {tolerance:g} are allowed: {far}"
