"""Forecasts by a plain loop: the whole series is kept, every number is recomputed from it, nothing is vectorised."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import norm


def input_row(y, origin, ahead, lags, seasons):
    """Inputs of the forecast of row ``origin + ahead`` from row ``origin``."""

    def value(row):
        return y[max(row, 0)]

    now = y[origin]
    row = []
    for season in seasons:
        source = origin + ahead
        while source > origin:
            source -= season
        row += [value(source) - now, value(source - season) - now]
    row.append(now)
    row += [value(origin - lag) - now for lag in lags]
    for season in seasons:
        row.append(value(origin - season) - now)
        row.append(math.fsum(value(origin - j) - now for j in range(season)) / season)
    for season in seasons:
        for harmonic in (1, 2):
            angle = 2 * math.pi * harmonic * (origin + ahead) / season
            row += [round(math.sin(angle), 12), round(math.cos(angle), 12)]
    return row


class LoopForecaster:
    """Row by row, one model per horizon: what was forecast for a row is judged, then the row is learned."""

    def __init__(self, make_model, horizon, lags, seasons, level, step, most_origins, largest_score):
        self.models = [make_model(delay=k) for k in range(horizon)]
        self.horizon, self.lags, self.seasons, self.level = horizon, lags, seasons, level
        self.step, self.most_origins, self.largest_score = step, most_origins, largest_score
        self.y, self.given, self.scores, self.width_at = [], {}, {}, {}
        self.widths = [1.0] * horizon
        ahead = range(1, horizon + 1)
        self.moments = [[math.sqrt(min(i, j) / max(i, j)) for j in ahead] for i in ahead]

    def learn(self, value):
        row = len(self.y)
        for ahead in range(1, min(self.horizon, row) + 1):
            self._judge(row - ahead, ahead, value)
        self.y.append(value)
        self.width_at[row] = list(self.widths)
        self._note_dependence(row - self.horizon)

    def _judge(self, origin, ahead, value):
        """A model with a delay answers from the labels that were known at the origin, though the row comes now."""
        now, width = self.y[origin], self.width_at[origin][ahead - 1]
        known = input_row(self.y, origin, ahead, self.lags, self.seasons)
        run = self.models[ahead - 1].prequential([known], [value - now], level=self.level)
        mean, lower, upper = (now + end[0] for end in (run.mean, run.lower, run.upper))
        lower, upper = (mean + width * (end - mean) for end in (lower, upper))
        self.given[origin, ahead] = mean, lower, upper
        score = norm.ppf(run.pit[0])
        self.scores[origin, ahead] = min(max(score, -self.largest_score), self.largest_score)
        if origin >= ahead:
            outside = 1.0 if value < lower or value > upper else 0.0
            self.widths[ahead - 1] *= math.exp(self.step * (outside - (1.0 - self.level)))

    def _note_dependence(self, origin):
        if origin < self.horizon:
            return
        scores = [self.scores[origin, ahead] for ahead in range(1, self.horizon + 1)]
        share = 1.0 / min(origin + 1, self.most_origins)
        for i in range(self.horizon):
            for j in range(self.horizon):
                self.moments[i][j] += share * (scores[i] * scores[j] - self.moments[i][j])

    def answers(self, origin):
        """(3, horizon): mean, lower, upper."""
        return np.array([self.given[origin, ahead] for ahead in range(1, self.horizon + 1)]).T

    def forecast(self):
        """(3, horizon): the same for the newest origin, from the models as they are now."""
        origin, found = len(self.y) - 1, []
        for ahead, model in enumerate(self.models, start=1):
            known = input_row(self.y, origin, ahead, self.lags, self.seasons)
            dist = model.predict_dist([known], horizon=ahead)
            mean, width = dist.mean[0], self.widths[ahead - 1]
            ends = [mean + width * (end[0] - mean) for end in dist.interval(self.level)]
            found.append([self.y[origin] + value for value in (mean, *ends)])
        return np.array(found).T
