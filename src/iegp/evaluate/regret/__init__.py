"""Regret: how much larger the online loss of an ensemble is than the loss of the best choice in hindsight.

Everything here works on plain arrays: losses of a run, features or kernel matrices of the experts, labels. The bounds
are those that hold; ``printed_*`` are the paper's where they differ (docs/regret.md).
"""

from iegp.evaluate.regret.bounds import (
    best_switch_prob,
    kernel_error,
    learning_cost,
    lemma1,
    lemma2,
    lemma2_tuned,
    lemma3,
    printed_lemma1,
    printed_lemma2,
    printed_lemma3,
    printed_theorem2,
    theorem1,
    theorem1_probability,
    theorem2,
)
from iegp.evaluate.regret.comparators import (
    Comparator,
    Likelihood,
    best_expert,
    best_function,
    best_parameter,
    functions_on_own_rows,
    gaussian,
    largest_slope,
    logistic,
    random_feature_twin,
)
from iegp.evaluate.regret.definitions import (
    BestSequence,
    Curve,
    best_switching_sequence,
    n_switches,
    rkhs_curve,
    static_curve,
    static_regret,
    switching_regret,
)
from iegp.evaluate.regret.ledger import RegretLedger, component_losses

__all__ = [
    "BestSequence",
    "Comparator",
    "Curve",
    "Likelihood",
    "RegretLedger",
    "best_expert",
    "best_function",
    "best_parameter",
    "best_switch_prob",
    "best_switching_sequence",
    "component_losses",
    "functions_on_own_rows",
    "gaussian",
    "kernel_error",
    "largest_slope",
    "learning_cost",
    "lemma1",
    "lemma2",
    "lemma2_tuned",
    "lemma3",
    "logistic",
    "n_switches",
    "printed_lemma1",
    "printed_lemma2",
    "printed_lemma3",
    "printed_theorem2",
    "random_feature_twin",
    "rkhs_curve",
    "static_curve",
    "static_regret",
    "switching_regret",
    "theorem1",
    "theorem1_probability",
    "theorem2",
]
