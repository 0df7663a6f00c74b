"""Removes secrets, home folders and active content from what a trace stores."""
