"""Runs, their scores, naive forecasts to compare with, and regret; all from plain arrays."""
