"""Secrets, home folders and active content removed from what a trace keeps."""
