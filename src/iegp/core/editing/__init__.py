"""Changes to a fitted model: new columns, classes and levels, merging, unlearning, and static to drifting experts."""
