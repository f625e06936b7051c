"""Pair scorers: one narrow Protocol, and the cross-encoders and rerankers behind it."""
