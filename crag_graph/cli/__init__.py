"""The `crag` command."""
