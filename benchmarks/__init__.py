"""Commands that print the figures; each runs as `python -m benchmarks.NAME`."""
