"""Descriptions that River models share, for :mod:`iegp._docstrings`."""

from __future__ import annotations

from iegp._docstrings import entries

RIVER = entries("""
x : dict
    Values by feature name; a feature that the row does not have is left out.
X : pandas.DataFrame (n, d)
    Rows, with features as columns.
y : pandas.Series (n,)
    Labels: numbers or classes.
w : float, default=1.0
    How much the row counts, from 0 up; a row of weight 0 is not learned.
with_dist : bool, default=False
    Return the whole predictive distribution in place of its mean.
exposure : float, default=1.0
    Time, area or population over which the row is counted.
""") | {
    "label": """\
y : float, str or bool
    Label: a number or a class.""",
    "count": """\
y : float
    Count, 0 or larger.""",
    "w_per_row": """\
w : array-like (n,) or float, default=1.0
    How much each row counts, from 0 up; a row of weight 0 is not learned.""",
    "exposure_per_row": """\
exposure : array-like (n,), default=None
    Exposure of each row; ``None`` is 1.""",
}
