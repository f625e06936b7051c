"""Exit codes that are not those of an error."""

INTERRUPTED = 130
"""128 + SIGINT, as shells report it."""
