"""Compile once what the tests share: ``python tests/compiled/fill_cache.py``.

Every process that meets an empty cache compiles for itself, so that the workers of a test run would all do the same
work. Two processes share it here: Gaussian labels and maps in one, all other labels in the other.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.configurations import absent, results

# Whatever these few leave out is compiled by the first test that needs it.
PARTS = (
    (
        "noise/all",
        "regressor/chunks",
        "regressor/several-outputs",
        "regressor/distribution",
        "regressor/threads",
        "history/merge-and-unlearn-learned",
        "fleet/default",
        "fleet/float32",
        "latent/pca",
        "latent/gaps",
    ),
    (
        "classifier/two-logit",
        "classifier/several",
        "classifier/chunks-and-declared-classes",
        "counts/exposure",
        "ordinal/logit",
        "ordinal/probit",
        "river/regressor",
        "river/classifier",
        "stream/late-classification-csv",
        "stream/late-regression-csv",
        "stream/key",
    ),
)


def fill(names: tuple[str, ...]) -> None:
    for name in names:
        if not absent(name):
            results(name)


if __name__ == "__main__":
    with ProcessPoolExecutor(len(PARTS), mp_context=get_context("spawn")) as pool:
        list(pool.map(fill, PARTS))
