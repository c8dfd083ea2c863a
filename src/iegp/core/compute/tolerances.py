"""Every number that affects results and is not part of a formula: tolerances, floors, bounds, limits, block sizes.

Each stands with its reason. ``tests/core/compute/test_tolerances.py`` fails where a module of the core, or of the fleet
on a GPU, has such a number of its own; what belongs to one formula (coefficients, nodes and steps of a quadrature) is
listed there with its reason.
"""

from __future__ import annotations

import numpy as np

# --- float64 --------------------------------------------------------------------------------------

EPS = float(np.finfo(np.float64).eps)
# Half a unit in the last place: a term of a sum below this share of it changes nothing.
ROUNDING = 2.0**-53
# exp() of more than 709 overflows; exp(-700) is nothing beside whatever it is added to.
FARTHEST_EXPONENT = 700.0
# The square of anything larger overflows.
LARGEST_ROOT = 1.0e150
# A label without any bound must not make the noise infinite for good.
LARGEST_SQUARE = 1.0e300
# From here on 1 + t² is t² to the last digit.
LARGE_ARGUMENT = 1.0e9
# The least number of which a logarithm is taken, and the least that sums of products are kept above: nearer to zero,
# float64 keeps fewer digits.
SMALLEST = 1.0e-300
LEAST_SAFE = 1.0e-280
# Beyond this many standard deviations the density of a Gaussian underflows.
NO_DENSITY = 40.0

# --- rows and labels ------------------------------------------------------------------------------

# The scale of a constant column, and of no other: one that has it by chance gets the next larger number.
CONSTANT_SCALE = 1.0
# A column or target whose spread is below this fraction of its size is constant up to rounding: it is not scaled.
CONSTANT_SPREAD = 8.0 * EPS
# A label this many standard deviations (of the warm-up rows) away is refused: sums of such labels would overflow,
# and the model would be of no use from then on.
FARTHEST_VALUE = 1.0e300
# The same for inputs, whose angles are products with frequencies up to so large, and must be finite.
FARTHEST_INPUT, LARGEST_FREQUENCY = 1.0e200, 1.0e100
# The same for rows of a latent variable model, whose squared distances to their neighbours are float32.
FARTHEST_IN_FLOAT32 = 1.0e15
# Rows of a prediction that are worked on at once; bounds its memory.
PREDICT_ROWS = 4096
# Rows of a warm-up from which on hyperparameters are fitted; before, the defaults serve. They are fitted anew every few
# rows until there are many, from which on the evidence needs no penalty.
FIRST_FIT, FIRST_STEP, MANY_ROWS = 8, 4, 32
# The penalty of fewer rows: a normal density of the log of each prior variance, around one with this standard
# deviation, and so many rows of noise with this variance.
FEW_ROWS_SPREAD = 1.0
FEW_ROWS_NOISE, FEW_ROWS_COUNT = 1.0e-2, 4.0

# --- features -------------------------------------------------------------------------------------

# Angles up to here: k = round(2x/π) is below 2^20, so that k times each 33-bit part of π/2 is exact.
REDUCTION_LIMIT = 1.0e6
# Linear features take inputs as far as this (standardised units): beside squares of larger ones all else is rounding.
FARTHEST_LINEAR = 1.0e6
# Columns of a linear term, which has a feature for each: the matrix of such a belief has 8 MB.
MAX_LINEAR_COLUMNS = 1000
# The functions of an HSGP term vanish so many length scales beyond its boundary. On the boundary the variance is too
# small by the kernel at twice that distance: 0.0003 of it for RBF, 0.008 for Matérn-1.5.
HSGP_MARGIN = 2.0
# Boundaries, in units of standardised columns.
LEAST_BOUNDARY, LARGEST_BOUNDARY = 1e-6, 1e6
# Share of a periodic kernel's variance that may be lost with the harmonics left out.
PERIODIC_REST = 1.0e-3
# A term's prior variance is at least this share of its kernel's: what the warm-up rows do not need can matter later.
LEAST_TERM_SHARE = 1.0e-3
# Quantiles of frequencies are taken at uniform numbers at least this far from 0 and 1, where they are infinite.
LEAST_UNIFORM = 1.0e-12

# --- linear algebra: these decide the order of sums, hence the last bits --------------------------

