"""Creates what a run uses: its model, embedder, knowledge and sources, according to its settings and plugins."""
