"""Reads text: HTML pages as Markdown, words and their stems, and an index of texts by their words."""
