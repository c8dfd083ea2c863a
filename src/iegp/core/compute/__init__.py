"""Numerical building blocks: linear algebra, element-wise functions, threads and tolerances."""
