"""Runs that begin with a recorded run: resumed, continued or replayed."""
