"""The command line: options into calls. Messages and progress go to stderr, data to stdout."""
