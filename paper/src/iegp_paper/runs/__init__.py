"""Kinds of runs, one file each: load the data, run the method, return scores and lines to draw.

Times are processor seconds of the whole run, hyperparameters included: runs use one core each, and a busy machine does
not change them. Each method is run on a few rows before its clock starts, so that compilation is not timed.
"""
