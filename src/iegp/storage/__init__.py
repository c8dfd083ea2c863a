"""Model files: reading, writing and checking them. Loading executes nothing."""
