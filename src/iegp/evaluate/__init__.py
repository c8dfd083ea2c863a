"""How good were the predictions? Scores of a finished run, computed from plain arrays."""
