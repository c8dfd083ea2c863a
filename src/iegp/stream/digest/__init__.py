"""A run in constant memory: everything a report shows, however long the stream.

Rows are counted, scored beside naive forecasts and thinned as they pass. How they were cut into calls does not matter,
to the bit: points are kept by their row number, and sums are taken over blocks that begin at fixed counts of labels.
"""

from iegp.stream.digest.digest import Digest
from iegp.stream.digest.key_scores import KeyScore, KeyScores
from iegp.stream.digest.results import Results, Score, Surprise

__all__ = ["Digest", "KeyScore", "KeyScores", "Results", "Score", "Surprise"]
