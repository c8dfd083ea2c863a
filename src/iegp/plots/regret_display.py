"""Figure of regret and its bound."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from iegp._docstrings import fill_docstrings
from iegp.errors import InputError
from iegp.evaluate.regret import RegretLedger
from iegp.plots.display import DOCS, Display, Panels

LEMMA_2 = "bound of Lemma 2 (Bayes or switching weights)"
REGRET_COLOUR, BOUND_COLOUR = "#12436d", "#f46a25"


@fill_docstrings(DOCS)
class RegretDisplay(Display):
    """Regret after every row, or after some, with its bound.

    Parameters
    ----------
    n_rows, regret, bound : array-like (n,)
        Numbers of rows, regret after them, and the bound there (NaN where there is none).
    bound_label : str, default="bound"
        What the legend calls the bound.

    Examples
    --------
    >>> display = RegretDisplay([1, 2, 3], [0.1, 0.2, 0.2], [0.7, 0.7, 0.7]).plot()
    >>> display.ax_.get_ylabel()
    'regret (nats)'
    """

    def __init__(self, n_rows: ArrayLike, regret: ArrayLike, bound: ArrayLike, *, bound_label: str = "bound") -> None:
        self.bound_label = bound_label
        self.n_rows, self.regret, self.bound = (np.asarray(v, dtype=np.float64) for v in (n_rows, regret, bound))
        if not self.n_rows.shape == self.regret.shape == self.bound.shape or self.n_rows.ndim != 1:
            raise InputError(
                f"n_rows, regret and bound have shapes {self.n_rows.shape}, {self.regret.shape}, {self.bound.shape}; "
                "give one entry of each per point"
            )

    @classmethod
    def from_ledger(cls, ledger: RegretLedger, *, max_switches: int = 0) -> Self:
        """Regret to the best sequence with at most ``max_switches`` switches, under Lemma 2.

        Parameters
        ----------
        ledger : RegretLedger
            Losses of a run and of its experts.
        max_switches : int, default=0
            How often the sequence compared with may change its expert.

        Returns
        -------
        RegretDisplay
            Call ``plot`` to draw it.
        """
        rows, regret = np.arange(1, len(ledger) + 1), ledger.to_best_sequence(max_switches)
        return cls(rows, regret, ledger.bound(max_switches), bound_label=LEMMA_2)

    def plot(self, ax: Panels = None, *, title: str = "") -> Self:
        """Draw regret and bound.

        {parameters: one_ax}

        {returns_display}
        """
        self._take(ax, (1,), (7, 4))
        self.ax_.plot(self.n_rows, self.regret, color=REGRET_COLOUR, label="regret")
        if np.isfinite(self.bound).any():
            self.ax_.plot(self.n_rows, self.bound, color=BOUND_COLOUR, linestyle="--", label=self.bound_label)
        self.ax_.axhline(0.0, color="#888888", linewidth=0.6)
        self.ax_.set_xlabel("rows")
        self.ax_.set_ylabel("regret (nats)")
        self.ax_.set_title(title, loc="left", fontsize=11)
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(frameon=False)
        return self
