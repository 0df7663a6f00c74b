"""Summaries of figures, charts and images."""
