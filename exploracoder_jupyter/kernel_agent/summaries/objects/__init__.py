"""Summaries of values that are neither tables, arrays nor charts."""
