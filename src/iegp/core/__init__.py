"""The paper as plain functions on small state tuples: NumPy in, NumPy out.

No files, no frameworks, no guessing: arrays are C-contiguous float64 of known shape, and whoever calls has checked
them. Touch this room to change what is computed; touch the rooms above to change how people reach it.
"""
