"""Measures strategies and models on problems with hidden tests: quality, cost and their comparison."""
