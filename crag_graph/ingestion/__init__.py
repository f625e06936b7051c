"""From files to chunks in the index: loading, cutting, embedding, storing."""
