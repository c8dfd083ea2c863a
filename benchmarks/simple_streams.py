"""The default on simulated streams that simple methods predict well: is any of them better?

    python benchmarks/simple_streams.py [--rows 3000] [--seed 0] [--streams "level shifts,..."]

Each stream has one property that streams of users have: a level that jumps, spikes, a season, zeros, whole numbers,
tiny units. Protocol and methods are those of ``peers.py``; the running mean is that of all labels before. A quarter of
a short stream is its warm-up. Streams with jumps are those on which the rule for labels that are far off
(docs/design.md, "Glitches") was chosen.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from accuracy import n_warmup, score_on
from peers import last_label, lightgbm_with_lags

from iegp.datasets import Stream
from iegp.evaluate.metrics import nmse
from iegp.typing import Float

Rng = np.random.Generator
Made = tuple[Float, Float]


def _columns(rng: Rng, n: int, d: int = 3) -> Float:
    return rng.normal(size=(n, d))


def _autoregression(rng: Rng, n: int, coefficients: tuple[float, ...]) -> Float:
    y = np.zeros(n)
    for t in range(len(coefficients), n):
        y[t] = sum(c * y[t - 1 - k] for k, c in enumerate(coefficients)) + rng.normal()
    return y


def random_walk(rng: Rng, n: int) -> Made:
    return _columns(rng, n), np.cumsum(rng.normal(size=n))


def noisy_walk(rng: Rng, n: int) -> Made:
    return _columns(rng, n), np.cumsum(rng.normal(size=n)) + 2.0 * rng.normal(size=n)


def autoregression(rng: Rng, n: int) -> Made:
    return _columns(rng, n), _autoregression(rng, n, (1.6, -0.8))


def season_and_trend(rng: Rng, n: int) -> Made:
    t = np.arange(n)
    y = 0.01 * t + 5.0 * np.sin(2.0 * np.pi * t / 24) + 2.0 * np.sin(2.0 * np.pi * t / 168) + rng.normal(size=n)
    return np.column_stack([t % 24, t // 24 % 7, rng.normal(size=n)]), y


def level_shifts(rng: Rng, n: int) -> Made:
    return _columns(rng, n), np.repeat(10.0 * rng.normal(size=n // 50 + 1), 50)[:n] + 0.3 * rng.normal(size=n)


def rare_shifts(rng: Rng, n: int) -> Made:
    starts = np.cumsum(rng.random(n) < 0.005)
    level = (10.0 * rng.normal(size=starts[-1] + 1))[starts]
    return _columns(rng, n), level + 0.5 * np.sin(np.arange(n) / 15.0) + 0.2 * rng.normal(size=n)


def shifted_function(rng: Rng, n: int) -> Made:
    x = _columns(rng, n, 4)
    level = np.repeat(5.0 * rng.normal(size=n // 80 + 1), 80)[:n]
    return x, level + np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.1 * rng.normal(size=n)


def counter_with_resets(rng: Rng, n: int) -> Made:
    steps, y, total = rng.gamma(2.0, 1.0, size=n), np.zeros(n), 0.0
    for t in range(n):
        total = 0.0 if rng.random() < 0.01 else total + steps[t]
        y[t] = total
    return _columns(rng, n), y


def on_and_off(rng: Rng, n: int) -> Made:
    is_on = np.cumsum(rng.random(n) < 0.03) % 2
    return _columns(rng, n), 5.0 * is_on + 0.05 * rng.normal(size=n)


def bursts(rng: Rng, n: int) -> Made:
    y, t = 0.5 * np.sin(np.arange(n) / 30.0) + 0.1 * rng.normal(size=n), 0
    while t < n:
        start = t + int(rng.integers(30, 90))
        t = start + int(rng.integers(2, 6))
        y[start:t] += rng.choice([3.0, 6.0, 9.0])
    return _columns(rng, n), y


def few_values(rng: Rng, n: int) -> Made:
    return _columns(rng, n), np.repeat(rng.integers(0, 6, size=n // 40 + 1), 40)[:n].astype(np.float64)


def spikes(rng: Rng, n: int) -> Made:
    x = _columns(rng, n, 4)
    is_spike = rng.random(n) < 0.02
    return x, np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.1 * rng.normal(size=n) + is_spike * 20.0 * rng.normal(size=n)


def spikes_on_a_walk(rng: Rng, n: int) -> Made:
    return _columns(rng, n), _autoregression(rng, n, (0.95,)) + 40.0 * (rng.random(n) < 0.01)


def noise_alone(rng: Rng, n: int) -> Made:
    return _columns(rng, n, 5), rng.normal(size=n)


def many_zeros(rng: Rng, n: int) -> Made:
    x = _columns(rng, n)
    size = np.exp(1.0 + 0.5 * x[:, 0] + 0.3 * rng.normal(size=n))
    return x, np.where(rng.random(n) < 0.15, size, 0.0)


def whole_numbers(rng: Rng, n: int) -> Made:
    x = _columns(rng, n)
    rate = np.exp(0.5 + 0.5 * x[:, 0] + 0.5 * np.sin(np.arange(n) / 50.0))
    return x, rng.poisson(rate).astype(np.float64)


def tiny_units(rng: Rng, n: int) -> Made:
    x = _columns(rng, n, 4)
    return 1e-9 * x, 1e-12 * (np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.2 * rng.normal(size=n))


def irrelevant_columns(rng: Rng, n: int) -> Made:
    x = _columns(rng, n, 40)
    return x, np.sin(2.0 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.2 * rng.normal(size=n)


def recurring_regimes(rng: Rng, n: int) -> Made:
    x, regimes = _columns(rng, n, 4), np.array([[1.0, -2.0, 0.5, 0.0], [-1.0, 1.0, 2.0, 1.0]])
    return x, (x * regimes[np.arange(n) // 250 % 2]).sum(axis=1) + 0.2 * rng.normal(size=n)


def steps_of_columns(rng: Rng, n: int) -> Made:
    x = rng.uniform(size=(n, 5))
    return x, 2.0 * np.floor(4.0 * x[:, 0]) + 3.0 * (x[:, 1] > 0.5) * (x[:, 2] > 0.3) + 0.2 * rng.normal(size=n)


def saw_tooth_with_gaps(rng: Rng, n: int) -> Made:
    t = np.arange(n)
    phase = t % 37 / 37.0
    x = np.column_stack([phase, np.roll(phase, 5), t % 7.0])
    x[rng.random(x.shape) < 0.1] = -999.0
    return x, 10.0 * phase + 1e-3 * rng.normal(size=n)


def short(rng: Rng, n: int) -> Made:
    n = min(n, 250)
    return _columns(rng, n, 1), np.cumsum(rng.normal(size=n))


MAKERS: tuple[Callable[[Rng, int], Made], ...] = (
    *(random_walk, noisy_walk, autoregression, season_and_trend, level_shifts, rare_shifts, shifted_function),
    *(counter_with_resets, on_and_off, bursts, few_values, spikes, spikes_on_a_walk, noise_alone, many_zeros),
    *(whole_numbers, tiny_units, irrelevant_columns, recurring_regimes, steps_of_columns, saw_tooth_with_gaps, short),
)
STREAMS = {maker.__name__.replace("_", " "): maker for maker in MAKERS}


def made(name: str, n_rows: int, seed: int) -> Stream:
    X, y = STREAMS[name](np.random.default_rng([seed, len(name)]), n_rows)
    return Stream(name, X, y, tuple(f"x{i}" for i in range(X.shape[1])), "y", "simulated")


def running_mean(stream: Stream) -> float:
    before = np.cumsum(stream.y)[:-1] / np.arange(1, len(stream.y))
    first = n_warmup(stream)
    return nmse(stream.y[first:], before[first - 1 :])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--streams", default=",".join(STREAMS))
    arguments = parser.parse_args()
    print("| nMSE | default | its NLL | cover | last label | running mean | LightGBM + lags |\n|---|" + "---:|" * 6)
    for name in arguments.streams.split(","):
        stream = made(name, arguments.rows, arguments.seed)
        ours = score_on(stream, "default", 0)
        others = last_label(stream).nmse, running_mean(stream), lightgbm_with_lags(stream).nmse
        shown = " | ".join(f"{error:.4g}" for error in others)
        print(f"| {name} | {ours.nmse:.4g} | {ours.nll:.3f} | {ours.coverage:.1%} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
