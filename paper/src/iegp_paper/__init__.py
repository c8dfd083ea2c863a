"""The paper's tables and figures, made again: which runs they need, what came out, and what that says of each claim.

One experiment is one TOML file in ``experiments/``: its data sets, methods, and the paper's claims with the rule that
judges them. ``plan`` turns experiments into tasks, ``pool`` runs them in processes, ``cache`` keeps what each one
measured, ``rules`` gives verdicts, and ``pages`` writes it all down. Touch this room to add a table or a figure: most
of the time that is one more TOML file.
"""
