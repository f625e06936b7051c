"""Indexing documents and finding passages in them."""
