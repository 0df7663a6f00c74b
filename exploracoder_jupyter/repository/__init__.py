"""Repository mode: code for a repository that the model has not seen, with the repository's tests as the oracle.

After "Class-Level Code Generation from Natural Language Using Iterative, Tool-Enhanced Reasoning over Repository",
which is cited as RRR.
"""
