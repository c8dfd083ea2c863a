"""Runs of the command in this process, in which one call to the operating system fails."""
