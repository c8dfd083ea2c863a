"""Slow, obvious transcriptions of the paper's equations. They share no code with the library."""
