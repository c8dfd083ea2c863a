"""The only place where time passes: what a pass over a stream returns, and what of a model is stored."""
