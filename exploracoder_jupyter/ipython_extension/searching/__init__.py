"""`%explora search`: runs the search in a separate process, and shows its progress and results in a notebook."""
