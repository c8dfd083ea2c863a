"""Intervals that keep their level, row by row with SciPy: formulas of docs/explanation/coverage.md, no shared code."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm, t

FAR, GROWTH, FARTHEST = 4.0, 0.5, 60.0


def cdf(mixture, y):
    """``mixture``: weights, centres, scales and degrees of freedom of the components of one row."""
    return sum(w * t.cdf((y - c) / s, nu) for w, c, s, nu in zip(*mixture, strict=True))


def quantile(mixture, q):
    _, centres, scales, _ = mixture
    low, high = centres.min() - 1e4 * scales.max(), centres.max() + 1e4 * scales.max()
    return brentq(lambda y: cdf(mixture, y) - q, low, high, xtol=1e-13, rtol=1e-14)


def label_at(mixture, score):
    if abs(score) <= FAR:
        return quantile(mixture, norm.cdf(score))
    centre, end = quantile(mixture, 0.5), quantile(mixture, norm.cdf(np.sign(score) * FAR))
    return centre + (end - centre) * np.exp(GROWTH * (min(abs(score), FARTHEST) - FAR))


def score_of(mixture, y):
    pit = cdf(mixture, y)
    if norm.cdf(-FAR) < pit < norm.cdf(FAR):
        return norm.ppf(pit)
    side = 1.0 if pit > 0.5 else -1.0
    centre, end = quantile(mixture, 0.5), quantile(mixture, norm.cdf(side * FAR))
    return side * min(FAR + max(np.log((y - centre) / (end - centre)), 0.0) / GROWTH, FARTHEST)


def intervals(mixtures, labels, level, delay):
    """(n, 2): each row answered, then the label of the row ``delay`` before it learned."""
    reach, shift, debt, n_scored = norm.ppf(0.5 + 0.5 * level), 0.0, 0.0, 0
    queue, found = [], []
    for mixture, y in zip(mixtures, labels, strict=True):
        gain = 0.1 * abs(debt) / (abs(debt) + 10.0 + 6.0 * delay)
        width = max(reach + np.clip(gain * debt, -2.0, 2.0), 0.0)
        low, high = label_at(mixture, shift - width), label_at(mixture, shift + width)
        found.append((low, high))
        queue.append((score_of(mixture, y), not low <= y <= high))
        if len(queue) <= delay:
            continue
        score, was_missed = queue.pop(0)
        step = max(0.02, 0.3 / np.sqrt(n_scored + 9.0))
        above, below = score > shift + reach, score < shift - reach
        reach = np.clip(reach + step * (above + below - (1.0 - level)), 0.0, FARTHEST)
        shift = shift + step * (float(above) - float(below) - 0.3 * shift)
        debt = np.clip(debt + was_missed - (1.0 - level), -100.0 - 6.0 * delay, 100.0 + 6.0 * delay)
        n_scored += 1
    return np.array(found)
