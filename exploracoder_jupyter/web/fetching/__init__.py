"""Fetching pages: allowed addresses, rate limits, size limits and caching."""
