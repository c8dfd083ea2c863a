"""What a reproduction is written down as: one Markdown page with figures beside it, and one HTML page with all inside."""
