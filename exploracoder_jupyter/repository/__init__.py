"""Repository mode: code for a repository that the model has not seen, with the repository's tests as the oracle.

After "Class-Level Code Generation from Natural Language Using Iterative, Tool-Enhanced Reasoning over Repository",
which is cited as RRR.
`reading` indexes the source code, `tools` answers questions about it, `target` and `patch` say what is written where,
`testing` runs the tests in a branch, and `strategies` has the methods that are compared.
"""
