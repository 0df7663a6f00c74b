"""The search index of APIs: words, meaning, and their fusion into one ranking."""
