"""Processes of siblings: spawning, forking, watching, measuring, ending."""
