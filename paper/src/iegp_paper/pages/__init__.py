"""Pages of a reproduction: one Markdown page with figures beside it, one HTML page with all inside."""
