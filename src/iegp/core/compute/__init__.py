"""Linear algebra, element-wise functions, threads and every tolerance: what the method is computed with."""
