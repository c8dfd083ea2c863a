"""Every way data arrives: simulated streams, sets that installed packages carry, the paper's data sets by name."""
