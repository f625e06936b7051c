"""Serving the graph: server-sent events, readiness, logs."""
