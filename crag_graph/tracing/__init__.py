"""Traces: runs for what LangChain does not trace by itself, and payloads that stay at home."""
