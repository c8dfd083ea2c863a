"""Forecasts from each key's own labels, and recent errors of each key, one row after the other."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
from scipy import stats


def naive_scores(keys, labels, means, log_scores):
    """Sums over the scored rows: those whose key had a label before, from the third label of all on."""
    seen, n_seen, sums = defaultdict(list), 0, defaultdict(float)
    for key, y, mean, log_score in zip(keys, labels, means, log_scores, strict=True):
        if math.isnan(y):
            continue
        before = seen[key]
        if n_seen >= 2 and before:
            sums["n"] += 1
            sums["loss"] += (y - mean) ** 2
            sums["naive_loss"] += (y - np.mean(before)) ** 2
            sums["last_loss"] += (y - before[-1]) ** 2
            if len(set(before)) > 1:
                n = len(before)
                scale = np.std(before, ddof=1) * math.sqrt(1 + 1 / n)
                sums["n_log"] += 1
                sums["log"] += log_score
                sums["naive_log"] += stats.t.logpdf(y, n - 1, np.mean(before), scale)
        before.append(y)
        n_seen += 1
    return dict(sums)


def recent_nmse(keys, labels, means):
    """Of each key without its first 20 labels: the 50s of labels it is in now and was in before."""
    own = {key: [] for key in keys}
    for key, y, mean in zip(keys, labels, means, strict=True):
        if not math.isnan(y) and not math.isnan(mean):
            own[key].append((y, mean))
    found = {}
    for key, rows in own.items():
        rows = rows[20:]
        windows = [rows[i : i + 50] for i in range(0, len(rows), 50)]
        last = [row for window in windows[-2:] for row in window]
        y, mean = np.array(last).reshape(-1, 2).T
        found[key] = np.mean((y - mean) ** 2) / np.var(y) if len(set(y)) > 1 else math.nan
    return found
