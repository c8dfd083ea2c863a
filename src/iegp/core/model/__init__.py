"""An ensemble that starts from nothing: warm-up, scaling and experts around the rows it is given, in the user's units.

:class:`Online` is the model. :mod:`~iegp.core.model.warmup` fits it to the first rows, and rows pass through
:mod:`~iegp.core.model.learning` and :mod:`~iegp.core.model.predicting`; labels that come out of order through
:mod:`~iegp.core.model.late_labels`.
"""

from iegp.core.model.late_labels import ask, learn_asked, note_asked, pass_rows
from iegp.core.model.learning import absorb, fit, learn, view_batch
from iegp.core.model.online import (
    Online,
    begin,
    bringing_lags,
    check_label_range,
    followed,
    label_columns,
    latest_state,
    rows_before_a_label,
    usual_labels,
    without_brought_lags,
)
from iegp.core.model.predicting import (
    covariance,
    draw,
    function_std,
    interval,
    predict,
    predict_classes,
    predict_counts,
    rows_to_predict,
    to_user_mixture,
)
from iegp.core.model.warmup import rows_to_refit, warm_up, warmed_up

__all__ = [
    "Online",
    "absorb",
    "ask",
    "begin",
    "bringing_lags",
    "check_label_range",
    "covariance",
    "draw",
    "fit",
    "followed",
    "function_std",
    "interval",
    "label_columns",
    "latest_state",
    "learn",
    "learn_asked",
    "note_asked",
    "pass_rows",
    "predict",
    "predict_classes",
    "predict_counts",
    "rows_before_a_label",
    "rows_to_predict",
    "rows_to_refit",
    "to_user_mixture",
    "usual_labels",
    "view_batch",
    "warm_up",
    "warmed_up",
    "without_brought_lags",
]
