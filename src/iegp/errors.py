"""Exceptions of the package, in one hierarchy.

::

    IegpError
    ├── InputError (ValueError)      a value given by the caller cannot be used; the model is unchanged
    ├── ModelFileError (ValueError)  a model file is damaged, too new, or not one of ours
    │   ├── ModelTooLargeError       a model file asks for more memory than files may
    │   └── UnregisteredLikelihoodError  a model file needs a likelihood that is not registered
    ├── DatasetError (LookupError)   a data set cannot be found or does not match its checksum
    ├── ConcurrentWriteError (RuntimeError)  two threads would change one model; the second is refused
    ├── MissingPackageError (ImportError)  an optional package is not installed
    ├── ShardError (RuntimeError)    a shard of a fleet on a cluster has failed; accepted rows are in its journal
    └── WorkerError (RuntimeError)   a process with experts of an ensemble has ended, and its unsaved state is lost

Every message names the value, says why it is wrong and what to try.
"""

from __future__ import annotations


class IegpError(Exception):
    """Base class of every error that this package raises deliberately."""


class InputError(IegpError, ValueError):
    """Raised when a value given by the caller cannot be used. The model is as it was before the call."""


class ModelFileError(IegpError, ValueError):
    """Raised when a model file is damaged, of an unknown format, or not a model file at all."""


class ModelTooLargeError(ModelFileError):
    """A model that has not begun would take more memory than a file may ask for; the message says how to allow it."""


class UnregisteredLikelihoodError(ModelFileError):
    """A model file needs a user's likelihood that is not registered in this process; the message names it."""


class DatasetError(IegpError, LookupError):
    """Raised when a data set is unknown, absent, or does not match its checksum."""


class ConcurrentWriteError(IegpError, RuntimeError):
    """Raised when a thread would change a model that another is changing or saving. The call has changed nothing."""


class MissingPackageError(IegpError, ImportError):
    """Raised when an optional package is not installed; the message names the extra that installs it."""


class ShardError(IegpError, RuntimeError):
    """Raised when a shard of a fleet on a cluster fails and restarting it does not help. No accepted row is lost."""


class WorkerError(IegpError, RuntimeError):
    """Raised when a worker process of an ensemble has ended. What its experts learned since the last save is lost."""
