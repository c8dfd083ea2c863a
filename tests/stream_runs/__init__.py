"""What the tests of ``iegp stream`` share: the command as a real process, and sources to feed it with."""
