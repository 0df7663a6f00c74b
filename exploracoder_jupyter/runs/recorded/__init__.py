"""Resumes and replays recorded runs."""
