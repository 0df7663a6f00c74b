"""Converts the HTML of a page to sections of text."""
