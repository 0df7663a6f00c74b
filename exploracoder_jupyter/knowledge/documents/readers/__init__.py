"""Readers of documents, one per format."""
