"""The experts of a latent variable model, made from the first rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from iegp.core.compute.tolerances import FIRST_MAP_NOISE, POSITION_CONVERGED
from iegp.core.features import fourier_rows
from iegp.core.frequencies import draw_frequencies
from iegp.core.latent.blocks import Belief, refresh
from iegp.core.latent.evidence import Start, fit_start, leading_columns
from iegp.core.latent.row import RowProblem
from iegp.core.latent.settings import LatentSettings
from iegp.core.latent.warmup import principal_positions, rotation_onto, standardised_positions
from iegp.typing import Float

InitialMap = Callable[[Float], Float | None]
"""Positions (n, d) for the principal components (n, q) of the first rows; None to take the leading ones of these."""


class LatentExperts(NamedTuple):
    """Experts stacked along the first axis."""

    frequencies: Float
    """(M, n_frequencies, d)"""
    noise_var: Float
    """(M,)"""
    prior_var: Float
    """(M,)"""
    gram: Float
    cross: Float
    inverse: Float
    second: Float
    """These four as in :class:`Belief`, one per expert."""

    def belief(self, m: int) -> Belief:
        return Belief(self.gram[m], self.cross[m], self.inverse[m], self.second[m])

    def ratio(self, m: int) -> float:
        """Noise over prior variance: what Algorithm 2 adds to the Gram matrix."""
        return float(self.noise_var[m] / self.prior_var[m])

    def problem(self, m: int, settings: LatentSettings) -> RowProblem:
        scale = float(np.mean(settings.kernels[m].scales(settings.n_components)))
        return RowProblem(
            self.frequencies[m],
            self.inverse[m],
            self.second[m],
            float(self.noise_var[m]),
            float(settings.latent_var),
            scale,
            settings.n_steps if settings.max_iter is None else settings.max_iter,
            float(settings.forgetting),
            float(settings.drift_var / self.noise_var[m]),
            0.0 if settings.max_iter is None else POSITION_CONVERGED * scale,
        )


def fit_latent_experts(
    settings: LatentSettings, rows: Float, initial_map: InitialMap
) -> tuple[LatentExperts, Float, Float]:
    """Fit experts to the scaled first rows (n, D); return them, positions (M, n, d), and objectives (M,) to minimise.

    All experts begin at one initial map, or each where the one before it ended, and are rotated onto it: one frame for
    all.
    """
    first = leading_columns(rows)
    drawn = initial_map(first.columns)
    if drawn is None:
        common = principal_positions(first.columns, settings.n_components)
    else:
        common = standardised_positions(drawn)
    common *= settings.start_spread
    begin, starts, frequencies = common, [], []
    for m, kernel in enumerate(settings.kernels):
        drawn_frequencies = draw_frequencies(
            kernel, settings.n_frequencies, settings.n_components, settings.features, (settings.seed, m)
        )
        drawn_frequencies = np.ascontiguousarray(drawn_frequencies / kernel.scales(settings.n_components))
        start = fit_start(first, drawn_frequencies, begin, FIRST_MAP_NOISE, settings.latent_var, settings.warmup_iter)
        begin = start.positions if settings.chain else common
        rotation = rotation_onto(start.positions, common)
        starts.append(start._replace(positions=np.ascontiguousarray(start.positions @ rotation)))
        frequencies.append(np.ascontiguousarray(drawn_frequencies @ rotation))
    experts = _after_first_rows(settings, rows, starts, frequencies)
    return experts, np.stack([start.positions for start in starts]), np.array([start.objective for start in starts])


def _after_first_rows(
    settings: LatentSettings, rows: Float, starts: list[Start], frequencies: list[Float]
) -> LatentExperts:
    """Compute beliefs at the fitted positions (Algorithm 2, lines 5 and 6)."""
    n_experts, n_features = len(starts), 2 * settings.n_frequencies
    experts = LatentExperts(
        np.stack(frequencies),
        np.array([start.noise_var for start in starts]),
        np.array([start.prior_var for start in starts]),
        np.empty((n_experts, n_features, n_features)),
        np.empty((n_experts, n_features, rows.shape[1])),
        np.empty((n_experts, n_features, n_features)),
        np.empty((n_experts, n_features, n_features)),
    )
    for m, start in enumerate(starts):
        phi = fourier_rows(start.positions, frequencies[m])
        experts.gram[m], experts.cross[m] = phi.T @ phi, phi.T @ rows
        refresh(experts.belief(m), experts.ratio(m))
        if settings.drift_var > 0.0:
            experts.cross[m] = experts.inverse[m] @ experts.cross[m]
    return experts
