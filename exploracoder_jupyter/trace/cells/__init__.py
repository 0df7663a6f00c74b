"""The cells of a run: where each is placed, and its Markdown."""
