"""Fetching pages: which addresses, how often, how much, and what is cached."""
