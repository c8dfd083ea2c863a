"""Names for the array types that travel through the package."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Int = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]
