"""Reads the source code of a repository without importing any of it."""