# Rows of a strip when two triangles are multiplied: few enough to skip most zeros, many enough for a fast product.
STRIP_ROWS = 32
# Unknowns solved for between two products, and right-hand sides that are laid out anew at a time: they fit the cache.
PANEL_UNKNOWNS, PANEL_SIDES = 24, 64
# Fewer right-hand sides than this are left to BLAS.
FEW_SIDES = 8

# --- beliefs and blocks ---------------------------------------------------------------------------

# A block is factored at once while no row in it is more than this many times more uncertain than the noise. The
# factorisation then loses at most this factor times machine epsilon; beyond it, rows are absorbed one by one with plane
# rotations, which lose only its square root.
MAX_BLOCK_LEVERAGE = 1.0e4
# In float32 seven digits are there to lose, not sixteen.
MAX_BLOCK_LEVERAGE_FLOAT32 = 1.0e2
# Up to this many rows are learned one by one: factoring such a small block costs more.
FEW_ROWS = 6
# Rows after which experts that were shut down are left out; also bounds the memory of a long pass.
CHUNK_ROWS = 2048
# Values of a warm-up farther from the median than this many robust standard deviations (quartiles) are left out of its
# scaling, if they are few; labels as far from the mean are left out of the fit of hyperparameters.
FARTHEST_USUAL, MOST_UNUSUAL = 10.0, 0.02
# Quartiles of fewer than MANY_ROWS values say little: where two levels with little noise are mixed, values of the
# rarer one are often a hundred such standard deviations off.
FARTHEST_OF_FEW = 300.0
# Labels of a warm-up farther from their prediction by the other rows than this many robust standard deviations are
# glitches, which no hyperparameters are fitted to, if they are few. Half as far, or more of them, are found on many
# streams that have no glitches; leaving them out makes as many streams worse as better (docs/default-model.md).
FARTHEST_PREDICTED, MOST_GLITCHES = 16.0, 0.005
# Distance of the quartiles of a standard normal distribution.
QUARTILES = 1.3489795003921634
# Rows that wait for their labels are kept in memory, with the scores of every expert.
MAX_DELAY = 100_000
# Steps that a gap between two rows counts at most: nothing that drifts is known after so many.
LONGEST_GAP = 1e9
# Roundings of a time that a gap may be off and still be whole.
TIME_ROUNDING = 4.0
# Stacked weights move at this rate over the number of rows when these are replayed, at most at the fastest.
REPLAY_ROWS, FASTEST_REPLAY = 20.0, 0.5
# Parts of a fit, and as how many of them are predicted from what is known at a start; fewer rows than the least are too
# few for it. With several starts in each part less depends on single labels: the last ones before a start are lags.
BATCH_PARTS, PARTS_AHEAD, STARTS_IN_PART, LEAST_BATCH = 8, 3, 3, 64
# Fewer sorted rows of a fit do not say how well rows among them are predicted: one for each part and start.
LEAST_SORTED = BATCH_PARTS * STARTS_IN_PART
# Rows of a fit are sorted by their class if those of each follow one another and are at least this share of an equal
# one: of a stream in which a class begins, few are known.
LEAST_SORTED_SHARE = 0.1
# Parts before this one are only learned: errors after so few rows say little of those after all of them.
FIRST_BATCH_PART = 3
# Of the lags of rows far ahead, what experts without lags predict; the rest are the last known labels. It must reduce
# the squared error by this share: on ten streams later rows were predicted better where it did by 4 % and more, and
# worse where it did by 3 % and less.
LAG_SHARES, LEAST_LAG_GAIN = (0.5, 1.0), 0.035
# Of more rows every second, third, ... is predicted. Steps of expectation-maximisation, for weights and noise; after
# them no weight is zero, because its logarithm is stored.
MOST_BATCH_ROWS, BATCH_ITERATIONS, LEAST_BATCH_WEIGHT = 4096, 100, 1.0e-12
# Added to the mean squares of errors, as a share of their mean, so that experts that agree share their weight.
BATCH_RIDGE = 1.0e-6
# Experts whose mean squared error is more than so many times the least have no weight in the batch view: fitted to a
# sine, their small weights made the predicted standard deviation twice the true one.
MOST_BATCH_ERROR = 4.0
# Everything changed in a part of a fit if squared errors across it are more than so many times those one row ahead, and
# all others at most so many times. Of simulated streams (240 rows, noise 1) with a jump of 10 this finds 34 of 36, with
# one of 4 it finds 30 of 36, and it mistakes 2 of 144 that wander for them.
CHANGED_ERROR, NEAR_ERROR = 9.0, 2.0
# Median of the squares of standard normal numbers.
MEDIAN_SQUARE = 0.454936
# Labels that later rows see are kept in memory, and moved by one place with every row.
MAX_LAG = 10_000
# A message names at most so many of them.
MOST_SHOWN = 8
# Seasonal lags: at most so many seasons; a season is seen at least so often in the warm-up rows; so many peaks of each
# autocorrelation are looked at, which stand out by so many standard errors of an uncorrelated series.
MOST_SEASONS, SEASON_REPEATS, SEASON_PEAKS, SEASON_SIGNIFICANCE = 2, 3, 6, 3.0
# The log evidence must gain this much by a season, far above what the best of a few useless ones gains by chance; and a
# shorter season is preferred that gains this share of what the best one does.
SEASON_GAIN, SEASON_SHARE = 10.0, 0.8
# Standard deviations of a prediction beyond which a label is a glitch; and rows learned at a time after one, and at
# most.
GLITCH, SPAN_AFTER_GLITCH, LONGEST_SPAN = 8.0, 64, 512
# The first label of a kind that is far out is learned at once where changes exceed glitches by so many. A glitch counts
# as two changes, because one that is learned costs more than the single row by which a change is followed late; the
# balance is bounded, so that a stream that begins to have the other kind is noticed after a few of them.
CHANGES_PREVAIL, GLITCH_COST, LARGEST_BALANCE = 2.0, 2.0, 4.0
# A label that is off by more than so many times the largest change is not learned at once even there. Of that size each
# further change keeps a share, so that one that was none (two glitches in succession) is forgotten.
CHANGE_GROWTH, CHANGE_DECAY = 4.0, 0.9
# A label that was left out began a change if the next one is off by this share of its error or more; one that was
# learned at once was a glitch if the next one is off by as much the other way. The error was more than eight standard
# deviations: chance is off by less.
LEAST_SHARE = 0.25
# How far the spread of a mixture moves towards what a label asks for: at most this many times the present spread. It
# stays between the last number and its inverse.
SPREAD_STEP, MOST_ASKED, LARGEST_SPREAD = 1.0e-3, 25.0, 100.0
# Labels that are not Gaussian are worked on in blocks of at least this many rows.
LEAST_BLOCK = 8
# Rows per block of a history, in numbers of features: beyond this the cubic cost per block no longer shows.
BLOCK_FEATURES = 6
# Tasks are divided among threads as if they were so much shorter: rounding must not cut off a last row.
PLAN_SLACK = 1.0e-12

