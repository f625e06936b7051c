"""The nodes of the graph, one a file."""
