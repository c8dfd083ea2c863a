"""One large ensemble over several processes of this machine, or on one GPU: experts are divided, weights stay together.

Change this package to change how experts are spread and how rows reach them. What they compute is in :mod:`iegp.core`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iegp._imports import lazy_names

if TYPE_CHECKING:
    from iegp.parallel.process_ensemble import ProcessEnsemble
    from iegp.parallel.torch_ensemble import TorchEnsemble

__all__ = ["ProcessEnsemble", "TorchEnsemble"]

__getattr__ = lazy_names(
    __name__,
    {"ProcessEnsemble": "iegp.parallel.process_ensemble", "TorchEnsemble": "iegp.parallel.torch_ensemble"},
)
