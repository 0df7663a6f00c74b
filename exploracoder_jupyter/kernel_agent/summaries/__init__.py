"""Short text summaries that show a model what a value is, next to the rich output that people see.

`facts` has the vocabulary: a describer yields `Fact`s about a value, the most informative first, within limits. Each
module about a kind of values defines a `TypeFamily` of describers for related types. `summarizer_registry` finds the
describer of a value by the names of its type's classes, without importing any library.
"""
