"""The paper as plain functions on small state tuples: NumPy in, NumPy out.

No files and no frameworks: arrays are C-contiguous float64 of known shape, checked by the caller. Change this package
to change what is computed; change the packages above it to change how it is used.
"""
