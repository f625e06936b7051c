"""The embedded store: Qdrant's engine in the process."""
