"""Web search providers behind one Protocol."""
