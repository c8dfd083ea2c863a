"""How a reproduction is written down: one Markdown page with figures beside it, one HTML page with all inside."""
