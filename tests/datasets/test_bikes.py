"""Simulated bike rentals: what every reader would expect of them."""

from __future__ import annotations

import numpy as np
import pytest

from iegp.datasets import bike_rentals
from iegp.datasets.bikes import hours


def test_people_ride_when_one_would_expect():
    stream = bike_rentals()
    hour, weekday, working, temperature, rain, _ = stream.X.T
    y = stream.y
    assert y.min() >= 0.0
    assert np.all(y == np.floor(y))
    assert y[(hour == 8) & (working == 1)].mean() > 3 * y[(hour == 8) & (working == 0)].mean()
    assert y[hour == 17].mean() > 10 * y[hour == 3].mean()
    assert y[temperature > 20].mean() > 2 * y[temperature < 5].mean()
    assert y[(rain > 2) & (hour == 17)].mean() < 0.7 * y[(rain == 0) & (hour == 17)].mean()
    assert np.all(working[weekday >= 5] == 0)
    assert [time.hour for time in hours(30)] == hour[:30].tolist()


def test_the_lane_is_used_from_one_hour_to_the_next():
    stream = bike_rentals(2000, random_state=3)
    assert stream.change_points == (1200,)
    np.testing.assert_array_equal(stream.y, bike_rentals(2000, random_state=3).y)
    with pytest.raises(ValueError, match="at least 1 hour"):
        bike_rentals(0)
