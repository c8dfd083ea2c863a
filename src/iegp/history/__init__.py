"""Learn a long history before following a stream: workers learn parts of it, which are then merged exactly."""

from iegp.history.fit import fit_history

__all__ = ["fit_history"]
