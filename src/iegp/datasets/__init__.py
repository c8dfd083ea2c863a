"""Sources of data: simulated streams, sets that installed packages contain, the paper's data sets by name.

Every source returns a :class:`Stream`: rows in order of arrival, as float64 arrays with names. A new data set of the
paper is one more entry in ``catalogue.toml``.
"""

from iegp.datasets.bikes import bike_rentals
from iegp.datasets.embedded import list_embedded, load_embedded
from iegp.datasets.published import dataset_path, describe_dataset, list_datasets, load_arrays, load_dataset
from iegp.datasets.robot import robot_arm
from iegp.datasets.stream import Stream
from iegp.datasets.synthetic import drifting, friedman, switching_gp

__all__ = [
    "Stream",
    "bike_rentals",
    "dataset_path",
    "describe_dataset",
    "drifting",
    "friedman",
    "list_datasets",
    "list_embedded",
    "load_arrays",
    "load_dataset",
    "load_embedded",
    "robot_arm",
    "switching_gp",
]
