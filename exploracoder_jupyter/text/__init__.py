"""Reads text: HTML as Markdown, words and stems, an index of texts by their words, characters, Python code."""