# --- noise ----------------------------------------------------------------------------------------

# Learned noise never falls below this (standardised units), however long a sensor repeats the same value.
NOISE_FLOOR = 1.0e-12
# Exact Bayes (forgetting 1) starts with the weight of this many rows on the warm-up's noise level.
START_ROWS = 10.0
# Before there are enough rows for evidence: all of the target is signal, with a tenth of noise.
DEFAULT_PRIOR_VAR = 1.0
DEFAULT_NOISE_VAR = 0.1

# --- weights --------------------------------------------------------------------------------------

# Stacking keeps every expert above this weight, divided by the number of experts. Without it an expert sinks without
# limit while it is not needed, and the longer a stream was still, the longer it takes to follow a change.
STACKING_FLOOR = 1.0e-12
# By how much the weights of a mixture may miss one: those that a user gives are rarely exact.
WEIGHT_SUM_SLACK = 1.0e-6
# The same for the rows of a matrix of switching probabilities, which are then made exact.
TRANSITION_SLACK = 1.0e-8

# --- evidence: hyperparameters from the warm-up rows ----------------------------------------------

# Evidence may not make prior_var more than this many times noise_var: the flattest kernels of a wide dictionary would
# otherwise diverge, and no double-precision form computes the log evidence there (docs/design.md has the table).
MAX_PRIOR_RATIO = 1.0e8
# A prior_var that is given may exceed that. Of an expert that drifts a covariance is kept, in units of the noise: above
# the inverse of the rounding error what the first row leaves of the prior is noise of rounding, and may be negative.
MAX_DRIFTING_RATIO = 1.0e14
MIN_PRIOR_RATIO = 1.0e-8
# With robust=True evidence gives no term more than this prior variance (standardised units). Nearly deterministic
# warm-up rows ask for up to 1e6, and a row unlike all of them is then extrapolated tens of standard deviations away:
# with this bound the nMSE of a saw-tooth with inputs coded as missing is 0.0011 in place of 0.0020, with 1e3 the same.
# Lower bounds cost smooth functions accuracy: 1e3 adds 17 % to the error of a sine, 100 and 20 add 8 and 17 % on
# Elevators.
MAX_PRIOR_VAR = 1.0e4
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
# The log of the ratio is looked for on a grid, because the evidence may have two peaks, then to this resolution.
EVIDENCE_GRID_POINTS = 65
EVIDENCE_RESOLUTION = 1.0e-4
# Steps of L-BFGS towards the prior variances of a sum of terms, from each start.
EVIDENCE_STEPS = 30
# From here on four terms of Stirling's series are exact to 1e-15.
STIRLING_FROM = 100.0

