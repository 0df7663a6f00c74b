"""Strategies of the literature and of this package, one a file, over the ports of the pipeline."""
