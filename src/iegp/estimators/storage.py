"""Saving an estimator and loading it back, to the bit."""

from __future__ import annotations

import os

from iegp.errors import InputError, ModelFileError
from iegp.estimators import parameters
from iegp.estimators.regressor import IEGPRegressor
from iegp.run import modelfile, snapshot

ESTIMATORS = {"IEGPRegressor": IEGPRegressor}


def load(path: str | os.PathLike[str]) -> IEGPRegressor:
    """Load a model saved with ``model.save(path)``. Nothing in the file is executed.

    The model continues exactly where it was: the same predictions, to the bit.
    """
    header, arrays = modelfile.read(path)
    kind = ESTIMATORS.get(header.get("estimator", ""))
    if kind is None:
        raise ModelFileError(f"{os.fspath(path)} holds a {header.get('estimator')!r}, which this version does not know")
    try:
        model = kind(**parameters.from_config(header["parameters"]))
    except (KeyError, TypeError, AttributeError, InputError) as error:
        raise ModelFileError(f"{os.fspath(path)} is damaged: {error!r}; try an older copy") from error
    if header.get("online") is not None:
        model._restore(snapshot.restore(header["online"], arrays), header)
    return model
