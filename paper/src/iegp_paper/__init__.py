"""Reproduction of the paper's tables and figures: the runs they need, their results, and a verdict on each claim.

One experiment is one TOML file in ``experiments/``: its data sets, methods, and the paper's claims with the rule that
judges them. ``plan`` turns experiments into tasks, ``pool`` runs them in processes, ``cache`` stores the results,
``rules`` gives verdicts, and ``pages`` writes the report. A new table or figure is usually one more TOML file.
"""
