"""Learning years of history before going live: parts learned apart by many workers, then merged exactly."""

from iegp.history.fit import fit_history

__all__ = ["fit_history"]
