"""Loading saved estimators."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from iegp._docstrings import fill_docstrings
from iegp.errors import IegpError, ModelFileError, ModelTooLargeError, UnregisteredLikelihoodError
from iegp.estimators import parameters
from iegp.estimators.classifier import IEGPClassifier
from iegp.estimators.count_regressor import IEGPCountRegressor
from iegp.estimators.latent import IEGPLVM
from iegp.estimators.ordinal import IEGPOrdinalClassifier
from iegp.estimators.regressor import IEGPRegressor
from iegp.estimators.shared_docs import METHODS
from iegp.storage import model_file

Estimator = IEGPRegressor | IEGPClassifier | IEGPCountRegressor | IEGPOrdinalClassifier | IEGPLVM
ESTIMATORS: dict[str, type[Estimator]] = {
    kind.__name__: kind for kind in (IEGPRegressor, IEGPClassifier, IEGPCountRegressor, IEGPOrdinalClassifier, IEGPLVM)
}


@fill_docstrings(METHODS)
def load(path: str | os.PathLike[str]) -> Estimator:
    """Load a model saved with ``model.save(path)``. Nothing in the file is executed.

    The model continues exactly where it was: the same predictions, bit by bit.

    {parameters: path_to_read}

    Returns
    -------
    estimator
        Of the class that was saved, such as IEGPRegressor.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from iegp import IEGPRegressor, load
    >>> model = IEGPRegressor(random_state=0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "line.model")
    ...     restored = load(Path(folder) / "line.model")
    >>> bool((restored.predict([[1.5]]) == model.predict([[1.5]])).all())
    True
    """
    header, arrays = model_file.read(path)
    if header.get("estimator") == "stream":
        raise ModelFileError(
            f"{os.fspath(path)} is a run of `iegp stream`, which knows more than an estimator (names, categories); "
            "use `iegp predict`, or continue with `iegp stream --resume`"
        )
    if header.get("estimator") == "Fleet":
        raise ModelFileError(f"{os.fspath(path)} holds a fleet, not a single model; use iegp.Fleet.load")
    if header.get("estimator") == "IEGPForecaster":
        raise ModelFileError(f"{os.fspath(path)} holds a forecaster; use iegp.IEGPForecaster.load")
    with naming_file(path):
        kind = ESTIMATORS[header["estimator"]]
        model = kind(**parameters.from_config(header["parameters"]))
        model.restore(header, arrays)
    return model


@contextmanager
def naming_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors while a model is restored name its file."""
    try:
        yield
    except (ModelTooLargeError, UnregisteredLikelihoodError) as error:
        raise type(error)(f"{os.fspath(path)} cannot be loaded: {error}") from error
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, IegpError) as error:
        raise ModelFileError(
            f"{os.fspath(path)} is damaged or from another program ({error!r}); try an older copy"
        ) from error
