"""More classes than the digest tells apart: right and wrong are still counted by their names."""

from __future__ import annotations

import numpy as np
from stream_runs.digest_streams import classes

from iegp.stream.digest import Digest


def test_errors_of_classes_beyond_the_limit_count():
    names = tuple(f"c{i}" for i in range(80))
    proba = np.eye(80)
    labels = np.array([*names[1:], names[0]], dtype=object)
    digest = Digest("classification")
    wrong = classes(np.arange(80), labels, np.zeros(80), proba=proba, classes=names)
    digest.add(wrong)
    assert digest.results().loss.model == 1.0
    digest.add(classes(np.arange(80, 160), np.array(names, dtype=object), np.zeros(80), proba=proba, classes=names))
    assert digest.results().loss.model == 0.5
    assert digest.results().loss.naive > 0.9
