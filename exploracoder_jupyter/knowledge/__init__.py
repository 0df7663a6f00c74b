"""Knowledge of installed libraries: their public API and its search index.

APIs are read in the environment that will run the code. `TaskLibraries.open` is the entry point. `Inspect` runs
programs in that environment; an `Embedder` can replace the built-in vectors.
"""
