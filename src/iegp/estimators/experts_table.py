"""``experts_``: the experts of an ensemble, their settings and current weights."""

from __future__ import annotations

from typing import NamedTuple, SupportsIndex

import numpy as np

from iegp.core.expert import noise
from iegp.core.features import term_of_features
from iegp.core.fitting.experts import term_bases, term_shares
from iegp.core.functions import coefficients
from iegp.core.kernels import Kernel
from iegp.core.likelihoods import GAUSSIAN
from iegp.core.model import Online
from iegp.core.settings import NoiseSetting
from iegp.core.state import drift_at
from iegp.typing import Float


class Expert(NamedTuple):
    """One expert. Variances are in units of the standardised target: a number, or one per output."""

    kernel: Kernel
    frequencies: Float
    """(n_frequencies, d), in the standardised input space."""
    prior_var: float | Float
    noise_var: float | Float
    """Where the noise is learned: its present level; NaN for labels that have no noise (classes, counts)."""
    drift_var: float | tuple[float, ...]
    """Random-walk variance per row, for each term of the kernel if it has several; 0 is static."""
    noise_forgetting: NoiseSetting
    """``None``: the noise is fixed; a pair: heavy-tailed noise, (forgetting, degrees of freedom)."""
    weight: float
    sharpness: float = 1.0
    """Power to which class probabilities are raised."""
    drift: float = 0.0
    """The entry of the model's ``drift_var`` that this expert has, in the model's ``drift_units``."""
    belief: tuple[Online, int] | None = None
    """The model and the number of the belief that the moments of the coefficients come from."""

    @property
    def mean(self) -> Float:
        """Posterior mean (F, D) of the coefficients, in units of the standardised target, of the model as it is now."""
        return self._moments()[0]

    @property
    def cov(self) -> Float:
        """Posterior covariance (F, F) of the coefficients of one output, over the noise variance of that output."""
        return self._moments()[1]

    def _moments(self) -> tuple[Float, Float]:
        assert self.belief is not None
        model, b = self.belief
        return coefficients(model.experts.ensemble, model.state, b)

    @property
    def speed(self) -> str:
        """``static``, or the entry of the model's ``drift_var``."""
        return "static" if self.drift == 0.0 else f"{self.drift:g}"

    def __repr__(self) -> str:
        noise = "" if np.isnan(np.mean(self.noise_var)) else f", noise_var={np.mean(self.noise_var):.3g}"
        sharpness = "" if self.sharpness == 1.0 else f", sharpness={self.sharpness:g}"
        return (
            f"Expert({self.kernel.short()}, weight={self.weight:.3g}, drift_var={as_text(self.drift_var)}, "
            f"prior_var={np.mean(self.prior_var):.3g}{noise}{sharpness}, {len(self.frequencies)} frequencies)"
        )


class ExpertTable(tuple[Expert, ...]):
    """A tuple of :class:`Expert` that prints as a table, largest weight first."""

    def __repr__(self) -> str:
        labels = bool(self) and np.isnan(np.mean(self[0].noise_var))  # type: ignore[union-attr]
        noise = f"{'sharpness':>10}" if labels else f"{'noise_var':>9}  {'forgetting':>10}"
        lines = [f"{'weight':>7}  {'drift_var':>9}  {noise}  {'prior_var':>9}  kernel"]
        ranked = sorted(self, key=lambda expert: -expert.weight)
        for e in ranked[:12]:
            noise = f"{np.mean(e.noise_var):9.3g}  {_forgetting(e.noise_forgetting):>10}"
            if labels:
                noise = f"{e.sharpness:10.3g}"
            lines.append(
                f"{e.weight:7.3f}  {as_text(e.drift_var):>9}  {noise}  {np.mean(e.prior_var):9.3g}  {e.kernel.short()}"
            )
        if len(ranked) > 12:
            rest = sum(expert.weight for expert in ranked[12:])
            lines.append(f"{rest:7.3f}  in {len(ranked) - 12} more experts")
        return "\n".join(lines)

    def __getitem__(self, index: SupportsIndex | slice) -> Expert | ExpertTable:  # type: ignore[override]
        found = super().__getitem__(index)
        return ExpertTable(found) if isinstance(index, slice) else found  # type: ignore[arg-type,return-value]


def experts_of(model: Online) -> ExpertTable:
    """The experts of a model, kernel by kernel, then drift, then noise forgetting."""
    ensemble, state = model.experts.ensemble, model.state
    levels = noise.level(noise.Noise(state.noise_shape, state.noise_scale), ensemble.tails, ensemble.noise_of)
    prior = ensemble.prior_ratio[:, None] * ensemble.noise_var
    weights = np.exp(state.log_weights)
    is_gaussian = ensemble.likelihood == GAUSSIAN
    if not is_gaussian:
        prior, levels = prior[:, :1], np.full((len(levels), 1), np.nan)
    drifts = [_drift_var(model, b) for b in range(ensemble.n_beliefs)]
    table = []
    for e, (b, k) in enumerate(zip(ensemble.belief_of, ensemble.noise_of, strict=True)):
        kernel = int(b) // ensemble.n_drifts
        table.append(
            Expert(
                kernel=model.experts.kernels[kernel],
                frequencies=ensemble.kernel_basis(kernel).frequencies.copy(),
                prior_var=_plain(prior[b]),
                noise_var=_plain(levels[e]),
                drift_var=drifts[int(b)],
                noise_forgetting=model.settings.noise_forgetting[k] if is_gaussian else None,
                weight=float(weights[e]),
                sharpness=float(ensemble.sharpness[k]),
                drift=model.settings.drift_var[int(b) % ensemble.n_drifts],
                belief=(model, int(b)),
            )
        )
    return ExpertTable(table)


def _drift_var(model: Online, b: int) -> float | tuple[float, ...]:
    """Random-walk variance per row, in units of the standardised target, of each term."""
    ensemble, kernel = model.experts.ensemble, model.experts.kernels[b // model.experts.ensemble.n_drifts]
    bases = term_bases(model.settings, kernel, b // ensemble.n_drifts, model.inputs)
    term_of, own = term_of_features(bases), drift_at(ensemble, b)
    first = [int(np.argmax(term_of == k)) for k in range(len(bases))]
    values = own[first] * term_shares(kernel) * ensemble.noise_var[b].mean()
    if len(values) == 1 and model.settings.drift_units == "target":
        # As it was given, without rounding.
        given = kernel.terms[0].drift_var
        return model.settings.drift_var[b % ensemble.n_drifts] if given is None else given
    return float(values[0]) if len(values) == 1 else tuple(values.tolist())


def as_text(values: float | tuple[float, ...]) -> str:
    """A number, or that of each term."""
    return f"{values:.3g}" if isinstance(values, float) else ", ".join(f"{value:.3g}" for value in values)


def _plain(values: Float) -> float | Float:
    return float(values[0]) if len(values) == 1 else values.copy()


def _forgetting(forgetting: NoiseSetting) -> str:
    if forgetting is None:
        return "fixed"
    return f"{forgetting[0]:g}, t{forgetting[1]:g}" if isinstance(forgetting, tuple) else f"{forgetting:g}"
