"""The two ways to make branches: forking and re-running."""
