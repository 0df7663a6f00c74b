"""Runs of this kernel: starting an engine, exchanging messages with it, steering and continuing what it explored."""
