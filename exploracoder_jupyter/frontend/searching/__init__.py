"""`%explora search`: the search in a process of its own, its progress, and its results in a notebook."""
