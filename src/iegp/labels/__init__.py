"""Labels of every kind, to the columns of numbers that the core learns, and back: one codec for all hosts.

scikit-learn, River and the stream command turn what they are given into a sequence of labels; a codec checks it, and
encodes all of it or nothing. A codec is never changed: a class that appears later makes another one, and another model
(:func:`grow`).
"""

from __future__ import annotations

from iegp.labels.classes import ClassLabels, Labels, grow, sorted_labels
from iegp.labels.numbers import CountLabels, NumberLabels, as_exposure, weighted
from iegp.labels.values import NUMBER_KINDS, as_float, as_labels, first_not_finite, is_missing

Codec = NumberLabels | CountLabels | ClassLabels

__all__ = [
    "NUMBER_KINDS",
    "ClassLabels",
    "Codec",
    "CountLabels",
    "Labels",
    "NumberLabels",
    "as_exposure",
    "as_float",
    "as_labels",
    "first_not_finite",
    "grow",
    "is_missing",
    "sorted_labels",
    "weighted",
]