# --- Laplace's approximation and its evidence -----------------------------------------------------

# Newton's method on the mode of one row: the most steps; where it starts at the farthest, and half the widest bracket
# that is cut in the middle; and the share of the last step that a step must not exceed, else the bracket is cut.
MODE_MAX_STEPS = 200
FARTHEST_MODE = 1.0e6
SHRINKING_STEP = 0.9
# The likelihoods vary on a scale of one, and Newton squares the error: after a step this small it is rounding.
MODE_CONVERGED = 1.0e-8
# The same for the modes of classes, which are found together.
CLASS_MODE_CONVERGED = 1.0e-9
# An integral over z cannot tell variances beyond these from these.
LEAST_VAR, LARGEST_VAR = 1.0e-14, 1.0e8
# The trapezoidal rule squares its error when its step is halved: after a change this small it is below 1e-10.
INTEGRAL_SETTLED = 1.0e-6
INTEGRAL_HALVINGS = 8
# Terms below this share of the integrand's peak are left out; no more than so many are added (a guard).
NEGLIGIBLE_TERM = 1.0e-17
INTEGRAL_TERMS = 5000
# Draws of the Monte Carlo integral over classes.
N_DRAWS = 256
# The variance of a latent function (log odds, log rates) before there are enough rows for evidence; its search begins
# here.
START_LATENT_VAR = 4.0
# The log of a variance is not known better than this.
LATENT_VAR_RESOLUTION = 0.1
# Newton's method on the modes of the warm-up rows: the most steps, the change at which it stops, and the shortest step.
LAPLACE_MAX_STEPS = 100
LAPLACE_CONVERGED = 1.0e-9
LAPLACE_LINE_TOLERANCE = 1.0e-10
# The search around it: step of a numerical derivative, the most steps, the relative change at which it stops.
LAPLACE_DIFFERENCE = 1.0e-5
LAPLACE_MAX_SEARCH = 40
LAPLACE_SEARCH_TOLERANCE = 1.0e-7
# With many classes this many rows settle one variance well enough.
LAPLACE_CLASS_ROWS = 512
# A broad prior around the base rates, in units of the free numbers: what the warm-up rows do not show (an absent
# level, no events at all) is not impossible, it has only not been seen yet.
LINK_SPREAD = 1.5
# How far the average rate or the first cut-point may move from where it starts.
FARTHEST_LINK = 20.0
# Gaps between cut-points are in units of the latent function.
MIN_GAP, MAX_GAP = 1.0e-3, 1.0e3

# --- length scales --------------------------------------------------------------------------------

# Rows and steps of the search: the cost of a step is cubic in the rows, and the result changes little beyond.
LENGTH_SCALE_ROWS = 512
LENGTH_SCALE_STEPS = 30
# The prior of a log length scale is a Gaussian this wide; it may not go farther than this from the centre.
LENGTH_SCALE_SPREAD = 2.0
FARTHEST_LOG_LENGTH_SCALE = 9.0
# Multiple of sqrt(d) to begin from. A second start further out found nothing better on any stream that was tried.
START_LENGTH_SCALE = 0.3
# Bounds of the variance of the signal, in units of the standardised target.
MIN_SIGNAL_VAR, MAX_SIGNAL_VAR = 1.0e-4, 1.0e5
# What a numerically singular covariance counts as: the line search steps back.
HOPELESS_EVIDENCE = 1.0e25

