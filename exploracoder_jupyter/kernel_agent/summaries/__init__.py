"""Short texts that tell a model what a value is, beside the rich output that people see.

`facts` has the words of it: a describer yields `Fact`s on a value, the most telling first. There is one file a family
of types (`frames`, `arrays`, ...), each with a `Family`; `registry` finds the describer of a value by the names of its
type's classes, and imports no library.
"""
