"""Every configuration still gives what it gave when ``data/configurations.npz`` was stored.

Where results were changed on purpose: ``python tests/reference/configurations.py --write
tests/reference/data/configurations.npz --thin``, and say why in the commit.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from reference import configurations

STORED, _ = configurations.read(Path(__file__).parent / "data" / "configurations.npz")

# Relative to max(1, |value|). Other processors and other BLAS add up in another order; what that does to a
# configuration was measured by running with kernels for other processors.
TOLERANCE = 1e-7


def test_the_file_holds_the_configurations_of_the_table():
    assert STORED.keys() == configurations.CONFIGURATIONS.keys()


@pytest.mark.parametrize("name", configurations.CONFIGURATIONS)
def test_a_configuration_gives_what_it_gave(name):
    missing = configurations.absent(name)
    if missing:
        pytest.skip(f"needs {', '.join(missing)}, which is not installed")
    found = {key: configurations.thinned(values) for key, values in configurations.results(name).items()}
    rows = configurations.compared(STORED[name], found)
    far = {key: f"{relative:.1e}" for key, _, relative, _ in rows if not relative <= TOLERANCE}
    assert not far, f"differences relative to max(1, |value|): {far}"