# --- predictive mixtures --------------------------------------------------------------------------

# Above this many degrees of freedom the difference to a Gaussian is below rounding at any residual that matters.
GAUSSIAN_DOF = 1.0e18
# From here on the expansion of a Student-t around the Gaussian is accurate to 1e-15, and faster than the series.
MANY_DOF = 30.0
# The series of the centre serves squares up to this; no series needs more terms (a guard, not a tolerance).
CENTRE_SQUARE = 16.0
STUDENT_MAX_TERMS = 2000
# Up to this square of the argument the closed forms for whole degrees of freedom keep eleven digits of the lower tail.
CLOSED_FORM_SQUARE = 16.0
# An expert with less weight than this share of the smaller tail (1e-9 for intervals of 95 %) cannot be seen in its
# quantile; in a distribution function, one with less than this share of half the probability.
NEGLIGIBLE_TAIL_SHARE = 4.0e-8
# Quantiles: relative error of the probability at which the search stops, and the most evaluations it may take. Halving
# every other step, the bracket has shrunk by 2^300 by then: more than all of float64's useful range.
QUANTILE_TOLERANCE = 1.0e-13
QUANTILE_MAX_EVALUATIONS = 600
# This near, a step this short (in units of the narrowest component) leaves an error of its third power.
NEAR_QUANTILE = 0.01
SHORT_STEP = 1.0e-4
# CRPS by quadrature: relative tolerances of a panel and of the tail cut off, panels, halvings of one panel.
CRPS_PANEL_TOLERANCE = 1.0e-7
CRPS_TAIL_TOLERANCE = 1.0e-8
CRPS_MAX_PANELS = 320
CRPS_MAX_HALVINGS = 60
# Below this share of its two terms the closed form of the CRPS has lost half of its digits.
CRPS_CANCELLATION = 1.0e-8

# --- weights of rows ------------------------------------------------------------------------------

# A row cannot count as more: with far larger weights, from 1e50 to 1e100, information overflows.
LARGEST_WEIGHT = 1.0e15

# --- counts ---------------------------------------------------------------------------------------

# Beyond this the log probability of a count loses all digits.
LARGEST_COUNT = 1.0e15
# exp() of more than this overflows; half of it is the largest log of a mean whose square is still a float.
MAX_LOG_RATE = 700.0
# Overdispersion is the variance of a log rate.
START_DISPERSION = 0.1
MIN_DISPERSION, MAX_DISPERSION = 1.0e-4, 10.0
# Components that together weigh less than the error of the distribution function are not looked at.
NEGLIGIBLE_COUNT_WEIGHT = 1.0e-9
# Above this, noise of the Poisson draw is next to nothing and the count counts as log-normal: error of the distribution
# function below 2e-7 (where the variance is as small as 1/k, else far less).
HUGE_COUNT = 1.0e12
# Above this, noise of the Poisson draw is next to nothing and the count counts as log-normal: relative error of a
# probability below 1e-5.
HUGE_LABEL = 1.0e10
# A log probability is an integral over z that cannot tell means beyond this from this.
FARTHEST_LOG_MEAN = 1.0e5
# Sums of probabilities reach one up to this.
COUNT_SUM_ROUNDING = 1.0e-12
# Quantiles of counts: how exact the place to start from is, the narrowest bracket, and the most steps and evaluations.
COUNT_START_TOLERANCE = 1.0e-3
COUNT_BRACKET = 1.0e-15
COUNT_QUANTILE_SMOOTH_STEPS, COUNT_QUANTILE_MAX_EVALUATIONS = 200, 300

# --- editing models -------------------------------------------------------------------------------

