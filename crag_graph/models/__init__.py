"""Chat models, structured output and embeddings, each loaded on first use."""
