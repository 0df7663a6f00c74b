"""Readers of documents, one a format."""