# Rows are unlearned while at least this share of an expert's information stays in every direction. The relative error
# of what is left is rounding divided by it.
MIN_SHARE_LEFT = 1.0e-6
# By how much the information of an ancestor, or of the prior, may seem to exceed that of its descendant: rounding.
ANCESTOR_SLACK = 1.0e-6
# This share of the weight is spread evenly when a history goes live. A long history leaves one kernel with all of it,
# by thousands of nats that no later row could make up for; but the future may differ from the past.
EVEN_SHARE = 0.1
# A new level at either end leaves at least so much to the level that had all that lay beyond the last cut-point.
NARROWEST_LEVEL = 1.0
# Half the width of a level in between, at most. The noise of a label has a scale of one. Half of it is hardly learned
# (a level that was seen in 30 % of the rows from then on was found in 40 % of them, 77 % with this width), and twice as
# much takes more from the neighbours than rows that never were of this level allow.
NEW_LEVEL_HALF_WIDTH = 2.0

# --- intervals that keep their level ---------------------------------------------------------------

# Beyond this normal score (a tail probability of 3e-5) bounds are no longer quantiles, which may be anywhere in tails
# that no label was seen in: the distance from the median grows by this factor per unit of the score (as a logarithm).
FARTHEST_QUANTILE = 4.0
LOG_GROWTH = 0.5
# Scores are not followed beyond this: intervals 1e12 times as wide as the quantiles say.
FARTHEST_SCORE = 60.0
# Steps of the tracked quantile: 0.3 / sqrt(rows + 9), and never below the floor. At the floor the half-width
# of a 95 % interval moves by 0.06 standard deviations about its place, which costs 1 % of width.
SCORE_STEP, SCORE_STEP_ROWS, LEAST_SCORE_STEP = 0.3, 9.0, 0.02
# The share of itself by which the shift of an interval moves back. Without it both ends are missed equally often, which
# is wide where one tail is long.
SHIFT_RETURN = 0.3
# How much wider an interval is for every miss beyond what its level allows, if these are many, and at most. It is half
# as much if they are the usual ones: more where labels come late, because misses are then known late and come in runs.
DEBT_GAIN, USUAL_DEBT, DEBT_PER_DELAY, LARGEST_CORRECTION = 0.1, 10.0, 6.0, 2.0
# No more misses than this are remembered, and DEBT_PER_DELAY more for every row by which labels come late: an outage of
# the sensor is not paid back for weeks.
LARGEST_DEBT = 100.0
# Levels of intervals that can be kept.
LEAST_LEVEL, LARGEST_LEVEL = 0.1, 0.999

# --- changes of a stream ---------------------------------------------------------------------------

# Log likelihood ratio at which a change is called: at most one false alarm in 10,000 rows, by simulation
# (benchmarks/changes.py --calibrate prints it).
CHANGE_THRESHOLD = 10.0
# Scores are bounded, so that one label far off alone stays below the threshold.
FARTHEST_WATCHED = 3.5
# Rows by which the usual mean and variance of scores are known; rows after a warm-up and after a change in which none
# is noticed.
USUAL_ROWS, FIRST_WATCHED, ROWS_AFTER_CHANGE = 1000.0, 50.0, 100.0
# Sizes that are looked for: shifts of the score, ratios of variances, slopes on the standardised prediction with the
# variance around it: a large change of the relation is more than a slope.
LEVEL_SIZES = (-3.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0)
NOISE_SIZES = (0.25, 2.5, 6.0)
RELATION_SIZES = ((-1.5, 3.0), (-1.0, 1.0), (-0.5, 1.0), (0.5, 1.0), (1.0, 1.0), (1.5, 3.0))
# Nats by which a level or a relation must explain more than noise to be called so: after a few noisy rows one of their
# sizes fits well by chance.
CHANGE_MARGINS = (2.0, 0.0, 1.5)
# Innovations go with the one before by this share at most; predictions are watched up to this many standard deviations
# from their mean, and not at all where their squares would overflow.
LARGEST_SHARE = 0.9
FARTHEST_SLOPE_INPUT = 2.5
FARTHEST_PREDICTION = 1e100
# Calibrated rows that count as seen before the first one: a tenth of those that are remembered.
CALIBRATED_ROWS = 0.1 * USUAL_ROWS
# Of labels that come late: blocks of scores that are all alike and count as seen before the first one; blocks by which
# it is known how much scores are alike; rows of the shortest block.
FIRST_BLOCKS, USUAL_BLOCKS, SHORTEST_BLOCK = 4.0, 100.0, 4
# A label with a smaller score was predicted exactly; of usual labels these are fewer than one in ten thousand.
NEGLIGIBLE_SCORE = 1e-4
# The least variances of scores and of predictions: of a constant stream both are zero, and both are divided by.
LEAST_SCORE_VARIANCE, LEAST_SPREAD = 1e-4, 1e-12
# Calls of a few rows after which what follows the rows catches up: each time costs as much as learning a row of a small
# model.
MOST_UNFOLLOWED = 64
# Changes that a model lists.
MOST_CHANGES = 100

