"""All data sets known by name. A new set is an entry in one of the two tables and, if its format is new, a parser."""

from __future__ import annotations

from iegp.datasets.catalogue_classification import CLASSIFICATION
from iegp.datasets.catalogue_regression import REGRESSION

CATALOGUE = {dataset.name: dataset for dataset in (*REGRESSION, *CLASSIFICATION)}
