"""Compares recorded outputs with those of a new execution."""
