"""Changes of a stream, row by row with lists: the sums of docs/changes.md, sharing no code."""

from __future__ import annotations

import math

import numpy as np

FAR, THRESHOLD, USUAL, FIRST, AFTER = 3.5, 10.0, 1000.0, 50, 100
LEVELS = (-3.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0)
NOISES = (0.25, 2.5, 6.0)
SLOPES = ((-1.5, 3.0), (-1.0, 1.0), (-0.5, 1.0), (0.5, 1.0), (1.0, 1.0), (1.5, 3.0))
MARGINS = {"level": 2.0, "noise": 0.0, "relation": 1.5}
# Kind of change, mean of the score (a multiple of the prediction for relations), variance.
ALTERNATIVES = [
    *(("level", size, 1.0) for size in LEVELS),
    *(("noise", 0.0, ratio) for ratio in NOISES),
    *(("relation", slope, ratio) for slope, ratio in SLOPES),
]


def log_density(z, mean, variance):
    """Of a normal distribution."""
    return -0.5 * ((z - mean) ** 2 / variance + math.log(2.0 * math.pi * variance))


def changes(scores, predictions, delay):
    """Row at which each change is noticed, its kind and its strength."""
    mean, variance, covariance, last, centre, spread, n = 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0
    hold, found, sums = FIRST, [], dict.fromkeys(ALTERNATIVES, 0.0)
    size_of_block = max(delay + 1, 4) if delay else 1
    block, mean_before, squares, n_blocks = [], 0.0, 0.0, 0
    for row in range(delay, len(scores)):
        score, prediction = scores[row - delay], predictions[row - delay]
        share = np.clip(covariance / variance, -0.9, 0.9) if delay == 0 else 0.0
        z = ((score - mean) - share * (last - mean)) / np.sqrt(variance * (1.0 - share**2))
        z, u = np.clip(z, -FAR, FAR), np.clip((prediction - centre) / np.sqrt(spread), -2.5, 2.5)
        if hold:
            hold -= 1
            # The rows before, in which the ensemble adapted to a change, count no more.
            n = -100 / size_of_block if hold == 50 else n
        else:
            # Rows that are as good as one: four blocks of rows that are all alike come before the first.
            alike = max((4 * size_of_block + n_blocks * squares) / (4 + n_blocks), 1.0) if delay else 1.0
            for kind, size, ratio in sums:
                if kind == "noise" and ratio < 1.0 and abs(score) < 1e-4:
                    continue  # predicted exactly
                expected = size * u if kind == "relation" else size
                gain = log_density(z, expected, ratio) - log_density(z, 0.0, 1.0)
                sums[kind, size, ratio] = max(0.0, sums[kind, size, ratio] + gain / alike)
        is_adapting, is_last = hold > 50, (row - delay + 1) % size_of_block == 0
        if not (delay and is_adapting):
            block.append(z)
        if delay == 0 or (is_last and not is_adapting):
            n += 1
            rate = 1.0 / min(n + 0.1 * USUAL, USUAL)
            gap, before, away = score - mean, last - mean, prediction - centre
            mean, variance = mean + rate * gap, variance + rate * (gap**2 - variance)
            covariance, last = covariance + rate * (gap * before - covariance), score
            centre, spread = centre + rate * away, spread + rate * (away**2 - spread)
            n_blocks = min(n_blocks + 1, 100)
            # Squared sums over rows, and products of sums with the block before, both ways.
            long_run = sum(block) ** 2 / len(block) + 2.0 * sum(block) * mean_before
            squares += (long_run - squares) / n_blocks
            mean_before, block = np.mean(block), []
        strength = max(sums.values())
        if strength > THRESHOLD:
            found.append((row, max(sums, key=lambda own: sums[own] - MARGINS[own[0]])[0], strength))
            sums, hold, n = dict.fromkeys(ALTERNATIVES, 0.0), AFTER + delay, 0
    return found
