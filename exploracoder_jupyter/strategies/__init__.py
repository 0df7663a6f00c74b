"""Strategies other than the exploration: what they are compared with, and the exploration as published.

They are registered as entry points in `exploracoder_jupyter.strategies`. They use the product's own steps, and
differ in method alone. Prompts of their own are in `templates/`, for the step `strategy`. `documentation` is where
most of them begin, `SolutionAttempts` how they end.
"""
