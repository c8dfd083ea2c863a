"""Tolerances, floors and bounds of the package, each with its reason."""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(np.float64).eps)

# Evidence may not make prior_var more than this many times noise_var: the flattest kernels of a wide dictionary would
# otherwise diverge, and no double-precision form computes the log evidence there (docs/design.md has the table).
MAX_PRIOR_RATIO = 1.0e8
MIN_PRIOR_RATIO = 1.0e-8

# Evidence keeps noise_var (in units of the standardised target) within these bounds; interpolating the warm-up rows
# exactly is no evidence for the absence of noise.
MIN_NOISE_VAR = 1.0e-6
MAX_NOISE_VAR = 1.0e2

# Evidence keeps the variance of a latent function (log odds, log rate) within these bounds: classes that a warm-up
# separates perfectly would send it to infinity.
MIN_LATENT_VAR = 1.0e-4
MAX_LATENT_VAR = 1.0e4
# For log rates the upper bound is lower: the mean of a rate grows with exp(variance / 2), here to a factor of 150.
MAX_LOG_RATE_VAR = 10.0

# Learned noise never falls below this (standardised units), however long a sensor repeats the same value.
NOISE_FLOOR = 1.0e-12

# A block is factored at once while no row in it is more than this many times more uncertain than the noise. The
# factorisation then loses at most this factor times machine epsilon; beyond it, rows are learned one by one with plane
# rotations, which lose only its square root.
MAX_BLOCK_LEVERAGE = 1.0e4

# Stacking keeps every expert above this weight, divided by the number of experts. Without it the weight of
# an unused expert decreases without limit, and after a long stationary part a change is followed slowly.
STACKING_FLOOR = 1.0e-12

# A column or target with a spread below this fraction of its size is constant up to rounding: it is not scaled.
CONSTANT_SPREAD = 8.0 * EPS

# A label this many standard deviations (of the warm-up rows) away raises an error: sums of such labels would
# overflow and make the model unusable.
FARTHEST_VALUE = 1.0e300
# The same for inputs: angles are their products with frequencies, and must be finite.
FARTHEST_INPUT, LARGEST_FREQUENCY = 1.0e200, 1.0e100

# The same for rows of a latent variable model: squared distances to their neighbours are float32.
FARTHEST_IN_FLOAT32 = 1.0e15

# Rows are unlearned while at least this share of an expert's information stays in every direction. The relative error
# of what is left is rounding divided by it.
MIN_SHARE_LEFT = 1.0e-6

# By how much the information of an ancestor, or of the prior, may seem to exceed that of its descendant: rounding.
ANCESTOR_SLACK = 1.0e-6
