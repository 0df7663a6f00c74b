"""Summaries of tables and their columns."""
