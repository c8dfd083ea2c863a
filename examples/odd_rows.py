"""Detect unusual rows of a stream by their log density under a map that keeps learning: the figures of docs/latent.md.

python examples/odd_rows.py
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from iegp import IEGPLVM


def main() -> None:
    rows, _ = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rows[rng.permutation(len(rows))]
    odd = np.zeros(len(rows), dtype=bool)
    odd[rng.choice(np.arange(300, len(rows)), 60, replace=False)] = True
    # Odd digits have their pixels shuffled: every pixel is as usual, together they are not.
    rows[odd] = rng.permuted(rows[odd], axis=1)
    model = IEGPLVM(warmup=200, random_state=0).partial_fit(rows[:200])
    alarm = np.quantile(model.score_samples(rows[200:300]), 0.01)
    scores = []
    for start in range(200, len(rows), 100):
        block = rows[start : start + 100]
        scores.append(model.score_samples(block))  # before it is learned
        model.partial_fit(block[scores[-1] >= alarm])  # odd rows are not taught
    score, is_odd = np.concatenate(scores), odd[200:]
    print(f"area under the ROC curve: {roc_auc_score(is_odd, -score):.3f}")
    print(f"below the 1 % quantile of the first 100 scores: {np.mean(score[is_odd] < alarm):.0%} of the odd rows,")
    print(f"{np.mean(score[~is_odd] < alarm):.1%} of the others")


if __name__ == "__main__":
    main()
