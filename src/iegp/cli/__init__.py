"""The command line: thin, words into calls. Messages and progress go to stderr, data to stdout."""
