"""Reads text: HTML pages as Markdown."""
