"""One expert: its belief, its noise model, and the exact blocks in which it predicts and learns rows."""
