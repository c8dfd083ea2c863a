from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.datasets import load_digits

from iegp.errors import DatasetError
from iegp.streams import DEMO_STREAM, embedded, list_embedded, load_embedded


@pytest.mark.parametrize("name", list_embedded())
def test_every_listed_set_loads(name):
    stream = load_embedded(name)
    assert stream.name == name
    assert len(stream) > 400
    assert np.ptp(stream.X, axis=0).min() > 0  # no constant column
    assert stream.y.std() > 0


def test_digits_scan_looks_only_back():
    stream = load_embedded("digits_scan")
    images = load_digits().images
    assert stream.X.shape == (1797 * 42, 6)
    k = 42 * 5 + 6 * 3 + 2  # image 5, fourth scanned line, third scanned column
    image, row, column = images[5], 4, 3
    assert stream.y[k] == image[row, column]
    neighbours = [image[row, column - 1], *image[row - 1, column - 1 : column + 2]]
    np.testing.assert_array_equal(stream.X[k], [*neighbours, row, column])


@pytest.mark.skipif(not find_spec("river"), reason="River is not installed")
def test_water_flow_inputs_are_past_readings():
    stream = load_embedded("water_flow")
    one_ago, day_ago = stream.X[:, 3], stream.X[:, 5]
    np.testing.assert_array_equal(one_ago[1:], stream.y[:-1])
    np.testing.assert_array_equal(day_ago[24:], stream.y[:-24])


def test_without_river_its_sets_are_not_offered(monkeypatch):
    monkeypatch.setattr(embedded, "find_spec", lambda package: package != "river" or None)
    assert list_embedded() == ("digits_scan", "diabetes")
    assert DEMO_STREAM in list_embedded()
    with pytest.raises(DatasetError, match="pip install river"):
        load_embedded("trump_approval")


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(DatasetError, match="'diabetes'"):
        load_embedded("diabetis")
