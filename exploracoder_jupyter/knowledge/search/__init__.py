"""The search index of APIs: lexical and dense indexes, combined into one ranking."""
