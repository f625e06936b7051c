"""Retrieval evaluators: one Protocol, several ways of grading passages."""
