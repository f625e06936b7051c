"""Corrective RAG as a LangGraph graph: retrieved passages are graded before a model answers."""
