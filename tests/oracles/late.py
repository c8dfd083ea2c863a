"""Labels that come late, row by row with dense matrices: one drifting or static expert per (belief, noise model).

A loop that answers row t and then learns the row whose label comes. Noise models: fixed, conjugate with forgetting,
heavy-tailed. Weights: Bayes or stacking. Written out literally; shares no code with the package.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Array = NDArray[np.float64]


@dataclass
class Noise:
    """``forgetting`` and ``tail`` None: fixed; ``tail`` None: conjugate; both: heavy-tailed."""

    forgetting: float | None
    tail: float | None
    scale: float
    shape: float = math.inf

    def dof(self) -> float:
        if self.tail is not None:
            return self.tail
        return math.inf if self.forgetting is None else 2.0 * self.shape * self.forgetting

    def level(self) -> float:
        return self.scale if math.isinf(self.shape) else self.scale / self.shape

    def log_density(self, residual: float, variance: float) -> float:
        spread, dof = math.sqrt(self.level() * variance), self.dof()
        return float(
            stats.norm.logpdf(residual, 0.0, spread) if math.isinf(dof) else stats.t.logpdf(residual, dof, 0.0, spread)
        )

    def learn(self, one_step: float, given: float) -> None:
        """Squared errors over their variances: of the prediction one row ahead, and of the answer given."""
        if self.tail is not None:
            assert self.forgetting is not None
            weight = (self.tail + 1.0) / (self.tail + given / self.scale)
            self.scale = self.forgetting * self.scale + (1.0 - self.forgetting) * weight * given
        elif self.forgetting is not None:
            self.shape, self.scale = self.forgetting * self.shape + 0.5, self.forgetting * self.scale + 0.5 * one_step


@dataclass
class Expert:
    """A random-walk belief in units of the noise, and a noise model."""

    mean: Array
    covariance: Array
    drift: float
    noise: Noise

    def ahead(self, phi: Array, n_steps: int) -> tuple[float, float]:
        walked = self.covariance + n_steps * self.drift * np.eye(len(phi))
        return float(phi @ self.mean), 1.0 + float(phi @ walked @ phi)

    def learn(self, phi: Array, y: float, extra: float = 0.0) -> None:
        gain = self.covariance @ phi
        variance = 1.0 + extra + float(phi @ gain)
        self.mean = self.mean + gain * (y - phi @ self.mean) / variance
        self.covariance = self.covariance - np.outer(gain, gain) / variance


@dataclass
class Ensemble:
    experts: list[Expert]
    is_stacking: bool = False
    rate: float = 1.0
    log_weights: Array = field(init=False)
    given: dict[int, Any] = field(default_factory=dict)
    last: int = -1

    def __post_init__(self) -> None:
        self.log_weights = np.full(len(self.experts), -math.log(len(self.experts)))

    def answer(self, t: int, phis: list[Array]) -> tuple[float, float]:
        """Mean and standard deviation of row t; the experts' answers are kept for its label."""
        ahead = [e.ahead(phi, t - self.last) for e, phi in zip(self.experts, phis, strict=True)]
        self.given[t] = [(m, v, e.noise.level(), e.noise.dof()) for (m, v), e in zip(ahead, self.experts, strict=True)]
        w, means = np.exp(self.log_weights), np.array([m for m, _ in ahead])
        spread = [level * v * (1.0 if math.isinf(nu) else nu / (nu - 2.0)) for _, v, level, nu in self.given[t]]
        mean = float(w @ means)
        return mean, math.sqrt(float(w @ (np.array(spread) + (means - mean) ** 2)))

    def learn(self, t: int, phis: list[Array], y: float) -> None:
        """The label of row t has come."""
        given, now, answered = self.given.pop(t), [], []
        for expert, phi, (m, v, level, dof) in zip(self.experts, phis, given, strict=True):
            steps = t - self.last
            age = max(-steps, 0)
            expert.covariance = expert.covariance + max(steps, 0) * expert.drift * np.eye(len(phi))
            extra = age * expert.drift * float(phi @ phi)
            mean, variance = expert.ahead(phi, 0)
            variance += extra
            spread = math.sqrt(level * v)
            answered.append(stats.norm.logpdf(y, m, spread) if math.isinf(dof) else stats.t.logpdf(y, dof, m, spread))
            now.append(expert.noise.log_density(y - mean, variance))
            expert.noise.learn((y - mean) ** 2 / variance, (y - m) ** 2 / v)
            expert.learn(phi, y, extra)
        scores = np.array(answered if self.is_stacking else now)
        self._weigh(scores)
        self.last = max(self.last, t)

    def skip(self, t: int) -> None:
        """The label of row t, the next in order, is not believed: a step of the walk and nothing else."""
        self.given.pop(t)
        for expert in self.experts:
            expert.covariance = expert.covariance + expert.drift * np.eye(len(expert.mean))
        self.last = t

    def _weigh(self, scores: Array) -> None:
        joint = self.log_weights + scores
        posterior = joint - np.logaddexp.reduce(joint)
        if not self.is_stacking:
            self.log_weights = posterior
            return
        self.log_weights = np.log((1.0 - self.rate) * np.exp(self.log_weights) + self.rate * np.exp(posterior))


def noise_of(setting: float | tuple[float, float] | None, noise_var: float) -> Noise:
    """A noise model before any row: None, a forgetting factor, or one with degrees of freedom."""
    if setting is None:
        return Noise(None, None, noise_var)
    if isinstance(setting, tuple):
        forgetting, tail = setting
        return Noise(forgetting, tail, noise_var * (tail - 2.0) / tail)
    shape = 0.5 / (1.0 - setting)
    return Noise(setting, None, shape * noise_var, shape)
