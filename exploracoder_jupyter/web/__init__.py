"""The web as a source of passages, off unless it is asked for."""
