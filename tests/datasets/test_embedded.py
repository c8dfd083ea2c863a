from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest
from sklearn.datasets import load_digits

from iegp.datasets import embedded, list_embedded, load_embedded
from iegp.errors import DatasetError, InputError

needs_river = pytest.mark.skipif(not find_spec("river"), reason="River is not installed")
SURFACES = ("brickface", "cement", "foliage", "grass", "path", "sky", "window")
BLANK_PIXELS = {"digits": 3}  # columns that never vary


@pytest.mark.parametrize("name", list_embedded())
def test_every_listed_set_loads(name):
    stream = load_embedded(name)
    assert stream.name == name
    assert len(stream) > 400
    assert np.sum(np.ptp(stream.X, axis=0) == 0) == BLANK_PIXELS.get(name, 0)
    assert len(np.unique(stream.y)) > 1
    assert name in list_embedded(stream.task)


def test_digits_scan_looks_only_back():
    stream = load_embedded("digits_scan")
    images = load_digits().images
    assert stream.X.shape == (1797 * 42, 6)
    k = 42 * 5 + 6 * 3 + 2  # image 5, fourth scanned line, third scanned column
    image, row, column = images[5], 4, 3
    assert stream.y[k] == image[row, column]
    neighbours = [image[row, column - 1], *image[row - 1, column - 1 : column + 2]]
    np.testing.assert_array_equal(stream.X[k], [*neighbours, row, column])


def test_digits_ink_is_digits_scan_in_five_bands():
    scan, ink = load_embedded("digits_scan"), load_embedded("digits_ink")
    np.testing.assert_array_equal(ink.X, scan.X)
    bands = {level: set(scan.y[ink.y == level].tolist()) for level in range(5)}
    assert bands == {0: {0}, 1: {1, 2, 3, 4}, 2: {5, 6, 7, 8}, 3: {9, 10, 11, 12}, 4: {13, 14, 15, 16}}
    assert ink.task == "ordinal"


def test_digits_are_images_in_the_order_of_the_source():
    stream, source = load_embedded("digits"), load_digits()
    np.testing.assert_array_equal(stream.X[7].reshape(8, 8), source.images[7])
    np.testing.assert_array_equal(stream.y, source.target)
    assert stream.feature_names[8 * 2 + 5] == "pixel 2 5"


def test_breast_cancer_says_what_it_found():
    stream = load_embedded("breast_cancer")
    labels, counts = np.unique(stream.y, return_counts=True)
    assert (labels.tolist(), counts.tolist()) == (["benign", "malignant"], [357, 212])
    radius = stream.X[:, stream.feature_names.index("mean radius")]
    assert radius[stream.y == "malignant"].mean() > radius[stream.y == "benign"].mean()


@needs_river
@pytest.mark.parametrize(
    ("name", "shape", "kind", "counts"),
    [
        ("phishing", (1250, 9), "b", {False: 702, True: 548}),
        ("bananas", (5300, 2), "b", {False: 2924, True: 2376}),
        (
            "image_segments",
            (2310, 18),
            "U",
            dict.fromkeys(SURFACES, 330),
        ),
        ("solar_flare", (1066, 9), "i", {0: 884, 1: 112, 2: 33, 3: 20, 4: 9, 5: 4, 6: 3, 8: 1}),
    ],
)
def test_labels_of_rivers_sets(name, shape, kind, counts):
    stream = load_embedded(name)
    assert stream.X.shape == shape
    assert stream.y.dtype.kind == kind
    assert dict(zip(*(part.tolist() for part in np.unique(stream.y, return_counts=True)), strict=True)) == counts


@needs_river
def test_sunspot_letters_are_numbered_by_development():
    stream = load_embedded("solar_flare")
    # River's first two rows: H A X and D R O.
    np.testing.assert_array_equal(stream.X[:2, :3], [[1, 3, 0], [4, 1, 1]])
    flares = [stream.y[stream.X[:, 2] == level].mean() for level in range(4)]
    assert np.all(np.diff(flares) > 0)  # the more compact a group, the more it flares


@needs_river
def test_water_flow_inputs_are_past_readings():
    stream = load_embedded("water_flow")
    one_ago, day_ago = stream.X[:, 3], stream.X[:, 5]
    np.testing.assert_array_equal(one_ago[1:], stream.y[:-1])
    np.testing.assert_array_equal(day_ago[24:], stream.y[:-24])


def test_without_river_its_sets_are_not_offered(monkeypatch):
    monkeypatch.setattr(embedded, "find_spec", lambda package: package != "river" or None)
    assert list_embedded() == ("digits_scan", "diabetes", "digits", "breast_cancer", "digits_ink")
    assert list_embedded("counts") == ()
    with pytest.raises(DatasetError, match="pip install river"):
        load_embedded("trump_approval")


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(DatasetError, match="'diabetes'"):
        load_embedded("diabetis")


def test_sets_are_listed_by_task():
    tasks = ("regression", "classification", "counts", "ordinal")
    assert sorted(name for task in tasks for name in list_embedded(task)) == sorted(list_embedded())
    with pytest.raises(InputError, match="'ranking' is unknown"):
        list_embedded("ranking")