# --- latent variable model ------------------------------------------------------------------------

# Inverse and Theta Theta' are computed anew after this many rows; with forgetting more often, to give the prior back.
REFRESH, REFRESH_FORGETTING = 256, 64
# Neighbours are looked for in at most this many principal axes of the first rows.
SEARCH_AXES = 64
# Candidates among which the neighbours of a row with gaps are chosen.
GAP_CANDIDATES = 32
# A missing entry of the first rows becomes the mean of so many nearest rows that have it.
GAP_DONORS = 5
# Rows that are scaled and worked on at once.
MAP_PIECE_ROWS = 512
# So few rows are looked for one by one: sorting all that are stored would cost more.
FEW_STORED_ROWS = 16
# Rows enter the graph of neighbours in blocks of this many.
GRAPH_BLOCK = 64
# Measured on 12,000 rows of MNIST: the nearest row is found in 99 % of queries.
GRAPH_CONNECTIVITY, GRAPH_EXPANSION_ADD, GRAPH_EXPANSION_SEARCH = 16, 48, 32
# What the leading columns may leave out of the variance of the first rows. It is still counted, as noise.
LEFT_OUT_VARIANCE = 0.02
# Fewer columns than this are all kept: rows of few columns may have less noise than what would be left out.
ALWAYS_KEPT_COLUMNS = 64
# Noise assumed before the evidence is computed, in units of the scaled rows' variance.
FIRST_MAP_NOISE = 0.5
# A position has converged when its next step is shorter than this share of the length scale.
POSITION_CONVERGED = 1.0e-6
# Levenberg-Marquardt steps of a position: damping to begin with, after a step that failed, after one that helped.
DAMPING = 0.01
DAMPING_UP, DAMPING_DOWN = 8.0, 0.25
# The least pivot of the curvature, in units of its diagonal: rounding must not make it negative.
LEAST_PIVOT = 1.0e-12

# --- fleets on a GPU ------------------------------------------------------------------------------

# Rows of a key that are absorbed as one block; more of them are several blocks, one after the other.
FLEET_BLOCK_ROWS = 64
# Products leave covariances symmetric up to rounding; from time to time that is made exact.
BLOCKS_PER_SYMMETRISING = 16
# Below this, powers of the forgetting factor underflow within a block: the recursion is run row by row.
LEAST_CLOSED_FORGETTING = 1.0e-3
# Up to this many experts the switching step is summed in logs, so that nothing underflows.
FEW_SWITCHING_EXPERTS = 64
# A belief is worked on in tiles of some rows, small enough for several beliefs to be on their way at once.
TILE_ENTRIES = 4096
LANES = 256
# Larger problems than these are left to plain PyTorch: they would not fit the memory of a multiprocessor.
MOST_FUSED_FEATURES = 512
MOST_FUSED_EXPERTS = 1024
MOST_FUSED_ROWS = 64

# --- forecasts ------------------------------------------------------------------------------------

# Harmonics of a season among the inputs: a daily or yearly shape beyond them comes from the values a season ago.
SEASON_HARMONICS = 2
# How far one label outside its interval widens the intervals of that horizon. Labels of one series miss in runs as
# long as the horizon, so the step is small: 24 misses in a row widen by half.
INTERVAL_STEP = 0.02
# Factor by which intervals may become wider or narrower than those of the model.
MOST_WIDENING = 20.0
# Origins that the dependence between horizons is the mean of, once there are so many.
DEPENDENCE_ORIGINS = 1000
# Normal scores of labels are cut here: one label far out should not decide about the dependence.
LARGEST_NORMAL_SCORE = 4.0
# Labels and inputs beyond this are refused: squares of differences must be finite.
LARGEST_IN_SERIES = 1.0e100
