"""The cells of a run: their layout and their Markdown."""
