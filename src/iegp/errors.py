"""What can go wrong, as a small tree.

::

    IegpError
    ├── InputError (ValueError)      a value given by the caller cannot be used; the model is unchanged
    ├── ModelFileError (ValueError)  a model file is damaged, too new, or not one of ours
    │   └── UnregisteredLikelihoodError  a model file needs a likelihood that is not registered
    ├── DatasetError (LookupError)   a data set cannot be found or does not match its checksum
    ├── MissingPackageError (ImportError)  an optional package is not installed
    ├── ShardError (RuntimeError)    a shard of a fleet on a cluster has failed; what was accepted is in its journal
    └── WorkerError (RuntimeError)   a process with experts of an ensemble has ended, and what they had learned with it

Every message names the value, says why it is wrong and what to try.
"""

from __future__ import annotations


class IegpError(Exception):
    """Base class of every error this package raises on purpose."""


class InputError(IegpError, ValueError):
    """A value given by the caller cannot be used. The model is as it was before the call."""


class ModelFileError(IegpError, ValueError):
    """A model file is damaged, of an unknown format, or not a model file at all."""


class UnregisteredLikelihoodError(ModelFileError):
    """A model file needs a user's likelihood that is not registered in this process; the message names it."""


class DatasetError(IegpError, LookupError):
    """A data set is unknown, absent, or does not match its checksum."""


class MissingPackageError(IegpError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""


class ShardError(IegpError, RuntimeError):
    """A shard of a fleet on a cluster has failed in a way that restarting it does not cure. No accepted row is lost."""


class WorkerError(IegpError, RuntimeError):
    """A worker process of an ensemble has ended, and with it all that its experts had learned since the last save."""
