"""Runs the tests of a repository on an attempt: the oracle of RRR."""
