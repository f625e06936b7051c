"""Graphs and tools that embed the graph."""
