"""Prompts and replies: what a model is shown, how it is asked, and how its answer is parsed."""
