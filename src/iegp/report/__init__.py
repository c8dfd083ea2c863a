"""The report of a run as one HTML file: no network, no web fonts, readable without JavaScript.

``iegp stream --report`` writes it. Panels turn the results of a :class:`~iegp.stream.digest.Digest` into static SVG; a
small script adds tooltips and zoom.
"""

from iegp.report.about import About, ExpertRow
from iegp.report.page import render_report, write_report

__all__ = ["About", "ExpertRow", "render_report", "write_report"]
