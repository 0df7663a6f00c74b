"""Summaries of arrays and tensors."""
